"""The script of the demo's models, for offline use.

Each speaker reads the conversation, as a model would: replies follow the files.

The faults come from here too, but only those of a model; what tools meet (a refused connection, a missing permission)
they really meet.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from console.demo.catalogue import free_urls
from console.demo.report_place import report_file
from orbiter.models.scripted.provider import (
    Call,
    Fault,
    Reply,
    Turn,
    script,
)
from orbiter.types import AssistantMessage, Message, ToolResult, UserMessage, content_text

FILES = 5
Schemas = list[dict[str, Any]]
CATALOGUE_URL = "http://127.0.0.1:9/projects.json"
"""For real models. The discard port: on today's machines no process listens there, so the connection is refused."""
OVERLOADED_FAULT = Fault(
    status=503, message="The engine is currently overloaded, please try again later", type="server_error"
)
RATE_LIMIT_FAULT = Fault(
    status=429,
    headers={"retry-after": "1"},
    message="Rate limit reached for requests per minute",
    type="rate_limit_error",
)


def _turn(messages: Sequence[Message]) -> int:
    return sum(isinstance(message, AssistantMessage) for message in messages)


def _results(messages: Sequence[Message]) -> list[ToolResult]:
    """What the tools gave back since the model last spoke."""
    found: list[ToolResult] = []
    for message in reversed(messages):
        if not isinstance(message, ToolResult):
            break
        found.append(message)
    return found[::-1]


def _requested_text(messages: Sequence[Message]) -> str:
    return next((content_text(each.content) for each in reversed(messages) if isinstance(each, UserMessage)), "")


def _escape_placeholders(text: str) -> str:
    """Text of files and tools is data: what looks like a placeholder of a script in it is not one."""
    return text.replace("$", "$$")


def _paths(text: str) -> list[str]:
    return [line[2:].strip() for line in text.splitlines() if line.startswith("- ")][:FILES]


def _of_different_kinds(names: Sequence[str]) -> list[str]:
    """A few files, as different as there are: one of each ending first."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.rpartition(".")[2], name)
    chosen = [*first.values(), *(name for name in names if name not in first.values())]
    return chosen[:FILES]


@script("demo-scout")
def scout(messages: list[Message], tools: Schemas) -> Turn:
    if _turn(messages) == 0:
        return Reply("First I look at what is here.", calls=[Call("list_files", {"folder": "."})])
    listed = _results(messages)[-1]
    names = json.loads(content_text(listed.content)) if not listed.error else []
    chosen = _of_different_kinds(names)
    if not chosen:
        return "This directory has no text files."
    return _escape_placeholders(
        "\n".join([f"Of {len(names)} text files, these are worth a look:", *(f"- {name}" for name in chosen)])
    )


@script("demo-reader")
def reader(messages: list[Message], tools: Schemas) -> Turn:
    if _turn(messages) == 0:
        wanted = _paths(_requested_text(messages))
        calls = [Call("read_file", {"path": path}) for path in wanted]
        return [
            RATE_LIMIT_FAULT,
            OVERLOADED_FAULT,
            OVERLOADED_FAULT,
            OVERLOADED_FAULT,
            Reply("I read them.", calls=calls),
        ]
    lines = ["## What they say"]
    for path, found in zip(_paths(_requested_text(messages)), _results(messages), strict=False):
        text = content_text(found.content)
        opening = next((line.strip("#\"'/ ") for line in text.splitlines() if line.strip("#\"'/=- ")), "nothing")
        lines.append(f"* {path}: {len(text)} characters, opens with: {found.error or opening[:80]}")
    return _escape_placeholders("\n".join(lines))


@script("demo-checker")
def checker(messages: list[Message], tools: Schemas) -> Turn:
    if _turn(messages) == 0:
        calls = [Call("check_file", {"path": path}) for path in _paths(_requested_text(messages))]
        return Reply("I check each of them.", calls=calls, delay=0.2)
    lines = ["## How sound they are"]
    for found in _results(messages):
        if found.error:
            lines.append(f"* {found.error}")
            continue
        checked = json.loads(content_text(found.content))
        verdict = "; ".join(checked["problems"]) or "nothing to complain about"
        lines.append(f"* {checked['path']}, {checked['lines']} lines: {verdict}")
    return _escape_placeholders("\n".join(lines))


@script("demo-librarian")
def librarian(messages: list[Message], tools: Schemas) -> Turn:
    if _turn(messages) == 0:
        return Reply("I ask the catalogue.", calls=[Call("fetch_index", {"url": url}) for url in free_urls()])
    answers = [f"* {found.error or content_text(found.content)}" for found in _results(messages)]
    return _escape_placeholders("\n".join(["## What the catalogue knows", *answers]))


@script("demo-reporter")
def reporter(messages: list[Message], tools: Schemas) -> Turn:
    turn = _turn(messages)
    if turn == 0:
        return Reply("I need to know for whom this is.", calls=[Call("ask_reader")])
    path = str(report_file())
    if turn == 1:
        answered = _results(messages)[-1]
        whom = content_text(answered.content).strip() or "its readers"
        text = f"# Survey of this directory\n\nFor {whom}.\n\n{_requested_text(messages)}\n"
        return Reply("I write it down.", calls=[Call("write_report", {"path": path, "text": text})])
    written = _results(messages)[-1]
    return _escape_placeholders(
        f"The report was not written: {written.error}" if written.error else f"The report is in {path}."
    )
