"""Lines of a client that are not messages: what can be mended is read, of the rest the client is told."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from orbiter.text_encoding import mend_json_text

_EXAMPLE: Final = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
_ID_WITHIN: Final = 200
_ID: Final = re.compile(r'"id"\s*:\s*(?:(\d{1,15})\b|"([\w-]{1,100})")')


async def pass_on(received: Any, answers: Any, messages: Any) -> None:
    """Pass on what a client says, until it has ended.

    Args:
        received: The lines as the SDK's transport gives them: messages, and errors in place of others.
        answers: Where the client is told of lines that are not messages.
        messages: Where the messages go.
    """
    async with messages:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for each in received:
                if not isinstance(each, Exception):
                    await messages.send(each)
                    continue
                line, is_json = _line_of(each)
                try:
                    mended = jsonrpc_message_adapter.validate_json(mend_json_text(line), by_name=False)
                except ValidationError:
                    await answers.send(SessionMessage(_refusal(line, is_json=is_json)))
                else:
                    await messages.send(SessionMessage(mended))


def _refusal(line: str, *, is_json: bool) -> JSONRPCError:
    """What the client is told of a line."""
    said = _ID.search(line[:_ID_WITHIN])
    number: int | str | None = None if said is None else int(said[1]) if said[1] else said[2]
    error = ErrorData(code=INVALID_REQUEST, message=f"a line must be one message of JSON-RPC 2.0: {_EXAMPLE}")
    if not is_json:
        error = ErrorData(code=PARSE_ERROR, message="this line cannot be read as JSON, or is nested too deeply")
    return JSONRPCError(jsonrpc="2.0", id=number, error=error)


def _line_of(problem: Exception) -> tuple[str, bool]:
    """The line, where the error has it, and whether it is JSON."""
    first: Any = problem.errors(include_url=False)[0] if isinstance(problem, ValidationError) else {}
    given = first.get("input")
    return (given if isinstance(given, str) else ""), first.get("type") != "json_invalid"
