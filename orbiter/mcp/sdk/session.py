"""A session with one server, over the SDK: its tools as they are now, and calls of them.

Both eras of the protocol: from 2026-07-28 a call comes back with what the server asks, and is made again with the
answers; before that a server asks in the middle of a call, which stays open until a person has answered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp import Client, MCPError
from mcp.client.auth import OAuthFlowError
from mcp.client.session import ClientRequestContext
from mcp.shared.dispatcher import ProgressFnT
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from orbiter import errors
from orbiter.json_schema import find_problems
from orbiter.mcp.definition import Server
from orbiter.mcp.failures import (
    LoginNeeded,
    ServerLost,
    ServerUnreachable,
    UnusableToolList,
    invalid_parts,
    leaf_error,
    said_by,
)
from orbiter.mcp.foreign_text import clean_line
from orbiter.mcp.open_calls import OpenCall, OpenCalls
from orbiter.mcp.sdk.http_transport import Outcome, failed_call
from orbiter.mcp.sdk.transport import open_transport
from orbiter.mcp.sdk.watch import Watch

MAX_TOOLS = 1_000
"""Tools of one server that are looked at."""
FRESH_S = 1.0
"""How long a list of tools counts as the present one, for calls that are made side by side."""
_MAX_PAGES = 100
_LIST_S = 60.0
_CANCEL_S = 5.0
_SETTLE_S = 3.0

Ask = Callable[[Any], Awaitable[Any]]
"""Asks a person what an elicitation asks (`mcp_types.ElicitRequestParams`); gives a `mcp_types.ElicitResult`."""
Progress = ProgressFnT
"""Hears how far a call has come: done, of how much, and a message."""


@asynccontextmanager
async def open_session(
    server: Server, workspace: str, auth: Any = None, *, within_s: float | None = None, earlier: bool = False
) -> AsyncIterator[Session]:
    """A session with a server whose variables are expanded. `within_s`: seconds that it may take to begin; `earlier`:
    in a version of the protocol before 2026-07-28, even if the server speaks a newer one.

    Raises:
        LoginNeeded: It wants a login.
        ServerUnreachable: It cannot be started or reached, and something is known of why.
    """
    watch, calls = Watch(), OpenCalls()

    async def on_question(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        given: types.ElicitResult | None = await calls.put(params)
        return given or types.ErrorData(
            code=types.INVALID_REQUEST,
            message="several calls are under way, and the question does not say for which it is: call the tool again",
        )

    client = Client(
        open_transport(server, workspace, watch, auth),
        elicitation_callback=on_question,
        client_info=types.Implementation(name="orbiter-console", version=version("orbiter-console")),
        cache=None,
        mode="legacy" if earlier else "auto",
    )
    session = Session(server, client, watch, calls)
    limit = asyncio.timeout(within_s)
    try:
        async with limit, client:
            limit.reschedule(None)
            # The SDK would run the server's patterns, with no limit, on the loop that drives every run.
            client.session.validate_tool_result = session.check_result  # type: ignore[method-assign]
            yield session
    except Exception as exc:
        leaf = leaf_error(exc)
        if server.client_id and isinstance(leaf, OAuthFlowError):
            raise LoginNeeded(server.name, said_by(leaf)) from exc
        if watch.login_wanted and not isinstance(leaf, errors.OrbiterError | OAuthFlowError):
            raise LoginNeeded(server.name) from exc
        if not isinstance(leaf, errors.OrbiterError | ServerUnreachable) and (
            why := _why_not_open(leaf, watch, server if limit.expired() else None)
        ):
            raise ServerUnreachable(f"the MCP server {server.name!r} cannot be reached: {why}") from exc
        raise


def _why_not_open(exc: BaseException, watch: Watch, late: Server | None) -> str:
    """Why a session did not begin, in words for a person; empty: nothing more is known than the error says. `late`: the
    server, if it took too long.
    """
    why = watch.account()
    if late is not None:
        return (
            f"it did not answer within {late.connect_timeout_s:g} s (connect_timeout_s in [mcp.servers.{late.name}])"
            f"{why and f'; {why}'}"
        )
    if isinstance(exc, FileNotFoundError) and exc.filename:
        return f'the program {exc.filename!r} was not found: install it, or give "command" its whole path'
    return why


class Session:
    """See the module. All methods are for the loop that opened it."""

    def __init__(self, server: Server, client: Client, watch: Watch, calls: OpenCalls) -> None:
        self.server = server
        self.ended = watch.ended
        """Set when the connection is over, by either side."""
        self.calls = calls
        self._client = client
        self._watch = watch
        self._listing = asyncio.Lock()
        self._tools: dict[str, types.Tool] = {}
        self._listed_at = -FRESH_S

    @property
    def legacy(self) -> bool:
        """Whether the server speaks a version with a handshake, before 2026-07-28."""
        return self._client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS

    @property
    def protocol_version(self) -> str:
        """The version of the protocol that was agreed."""
        return self._client.protocol_version

    async def tools(self, *, fresh_s: float = FRESH_S) -> dict[str, types.Tool]:
        """The server's tools by name, not older than `fresh_s` seconds.

        Raises:
            ServerUnreachable: The server is gone, or refuses. A list has no effect, so it may be asked for again.
            UnusableToolList: What it gives is not a list of tools.
        """
        async with self._listing:
            if time.monotonic() - self._listed_at >= fresh_s:
                try:
                    async with asyncio.timeout(_LIST_S):
                        self._tools = await self._until_ended(self._list())
                except (TimeoutError, ServerLost, MCPError, ValidationError) as exc:
                    if self._watch.session_over:
                        self.ended.set()  # the next try begins another
                    unusable = isinstance(exc, ValidationError) or getattr(exc, "code", None) == types.PARSE_ERROR
                    kind = UnusableToolList if unusable else ServerUnreachable
                    raise kind(
                        f"the MCP server {self.server.name!r} does not list its tools: {_why_not_listed(exc)}"
                    ) from exc
                self._listed_at = time.monotonic()
        return self._tools

    async def _list(self) -> dict[str, types.Tool]:
        found: dict[str, types.Tool] = {}
        cursor: str | None = None
        try:
            for _ in range(_MAX_PAGES):
                page = await self._client.list_tools(cursor=cursor)
                for each in page.tools:
                    found.setdefault(each.name, each)
                cursor = page.next_cursor
                if cursor is None or len(found) > MAX_TOOLS:
                    break
        except MCPError as exc:
            if self._is_lost(exc):
                raise await self._lost(exc) from exc
            raise
        return found

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        ask: Ask,
        responses: Any = None,
        state: str | None = None,
        progress: Progress | None = None,
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool once. Time in which `ask` asks a person does not count.

        Raises:
            TimeoutError: No answer within the server's `timeout_s`.
            ServerLost: The connection ended before the answer.
            MCPError: The server refused the call.
        """
        async with self.calls.enter(serial=self.legacy) as mine:
            sent = mine.start(self._send(name, arguments, responses, state, progress))
            try:
                found: types.CallToolResult | types.InputRequiredResult = await self._attend(sent, mine, ask, name)
                return found
            finally:
                if not sent.done():
                    sent.cancel()
                    await asyncio.wait({sent}, timeout=_CANCEL_S)

    async def _send(
        self, name: str, arguments: dict[str, Any], responses: Any, state: str | None, progress: Progress | None
    ) -> Any:
        for again in (False, True):
            try:
                return await self._client.session.call_tool(
                    name,
                    arguments,
                    progress_callback=progress,
                    input_responses=responses,
                    request_state=state,
                    allow_input_required=True,
                )
            except MCPError as exc:
                if exc.code != types.HEADER_MISMATCH or again:
                    raise
                await self._list()  # the server did not carry it out: what it wants in headers has changed
        raise AssertionError("unreachable")

    async def check_result(self, name: str, result: types.CallToolResult) -> None:
        """Check a result by the schema that the tool declares for it, within limits; no reference is fetched.

        Raises:
            RuntimeError: It does not fit.
        """
        tool = self._tools.get(name)
        if tool is None or tool.output_schema is None:
            return
        if result.structured_content is None and "structured_content" not in result.model_fields_set:
            raise RuntimeError("the tool declares a schema of its results, and this one has no structured content")
        if problems := find_problems(tool.output_schema, result.structured_content):
            raise RuntimeError("; ".join(problems))

    async def _attend(self, sent: asyncio.Task[Any], mine: OpenCall, ask: Ask, name: str) -> Any:
        left = self.server.timeout_s
        while True:
            began = time.monotonic()
            question = await mine.next_question(sent, self.ended, left)
            left -= time.monotonic() - began
            if question is not None:
                await question.answer_with(ask)
            elif sent.done():
                return await self._result(sent, name)
            elif self.ended.is_set():
                raise await self._lost(f"it went away while it worked on {name!r}")
            else:
                raise errors.TimeoutError(
                    f"the MCP server {self.server.name!r} did not answer {name!r} within {self.server.timeout_s:g} s",
                    operation=name,
                    timeout_seconds=self.server.timeout_s,
                )

    async def _result(self, sent: asyncio.Task[Any], name: str) -> Any:
        try:
            return sent.result()
        except MCPError as exc:
            if exc.code in (types.CONNECTION_CLOSED, types.INTERNAL_ERROR) and self._watch.login_wanted:
                raise LoginNeeded(self.server.name) from exc
            if (failed := failed_call(exc)) is not None:
                self._raise_failed(name, *failed, exc)
            if self._is_lost(exc):
                raise await self._lost(exc) from exc
            raise

    def _raise_failed(self, name: str, outcome: Outcome, why: str, cause: MCPError) -> None:
        """Of a call whose HTTP request failed: whether it may have been carried out. Nothing where it was refused."""
        if self._watch.session_over:
            self.ended.set()  # the next try begins another
        if outcome == "not_sent":
            raise ServerUnreachable(f"the MCP server {self.server.name!r} did not take the call: {why}") from cause
        if outcome == "unknown":
            raise ServerLost(
                f"the MCP server {self.server.name!r} answered {name!r} with {why}: whether it was carried out is not"
                " known"
            ) from cause

    def _is_lost(self, exc: MCPError) -> bool:
        """Whether the connection ended. Servers use the SDK's number for that for errors of their own, too; over HTTP
        each request has a connection, of whose end no more is known than that number.
        """
        lost = exc.code == types.CONNECTION_CLOSED and (bool(self.server.url) or self.ended.is_set())
        return lost or self._watch.login_wanted

    async def _lost(self, why: object) -> Exception:
        """The error for a connection that ended. What a program said at its end is waited for, but not long."""
        if self._watch.login_wanted:
            return LoginNeeded(self.server.name)
        if self._watch.hung_up:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SETTLE_S):
                    await self._watch.settled.wait()
        said = self._watch.account() or clean_line(why)
        return ServerLost(f"the connection to the MCP server {self.server.name!r} ended: {said}")

    async def _until_ended(self, work: Any) -> Any:
        """What `work` gives, or an error as soon as the connection has ended."""
        task, ended = asyncio.ensure_future(work), asyncio.ensure_future(self.ended.wait())
        try:
            await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise await self._lost("it went away")
        finally:
            for each in (task, ended):
                each.cancel()


def _why_not_listed(exc: Exception) -> str:
    if isinstance(exc, TimeoutError):
        return f"no answer within {_LIST_S:g} s"
    return invalid_parts(exc) if isinstance(exc, ValidationError) else clean_line(exc)
