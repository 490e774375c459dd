"""The handshake of a connection, then its messages: read and sent."""

from __future__ import annotations

import asyncio

from msgspec import Struct, field

from runtime.link.transports.transport import Transport, Unreachable
from runtime.link.wire import limits
from runtime.link.wire import protocol as p
from runtime.link.wire.framing import READ_BYTES, LineReader, PartAssembler, split_into_parts
from runtime.link.wire.message_parser import InvalidMessage, parse_message

MAX_NOISE_BYTES = 64 * 1024
"""What the far side may print before its first message (rc files of a login shell do)."""

UPGRADE_ADVICE = "install one version at both ends, then stop the runtime there (orbiter-console stop)"
"""Stands first in what is said of another version: a line may be cut."""


class IncompatibleVersion(Exception):
    """The runtime is of another version; trying again does not help until it is another one."""


class HandshakeResult(Struct):
    """One connection."""

    writer: asyncio.StreamWriter
    hello: p.Hello
    taken: int = 0
    acked: int = 0
    key: int = 0
    size: int = 0
    """Bytes of the message that was read last."""
    parts: PartAssembler = field(default_factory=lambda: PartAssembler(limits.MAX_PARTS_BYTES))

    def send(self, line: bytes) -> None:
        self.key += 1
        for piece in split_into_parts(line, self.key):
            self.writer.write(piece)

    def acknowledge(self) -> None:
        if self.taken > self.acked:
            self.acked = self.taken
            self.send(p.Ack(taken=self.taken).line())

    def read(self, line: bytes) -> p.RuntimeMessage | None:
        """The message that `line` is, or completes; None if there is none to look at (yet). Counts what was taken.

        Raises:
            IncompatibleVersion: it is a message that we know, and cannot read.
            InvalidMessage: it is not a message.
            FramingError: its parts break a limit.
        """
        try:
            message, self.size = parse_message(line), len(line)
            if isinstance(message, p.MessagePart):
                whole = self.parts.add(message.key, message.data, last=message.last)
                if whole is None:
                    return None
                message, self.size = parse_message(whole), len(whole)
        except InvalidMessage as exc:
            if exc.error == "unknown_message":  # of a newer runtime, and nothing that we need
                self.taken += 1
                return None
            if exc.error == "bad_message":
                raise IncompatibleVersion(f"{UPGRADE_ADVICE}: what it says cannot be read: {exc}") from exc
            raise
        if message.STREAMED:
            self.taken += 1
        return message


async def read_hello(
    reader: asyncio.StreamReader, lines: LineReader, transport: Transport
) -> tuple[p.Hello, list[bytes]]:
    """Read up to the runtime's first message, past whatever is printed before it; and the lines behind it.

    Raises:
        Unreachable: no hello came, in time or before the end; with the reason that the transport knows, or what was
            printed instead.
        IncompatibleVersion: the runtime is of another version.
    """
    noise: list[bytes] = []
    loop = asyncio.get_running_loop()
    until = loop.time() + transport.hello_timeout_s
    while True:
        try:
            async with asyncio.timeout_at(until):
                data = await reader.read(READ_BYTES)
        except TimeoutError as exc:
            raise Unreachable(_silent_error(transport, noise)) from exc
        found = lines.feed(data) if data else []
        for number, line in enumerate(found):
            hello = hello_in_line(line)
            if hello is not None:
                return _check_version(hello), found[number + 1 :]
            noise.append(line)
        if not data or sum(map(len, noise)) > MAX_NOISE_BYTES:
            raise await transport.explain() or Unreachable(_no_hello_error(noise), gone=bool(noise))


def hello_in_line(line: bytes) -> p.Hello | None:
    """The runtime's first message, if it is this line or its end: what is printed before may lack its line feed."""
    start = line.find(b'{"t":"hello"')
    if start < 0:
        return None
    try:
        message = parse_message(line[start:])
    except InvalidMessage:
        return None
    return message if isinstance(message, p.Hello) else None


def _check_version(hello: p.Hello) -> p.Hello:
    if hello.proto != p.PROTOCOL_VERSION:
        open_again = (
            ". If it was open during an upgrade, close it and open it again" if hello.proto > p.PROTOCOL_VERSION else ""
        )
        raise IncompatibleVersion(
            f"{UPGRADE_ADVICE}: it ({hello.program or 'of another version'}) speaks protocol {hello.proto}, "
            f"this console {p.PROTOCOL_VERSION}{open_again}"
        )
    return hello


def _no_hello_error(noise: list[bytes]) -> str:
    if not noise:
        return "the runtime hung up before it said a word"
    return f"the far side said no hello; it printed: {_printed_text(noise)}"


def _silent_error(transport: Transport, noise: list[bytes]) -> str:
    printed = f"; it printed: {_printed_text(noise)}" if noise else ""
    return f"{transport.where} is connected and says no hello for {transport.hello_timeout_s:g} seconds{printed}"


def _printed_text(noise: list[bytes]) -> str:
    return b" / ".join(noise)[:300].decode(errors="replace")
