"""Pending requests of a client: commands, which outlive a connection, and pings, which do not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from runtime.link.wire import protocol as p
from runtime.link.wire.link_status import LinkLost


class PendingCommand(Struct):
    """A command that was sent and has no reply yet."""

    id: str
    verb: str
    args: Mapping[str, Any]
    line: bytes
    done: asyncio.Future[p.CommandReply]


class PendingRequests:
    """See the module. `commands` in the order in which they were asked."""

    def __init__(self) -> None:
        self.commands: dict[str, PendingCommand] = {}
        self._pings: dict[int, asyncio.Future[None]] = {}

    def command(self, command: p.Command) -> PendingCommand:
        """Expect the reply to a command; what waits for it takes it out of `commands`."""
        done: asyncio.Future[p.CommandReply] = asyncio.get_running_loop().create_future()
        pending = self.commands[command.id] = PendingCommand(
            command.id, command.verb, command.args, command.line(), done
        )
        return pending

    def resolve(self, reply: p.CommandReply) -> None:
        pending = self.commands.get(reply.id)
        if pending is not None and not pending.done.done():
            pending.done.set_result(reply)

    def refused(self, refused: p.MessageRefused) -> None:
        """The runtime could not read a command."""
        if refused.id in self.commands:
            self.resolve(p.CommandReply(id=refused.id, ok=False, error=refused.error, message=refused.message))

    def ping(self) -> tuple[p.Ping, asyncio.Future[None]]:
        """A ping to be sent, and what is done when its answer is here."""
        ping = p.Ping(id=int.from_bytes(os.urandom(6)))
        answered = self._pings[ping.id] = asyncio.get_running_loop().create_future()
        answered.add_done_callback(lambda _: self._pings.pop(ping.id, None))
        return ping, answered

    def resolve_ping(self, pong: p.Pong) -> None:
        ping = self._pings.get(pong.id)
        if ping is not None and not ping.done():
            ping.set_result(None)

    def connection_cut(self, reason: str) -> None:
        """A connection ended: no ping that was sent over it is answered any more."""
        _fail(list(self._pings.values()), reason)

    def link_lost(self, reason: str) -> None:
        """No reply comes any more."""
        _fail([pending.done for pending in self.commands.values()], reason)


def _fail(waiting: list[asyncio.Future[None]] | list[asyncio.Future[p.CommandReply]], reason: str) -> None:
    for future in waiting:
        if not future.done():
            future.set_exception(LinkLost(reason))
