"""Connections: one for each server and event loop, opened at first use, again after it ended, closed with the loop.

A second one is opened only while a person is asked in the middle of a call on the first, and over HTTP for tools that
ask during a call in a protocol that does not allow it: those are called in an earlier one.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import time
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from orbiter.errors import ConfigurationError
from orbiter.mcp.definition import Server
from orbiter.mcp.failures import ExtraMissing, LoginNeeded, ServerUnreachable, leaf_error, said_by
from orbiter.mcp.table import ServerTable
from orbiter.models.sdk_clients import retire_client, shared_client

if TYPE_CHECKING:
    from orbiter.mcp.sdk.session import Session

log = logging.getLogger("orbiter.mcp")

_CLOSE_S = 60.0
"""Seconds in which a connection must have ended."""
MAX_BACK_OFF_S = 30.0
MAX_CONNECTIONS = 8
"""Connections to one server at once, where calls on the others wait for people."""


@asynccontextmanager
async def connected(table: ServerTable, name: str, run_id: str, tool: str = "") -> AsyncIterator[Session]:
    """A session with a server of the table, shared with all that runs in this loop. `tool`: which is to be called.

    Raises:
        ServerNotApproved: The server may not be used: nothing was started and nothing sent.
        InvalidServer: Its definition cannot be used.
        UnknownServer: No file names it.
        LoginNeeded: It wants a login first.
        ExtraMissing: The SDK is not installed.
        ServerUnreachable: It cannot be started or reached.
    """
    server = table.approved(name, run_id)
    earlier = _needs_earlier(table, server, tool)
    for number in range(MAX_CONNECTIONS):
        setting = _setting(table, server, number, earlier=earlier)
        async with shared_client(setting, partial(Connection, server, table, earlier=earlier)) as connection:
            if connection.held and number + 1 < MAX_CONNECTIONS:
                continue
            yield await connection.session()
            return


def _needs_earlier(table: ServerTable, server: Server, tool: str) -> bool:
    """Whether a protocol before 2026-07-28 is needed. A program has state that all its tools share: where one of them
    needs it, all are called so.
    """
    asking = table.approvals.asking_tools(table.workspace, server)
    return tool in asking if server.url else bool(asking)


def _setting(table: ServerTable, server: Server, number: int, *, earlier: bool) -> Hashable:
    return ("mcp", table.workspace, server.name, server.fingerprint, number, earlier)


async def use_earlier_protocol(table: ServerTable, name: str, run_id: str, tool: str) -> str:
    """Have a tool called in a protocol in which it may ask during the call, from now on and in every process. A program
    is started again for that. Empty, or why it is not possible, such as a server that does not speak one.
    """
    try:
        server = table.approved(name, run_id)
        if not server.url:
            await retire_client(_setting(table, server, 0, earlier=False))
        setting = _setting(table, server, 0, earlier=True)
        async with shared_client(setting, partial(Connection, server, table, earlier=True)) as connection:
            await connection.session()
        await asyncio.to_thread(table.approvals.remember_asking_tool, table.workspace, server, tool)
    except Exception as exc:  # whatever it is: a call has begun, and that has to be told
        why_not = said_by(exc)
        log.info("MCP server %s: it cannot be spoken to in an earlier protocol: %s", name, why_not)
        return why_not
    return ""


class Connection:
    """The connection to one server. A task of its own holds it: the SDK wants one task from beginning to end."""

    def __init__(self, server: Server, table: ServerTable, *, earlier: bool = False) -> None:
        self.server = server
        self._earlier = earlier
        self._table = table
        self._session: Session | None = None
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Session] | None = None
        self._closing = asyncio.Event()
        self._failures = 0
        self._failed_at = 0.0

    @property
    def held(self) -> bool:
        """Whether a call on it waits for a person."""
        return self._session is not None and self._session.calls.held

    async def session(self) -> Session:
        """The session; it is opened where none is open, after a wait where that failed just before."""
        if self._session is not None and not self._session.ended.is_set():
            return self._session
        if self._ready is None or self._ready.done():
            self._ready = asyncio.get_running_loop().create_future()
            self._ready.add_done_callback(_seen)
            # A context of its own: what is said of the run that came first must not reach the others.
            self._owner = asyncio.create_task(self._hold(self._ready), context=contextvars.Context())
        return await asyncio.shield(self._ready)

    async def close(self) -> None:
        """Close it, and end the program that was started."""
        self._closing.set()
        if self._owner is not None:
            await asyncio.wait({self._owner}, timeout=_CLOSE_S)
            self._owner.cancel()

    async def _hold(self, ready: asyncio.Future[Session]) -> None:
        name = self.server.name
        session: Session | None = None
        try:
            await asyncio.sleep(self._back_off())
            async with _open(self.server, self._table, earlier=self._earlier) as session:
                self._session, self._failures = session, 0
                if not ready.done():
                    ready.set_result(session)
                log.info("MCP server %s: connected, protocol %s", name, session.protocol_version)
                await self._until_over(session)
        except (LoginNeeded, ExtraMissing) as exc:
            self._fail(ready, exc)
        except asyncio.CancelledError:
            self._fail(ready, ServerUnreachable(f"the MCP server {name!r} was not connected: the runtime stops"))
            raise
        except BaseException as exc:
            leaf = leaf_error(exc)
            if isinstance(leaf, LoginNeeded | ConfigurationError):
                self._fail(ready, leaf)
                return
            said = str(leaf)
            if not isinstance(leaf, ServerUnreachable):
                said = f"the MCP server {name!r} cannot be reached: {said_by(leaf)}"
            log.info("MCP server %s: the connection ended: %s", name, said)
            self._fail(ready, ServerUnreachable(said), leaf)
            if not isinstance(leaf, Exception):
                raise
        finally:
            self._session = None
            if session is not None:
                session.ended.set()

    async def _until_over(self, session: Session) -> None:
        waiting = [asyncio.ensure_future(each.wait()) for each in (self._closing, session.ended)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    def _back_off(self) -> float:
        """Seconds to wait before the next try: 0.5, 1, 2, 4 … from the last failure."""
        if not self._failures:
            return 0.0
        pause = min(MAX_BACK_OFF_S, 0.5 * 2.0 ** (self._failures - 1))
        return max(0.0, self._failed_at + pause - time.monotonic())

    def _fail(self, ready: asyncio.Future[Session], error: Exception, cause: BaseException | None = None) -> None:
        if ready.done():
            return
        self._failures += 1
        self._failed_at = time.monotonic()
        error.__cause__ = cause
        ready.set_exception(error)


def _seen(ready: asyncio.Future[Any]) -> None:
    """A failure to connect is told to the task that waits; without one it is in the log."""
    if not ready.cancelled():
        ready.exception()


def load_sdk() -> tuple[ModuleType, ModuleType]:
    """The modules that need the SDK: `orbiter.mcp.sdk.session` and `orbiter.mcp.sdk.oauth`.

    Raises:
        ExtraMissing: It is not installed.
    """
    try:
        from orbiter.mcp.sdk import oauth, session
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("mcp", "mcp_types", "httpx2", "anyio"):
            raise
        raise ExtraMissing from exc
    return session, oauth


def _open(server: Server, table: ServerTable, *, earlier: bool) -> Any:
    sessions, logins = load_sdk()
    ready = server.expanded(os.environ)
    auth = logins.login_of(ready, table.tokens) if ready.url and table.tokens is not None else None
    return sessions.open_session(ready, table.workspace, auth, within_s=server.connect_timeout_s, earlier=earlier)
