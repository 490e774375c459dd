"""The step that calls a tool of a server once. A result is final, or says what has to be known or decided first.

From version 2026-07-28 a server may answer a call with questions and a state of its own; the call is made again with
both, over whatever connection there is then. That is a step of its own (see `exchange`).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from orbiter.errors import ToolCallError
from orbiter.guests.call_codec import CallCodec
from orbiter.json_schema import find_problems
from orbiter.mcp.connection import connected, use_earlier_protocol
from orbiter.mcp.content import result_blocks
from orbiter.mcp.failures import QuestionRefused, invalid_parts
from orbiter.mcp.foreign_text import clean_text
from orbiter.mcp.progress import CallProgress
from orbiter.mcp.questions import ask_elicitation, read_requests
from orbiter.mcp.table import ServerTable
from orbiter.mcp.tool_definition import ToolDefinition, read_definition
from orbiter.steps import Emit
from orbiter.types import ToolResult, content_text

if TYPE_CHECKING:
    from orbiter.mcp.sdk.session import Progress

_POLL_S = 1.0
"""How long to wait before a call is made again that had no question, only a state."""

_ELICITATION = "elicitation/create"
"""The request that a server's SDK names when it refuses a tool's question: that has no error code of its own."""


class ServerResult(ToolResult):
    """What a call came to. `exchange` is set where it is not over: `kind` is ``asks``, ``expired`` or ``changed``."""

    exchange: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ServerCall:
    """One call of a tool of a server.

    Args:
        table: The servers of the workspace.
        tool: The tool as the model was told of it.
        name: The name by which the model knows it.
        arguments: As the model gave them.
        answers: To the questions of the call before, by key, as `ElicitResult` has them.
        state: The state that the server gave with its questions.
        failure: What a failure means; ``continue``: the model is told of every one.
        idempotent: The operator declares that the call may be repeated.
    """

    table: ServerTable
    server: str
    tool: ToolDefinition
    name: str
    call_id: str
    arguments: dict[str, Any]
    run_id: str = ""
    answers: dict[str, Any] | None = None
    state: str | None = None
    failure: str = ""
    idempotent: bool = False


async def call_tool(call: ServerCall) -> ServerResult:
    """Call it. What the server refuses is a result that the model reads.

    Raises:
        ToolCallError: The arguments do not fit the tool's schema, or the tool is gone: nothing was sent.
        ServerUnreachable: The server cannot be reached: nothing was sent.
        ServerLost: It went away while it worked on the call.
        QuestionRefused: It asked in a way that the protocol does not allow; the next call is in one that does, if that
            is possible.
        TimeoutError: It did not answer in time.
        ConfigurationError: It is not known, not approved, or wants a login.
    """
    return await _call(call, None)


async def call_tool_with_progress(call: ServerCall, emit: Emit) -> ServerResult:
    """As `call_tool`; what the server says of its progress goes to the consoles that watch."""
    progress = CallProgress(emit)
    try:
        return await _call(call, progress.hear)
    finally:
        progress.close()


async def _call(call: ServerCall, progress: Progress | None) -> ServerResult:
    if problems := find_problems(call.tool.schema, call.arguments):
        raise ToolCallError(f"Tool '{call.name}' failed: invalid arguments: {'; '.join(problems)}", tool_name=call.name)
    if call.state is not None and not call.answers:
        await asyncio.sleep(_POLL_S)
    try:
        return await _call_listed(call, progress)
    except QuestionRefused as exc:
        # Not inside the connection, which a program has to leave before it is started again.
        why_not = await use_earlier_protocol(call.table, call.server, call.run_id, call.tool.name)
        if not why_not:
            raise
        if call.idempotent:  # the model may have it called again: the runtime would, too
            return _refused(call, f"{call.server} refused the call: {clean_text(str(exc.__cause__))}")
        raise QuestionRefused(call.server, call.tool.name, why_not) from exc.__cause__


async def _call_listed(call: ServerCall, progress: Progress | None) -> ServerResult:
    """Call the tool if the server still has it as the model was told."""
    async with connected(call.table, call.server, call.run_id, call.tool.name) as session:
        tools = await session.tools()
        found = tools.get(call.tool.name)
        now = read_definition(found.model_dump(mode="json", by_alias=True)) if found is not None else None
        if now is None:
            raise ToolCallError(
                f"Tool '{call.name}' failed: the server {call.server} has no such tool any more", tool_name=call.name
            )
        if now.digest != call.tool.digest:
            return _open(call, {"kind": "changed", "now": now.to_json()})
        return await _send(call, session, progress)


async def _send(call: ServerCall, session: Any, progress: Progress | None) -> ServerResult:
    from mcp import MCPError  # the session has loaded it
    from mcp_types import (
        INVALID_PARAMS,
        INVALID_REQUEST,
        PARSE_ERROR,
        URL_ELICITATION_REQUIRED,
        CallToolResult,
        ElicitResult,
    )

    numbers = iter(range(1_000))

    async def ask(params: Any) -> Any:
        asked = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        return ElicitResult.model_validate(await ask_elicitation(call.server, asked, next(numbers)))

    responses = {key: ElicitResult.model_validate(each) for key, each in (call.answers or {}).items()} or None
    try:
        reply = await session.call(
            call.tool.name, call.arguments, ask=ask, responses=responses, state=call.state, progress=progress
        )
    except MCPError as exc:
        if exc.code == INVALID_PARAMS and _reason(exc.data) == "invalid_request_state" and call.state is not None:
            return _open(call, {"kind": "expired"})
        if exc.code == URL_ELICITATION_REQUIRED and isinstance(exc.data, Mapping):
            urls = enumerate(exc.data.get("elicitations") or ())
            asked = {f"url-{number}": {"method": "elicitation/create", "params": each} for number, each in urls}
            return _open(call, {"kind": "asks", "requests": read_requests(asked), "state": None, "answered": False})
        if exc.code == INVALID_REQUEST and _ELICITATION in exc.message and not session.legacy:
            raise QuestionRefused(call.server, call.tool.name) from exc
        if exc.code == PARSE_ERROR:
            return _refused(call, f"the answer of {call.server} cannot be read: {clean_text(exc.message, 1_000)}")
        return _refused(call, f"{call.server} refused the call: {clean_text(exc.message)}")
    except ValidationError as exc:
        # It took effect, and what came back is not what the server promised.
        return _refused(call, f"the result of {call.server} is {invalid_parts(exc)}")
    except RuntimeError as exc:
        return _refused(call, f"the result of {call.server} is not valid: {clean_text(str(exc), 1_000)}")
    if not isinstance(reply, CallToolResult):
        given = reply.model_dump(mode="json", by_alias=True, exclude_none=True)
        requests = read_requests(given.get("inputRequests") or {})
        return _open(call, {"kind": "asks", "requests": requests, "state": given.get("requestState"), "answered": True})
    content = result_blocks(reply.model_dump(mode="json", by_alias=True, exclude_none=True))
    if reply.is_error:
        return _refused(call, content_text(content) or "the tool failed and does not say why")
    return ServerResult(tool_call_id=call.call_id, tool_name=call.name, content=content)


def _reason(data: Any) -> str:
    return str(data.get("reason", "")) if isinstance(data, Mapping) else ""


def _open(call: ServerCall, exchange: dict[str, Any]) -> ServerResult:
    """A call that is not over, with the arguments that it was made with: an operator may have changed them."""
    exchange = {**exchange, "arguments": call.arguments}
    return ServerResult(tool_call_id=call.call_id, tool_name=call.name, exchange=exchange)


def _refused(call: ServerCall, text: str) -> ServerResult:
    return ServerResult(tool_call_id=call.call_id, tool_name=call.name, error=text)


class ServerCallCodec(CallCodec[ServerCall, ServerResult]):
    """Arguments are recorded with the call's id, a server's state by its digest, results as those of other tools."""

    def describe(self, arguments: ServerCall) -> dict[str, Any]:
        found = super().describe(arguments)
        if arguments.answers is not None:
            found["answers"] = arguments.answers
        if arguments.state is not None:
            found["state"] = hashlib.sha256(arguments.state.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return found

    def _with_arguments(self, arguments: ServerCall, given: dict[str, Any]) -> ServerCall:
        """Other arguments. A state is bound to those it was given for: the exchange begins again."""
        if problems := find_problems(arguments.tool.schema, given):
            raise ValueError("; ".join(problems))
        return replace(arguments, arguments=given, answers=None, state=None)

    def dump(self, result: ServerResult) -> Any:
        return result.model_dump(mode="json", exclude_none=True)

    def load(self, value: Any) -> ServerResult:
        return ServerResult.model_validate(value)

    def _failed(self, arguments: ServerCall, message: str) -> ServerResult:
        return _refused(arguments, message)

    def by_hand(self, arguments: ServerCall, value: Any) -> ServerResult:
        text = value if isinstance(value, str) else result_text(value)
        return ServerResult(tool_call_id=arguments.call_id, tool_name=arguments.name, content=text)


def result_text(value: Any) -> str:
    """A value that was given in place of a result, as text."""
    from orbiter._internal.tools.tool_result import result_content

    return content_text(result_content(value))


SERVER_CALL = ServerCallCodec()
