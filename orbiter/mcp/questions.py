"""Questions of a server (elicitation), put to a person.

A form is asked with its schema, an address with its host in front. What a server may not ask of us (a model's reply,
the directories of the workspace) is refused in words: both are deprecated in the protocol (SEP-2577).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from orbiter.ask import InputDeclined, ask_operator
from orbiter.mcp.foreign_text import clean_line, clean_schema, clean_text

MAX_QUESTIONS = 20
"""Questions that one reply of a server may hold."""
_UNSUPPORTED = {
    "sampling/createMessage": "a reply of a model (sampling), which servers are not given here",
    "roots/list": "the directories of the workspace (roots), which servers are not given here",
}
_VISITED = {
    "type": "boolean",
    "title": "I have opened the address and done what it asks",
    "description": "false refuses it",
}


_AGREED = {"type": "boolean", "title": "Yes", "description": "false declines it"}
"""For a question that has nothing to fill in."""


def read_requests(requests: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What a server asks, by key, as it is recorded. Texts are cleaned; what only a server reads is left out."""
    found: dict[str, dict[str, Any]] = {}
    for key, request in list(requests.items())[:MAX_QUESTIONS]:
        if isinstance(request, Mapping):
            params = request.get("params") or {}
            found[str(key)] = {"method": str(request.get("method", "elicitation/create")), **_asked(params)}
    return found


def refused_request(requests: Mapping[str, Mapping[str, Any]]) -> str:
    """Why these questions cannot be put to a person; empty where they can."""
    return next((_UNSUPPORTED[each["method"]] for each in requests.values() if each["method"] in _UNSUPPORTED), "")


def identity(key: str, request: Mapping[str, Any]) -> str:
    """By what a question is known to be the same: its key, its words, and its schema or address."""
    return hashlib.sha256(json.dumps([key, dict(request)], sort_keys=True).encode()).hexdigest()


async def ask_elicitation(server: str, params: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Ask a person; the answer as `ElicitResult` has it. Left unanswered: ``decline``."""
    return await ask_request(server, _asked(params), number)


async def ask_request(server: str, asked: Mapping[str, Any], number: int) -> dict[str, Any]:
    """As `ask_elicitation`, of what `read_requests` gave."""
    message = asked["message"] or "It does not say what it wants to know."
    try:
        if "url" in asked:
            question = f"{server} asks you to open an address of {_host(asked['url'])}. {message}"
            done = await ask_operator(question, _VISITED, number=number, url=asked["url"])
            return {"action": "accept" if done is True else "decline"}
        schema = _AGREED if _asks_for_nothing(asked["schema"]) else asked["schema"]
        given = await ask_operator(f"{server} asks: {message}", schema, number=number)
    except InputDeclined:
        return {"action": "decline"}
    if schema is _AGREED and not isinstance(given, dict):
        return {"action": "accept", "content": {}} if given is True else {"action": "decline"}
    return {"action": "accept", "content": given if isinstance(given, dict) else {"value": given}}


def _asked(params: Mapping[str, Any]) -> dict[str, Any]:
    message = clean_text(params.get("message"))
    if isinstance(params.get("url"), str):
        return {"message": message, "url": clean_line(params["url"], 2_000)}
    schema = params.get("requestedSchema")
    return {"message": message, "schema": clean_schema(schema) if isinstance(schema, Mapping) else {"type": "object"}}


def _asks_for_nothing(schema: Mapping[str, Any]) -> bool:
    """Whether only an empty object is meant: the question is to be agreed to."""
    told = {key for key, value in schema.items() if value} - {"$schema", "title", "description"}
    return told <= {"type"} and schema.get("type", "object") == "object"


def _host(url: str) -> str:
    """The host of an address, in the form in which look-alike letters show."""
    try:
        host = urlsplit(url).hostname or ""
        return host.encode("idna").decode() or "?"
    except ValueError:
        return "?"
