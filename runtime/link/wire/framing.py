"""Bytes to lines and back: the framing of the link, with limits, and messages too long for one line in parts.

asyncio's own reader stops at 64 KiB a line, which a snapshot of 200 nodes breaks; this one has limits that fit, says
what broke them, and never hands out half a line (`facts/remote.md` section 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

import msgspec

MAX_LINE_BYTES = 1024 * 1024
"""The longest line that either side may send, its line feed not counted."""
READ_BYTES = 64 * 1024
"""What is read at once, at either end."""
MAX_PART_CHARS = 128 * 1024
"""Characters of a message in one of its parts: 768 KiB at worst, when JSON escapes each of them with six."""
MAX_WHOLE_BYTES = 256 * 1024
"""A message up to this long goes in one line."""
MAX_MESSAGE_BYTES = 256 * 1024 * 1024
"""The longest message that is put together from parts."""


class FramingError(ValueError):
    """The other side broke a limit of the framing; the connection is of no use any more."""


class LineReader:
    """Cuts a stream of bytes into lines. A last line without its line feed is never handed out.

    Raises (from `feed`):
        FramingError: a line is longer than `limit` bytes. What was read of it is dropped; the reader stays closed.
    """

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._begun = bytearray()
        self._broken = False

    @property
    def pending(self) -> int:
        """Bytes of a line that has not ended yet."""
        return len(self._begun)

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without line ends; empty lines are left out."""
        if self._broken:
            raise FramingError("the stream is closed: an earlier line was too long")
        *lines, rest = data.split(b"\n")
        if lines and self._begun:
            lines[0] = bytes(self._begun) + lines[0]
        if lines:
            self._begun = bytearray(rest)
        else:
            self._begun += rest
        if max(map(len, (self._begun, *lines))) > self._limit:
            self._broken = True
            self._begun.clear()
            raise FramingError(f"a line is longer than {self._limit} bytes")
        return [line.rstrip(b"\r") for line in lines if line.strip()]


def split_into_parts(line: bytes, key: int) -> Iterator[bytes]:
    """`line` as it goes over the wire, line feeds included: as it is, or in `part` messages that share `key`."""
    if len(line) <= MAX_WHOLE_BYTES:
        yield line + b"\n"
        return
    text = line.decode()
    for start in range(0, len(text), MAX_PART_CHARS):
        last = start + MAX_PART_CHARS >= len(text)
        part = {"t": "part", "key": key, "last": last, "data": text[start : start + MAX_PART_CHARS]}
        yield msgspec.json.encode(part) + b"\n"


class PartAssembler:
    """Puts messages together from their parts. Parts of different keys may come interleaved.

    Raises (from `add`):
        FramingError: the unfinished messages hold more than `limit` bytes, or there are more than 64 of them.
    """

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._size = 0
        self._open: dict[int, StringIO] = {}

    def add(self, key: int, data: str, *, last: bool) -> bytes | None:
        """The whole message once its last part is there."""
        begun = self._open.setdefault(key, StringIO())  # not a list: a million tiny parts must not cost more than one
        begun.write(data)
        self._size += len(data)
        if self._size > self._limit or len(self._open) > 64:
            raise FramingError(f"unfinished messages hold more than {self._limit} bytes, or are more than 64")
        if not last:
            return None
        del self._open[key]
        whole = begun.getvalue()
        self._size -= len(whole)
        return whole.encode()
