"""One connection of a console: how it begins, what is read from it and sent over it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from runtime.link.transports.transport import READ_BYTES, Transport, Unreachable
from runtime.link.wire import limits
from runtime.link.wire import protocol as p
from runtime.link.wire.framing import Assembler, LineReader, in_parts

NOISE_BYTES = 64 * 1024
"""What the far side may print before its first message (rc files of a login shell do)."""

CURE = "install one version at both ends, then stop the runtime there (orbiter-console stop)"
"""Stands first in what is said of another version: a line may be cut."""


class Incompatible(Exception):
    """The runtime is of another version; trying again does not help until it is another one."""


@dataclass(slots=True)
class Session:
    """One connection."""

    writer: asyncio.StreamWriter
    hello: p.Hello
    taken: int = 0
    acked: int = 0
    key: int = 0
    size: int = 0
    """Bytes of the message that was read last."""
    parts: Assembler = field(default_factory=lambda: Assembler(limits.MESSAGE_BYTES))

    def send(self, line: bytes) -> None:
        self.key += 1
        for piece in in_parts(line, self.key):
            self.writer.write(piece)

    def acknowledge(self) -> None:
        if self.taken > self.acked:
            self.acked = self.taken
            self.send(p.Ack(taken=self.taken).line())

    def read(self, line: bytes) -> p.FromRuntime | None:
        """The message that `line` is, or completes; None if there is none to look at (yet). Counts what was taken.

        Raises:
            Incompatible: it is a message that we know, and cannot read.
            BadMessage: it is none.
            FramingError: its parts break a limit.
        """
        try:
            message, self.size = p.from_runtime(line), len(line)
            if message.t == "part":
                whole = self.parts.add(message.key, message.data, last=message.last)
                if whole is None:
                    return None
                message, self.size = p.from_runtime(whole), len(whole)
        except p.BadMessage as exc:
            if exc.error == "unknown_message":  # of a newer runtime, and nothing that we need
                self.taken += 1
                return None
            if exc.error == "bad_message":
                raise Incompatible(f"{CURE}: what it says cannot be read: {exc}") from exc
            raise
        if message.t in p.STREAM:
            self.taken += 1
        return message


async def greeting(
    reader: asyncio.StreamReader, lines: LineReader, transport: Transport
) -> tuple[p.Hello, list[bytes]]:
    """Read up to the runtime's first message, past whatever is printed before it; and the lines behind it.

    Raises:
        Unreachable: no hello came, in time or before the end; with the reason that the transport knows, or what was
            printed instead.
        Incompatible: the runtime is of another version.
    """
    noise: list[bytes] = []
    loop = asyncio.get_running_loop()
    until = loop.time() + transport.patience
    while True:
        try:
            data = await asyncio.wait_for(reader.read(READ_BYTES), until - loop.time())
        except TimeoutError as exc:
            raise Unreachable(_silent(transport, noise)) from exc
        found = lines.feed(data) if data else []
        for number, line in enumerate(found):
            hello = hello_in(line)
            if hello is not None:
                return _compatible(hello), found[number + 1 :]
            noise.append(line)
        if not data or sum(map(len, noise)) > NOISE_BYTES:
            raise await transport.explain() or Unreachable(_no_hello(noise), gone=bool(noise))


def hello_in(line: bytes) -> p.Hello | None:
    """The runtime's first message, if it is this line or its end: what is printed before may lack its line feed."""
    start = line.find(b'{"t":"hello"')
    if start < 0:
        return None
    try:
        message = p.from_runtime(line[start:])
    except p.BadMessage:
        return None
    return message if isinstance(message, p.Hello) else None


def _compatible(hello: p.Hello) -> p.Hello:
    if hello.proto != p.PROTO:
        raise Incompatible(
            f"{CURE}: it ({hello.program or 'of another version'}) speaks protocol {hello.proto}, "
            f"this console {p.PROTO}"
        )
    return hello


def _no_hello(noise: list[bytes]) -> str:
    if not noise:
        return "the runtime hung up before it said a word"
    return f"the far side said no hello; it printed: {_printed(noise)}"


def _silent(transport: Transport, noise: list[bytes]) -> str:
    printed = f"; it printed: {_printed(noise)}" if noise else ""
    return f"{transport.where} is connected and says no hello for {transport.patience:g} seconds{printed}"


def _printed(noise: list[bytes]) -> str:
    return b" / ".join(noise)[:300].decode(errors="replace")
