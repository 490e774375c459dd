"""Ways to a runtime: a Unix socket on this machine, or one end of a pair within this process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from runtime.daemon import sockets
from runtime.link.wire.framing import READ_BYTES
from runtime.record.state.operator_terms import Role

if TYPE_CHECKING:
    from runtime.daemon.daemon import RunningRuntime

SOCKET_RETRY_DELAYS_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts to connect, within one machine."""

CONNECT_TIMEOUT_S = 30.0
"""For the runtime's first message on a connection that stands."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Unreachable(ConnectionError):
    """No connection now. `gone`: trying again is of no use until a person does something. `absent`: what lacks is a
    runtime, and `revive` may start one.
    """

    def __init__(self, reason: str, *, gone: bool = False, absent: bool = False) -> None:
        super().__init__(reason)
        self.gone = gone
        self.absent = absent


class Transport(Protocol):
    """A way to one runtime. `where` names it in the words of the operator.

    `backoff`: seconds before the next attempt, after each that failed; the last goes on. `hello_timeout_s`: for the
    runtime's first message. `needs_login`: no connection is tried before `login`.
    """

    where: str
    backoff: Sequence[float]

    @property
    def hello_timeout_s(self) -> float: ...

    @property
    def needs_login(self) -> bool: ...

    async def connect(self) -> Streams:
        """A fresh connection. Raises `Unreachable`."""
        ...

    def login(self, *, start: bool = False) -> None:
        """Connect while a person may be asked on the terminal, for the next `connect`; blocks. Where no person is ever
        asked, nothing happens. Raises `Unreachable`.
        """
        ...

    async def explain(self) -> Unreachable | None:
        """Why the last connection ended before the runtime spoke, where the transport knows."""
        ...

    def hello_received(self) -> None:
        """The runtime spoke on the last connection."""
        ...

    async def revive(self) -> None:
        """Start the runtime if there is none. Raises `Unreachable` with the reason why it cannot be."""
        ...

    async def close(self) -> None: ...


class _LocalTransport:
    """Within one machine: no login is needed, and nothing more is known of a connection that ended."""

    backoff: Sequence[float] = SOCKET_RETRY_DELAYS_S
    hello_timeout_s: float = CONNECT_TIMEOUT_S
    needs_login = False

    def login(self, *, start: bool = False) -> None:
        return None

    async def explain(self) -> Unreachable | None:
        return None

    def hello_received(self) -> None:
        return None

    async def close(self) -> None:
        return None


class UnixTransport(_LocalTransport):
    """The runtime of a workspace on this machine. `reviver` starts it; without one, it has to be started by hand."""

    def __init__(
        self,
        state_dir: str | Path,
        *,
        role: Role = "operator",
        reviver: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self.where = str(state_dir)
        self._state_dir = state_dir
        self._role: Role = role
        self._reviver = reviver
        self._dialled: socket.socket | None = None
        self._closed = False

    def call_ahead(self) -> bool:
        """Dial now, for the next `connect`; False if there is no answer; `connect` then says why."""
        try:
            self._dial()
        except OSError:
            return False
        return True

    def _dial(self) -> None:
        """Also on a thread that is not waited for any more: what it dialled is closed then."""
        sock = sockets.dial(self._state_dir, self._role)
        if self._closed:
            sock.close()
        else:
            self._dialled = sock

    async def connect(self) -> Streams:
        try:
            if self._dialled is None:
                await asyncio.to_thread(self._dial)
        except sockets.RuntimeNotRunning as exc:
            raise Unreachable(exc.strerror or str(exc), gone=True) from exc
        except OSError as exc:
            raise Unreachable(str(exc)) from exc
        sock, self._dialled = self._dialled, None
        return await asyncio.open_unix_connection(sock=sock, limit=READ_BYTES)

    async def revive(self) -> None:
        if self._reviver is None:
            raise Unreachable("start a runtime with: orbiter-console serve", gone=True)
        from runtime.config.environment import InvalidEnvironment  # with what starts one: most consoles find one

        try:
            await self._reviver()
        except (OSError, InvalidEnvironment) as exc:
            raise Unreachable(str(exc), gone=True) from exc

    async def close(self) -> None:
        self._closed = True
        if self._dialled is not None:
            self._dialled.close()
            self._dialled = None


def local_transport(  # the arguments of `runtime.daemon.daemon.ensure_runtime`
    state_dir: str | Path,
    *,
    workspace: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> UnixTransport:
    """The way to the workspace's runtime in the background; `revive` starts it if there is none.

    Opening a console is `await transport.revive()`, then a `LinkClient` on it.
    """

    def ensure() -> RunningRuntime:
        from runtime.daemon import daemon

        return daemon.ensure_runtime(state_dir, workspace=workspace, settings=settings)

    return UnixTransport(state_dir, reviver=lambda: asyncio.to_thread(ensure))


class PairTransport(_LocalTransport):
    """A runtime in this process. `adopt` is given the other end of each new pair, and may raise `Unreachable`."""

    def __init__(self, adopt: Callable[[socket.socket], Awaitable[None]], where: str = "this process") -> None:
        self.where = where
        self._adopt = adopt

    async def connect(self) -> Streams:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            await self._adopt(theirs)
        except BaseException:
            ours.close()
            theirs.close()
            raise
        return await asyncio.open_unix_connection(sock=ours, limit=READ_BYTES)

    async def revive(self) -> None:
        raise Unreachable("the runtime lived in this console: open the console again", gone=True)
