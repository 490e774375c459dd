"""Text from a file or from stdin: UTF-8, of a bounded size, and never from a file that may not end.

Every option and verb that takes a file or stdin reads it here. Standard library only: the environment of a runtime is
read before it is known whether the rest can be imported.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

MAX_TEXT_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a file, unless its reader says otherwise."""
_KINDS: Final = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
}


class UnreadableText(ValueError):
    """A file or stdin that cannot be read, or that is not text; the message says which, where and why."""


def decode(data: bytes, name: str) -> str:
    """`data` as text; a byte order mark is left out.

    Raises:
        UnreadableText: it is not UTF-8; the message names the byte and its line.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise UnreadableText(
            f"{name} is not UTF-8 text: byte 0x{data[exc.start]:02x} in line {line}; convert it, for example with iconv"
        ) from exc


def read_bytes(path: Path, *, most: int = MAX_TEXT_BYTES, pipe: bool = False) -> bytes:
    """The content of a regular file. `pipe`: a pipe too, for which the reader may have to wait.

    Raises:
        UnreadableText: it is missing, cannot be read, is not a file, or is larger than `most` bytes.
    """
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
        if kind in _KINDS and not (pipe and kind == stat.S_IFIFO):
            raise UnreadableText(f"{path} is {_KINDS[kind]}, not a file")
        # Without waiting: another process may have put a pipe in its place.
        with open(path, "rb", opener=None if pipe else _open_at_once) as file:
            return _bounded(file, str(path), most if kind == stat.S_IFREG else min(most, MAX_TEXT_BYTES))
    except (OSError, ValueError) as exc:
        if isinstance(exc, UnreadableText):
            raise
        raise UnreadableText(f"{path} cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc


def read_text(path: Path, *, most: int = MAX_TEXT_BYTES, pipe: bool = False) -> str:
    """The content of a file as text. Raises as `read_bytes` and `decode`."""
    return decode(read_bytes(path, most=most, pipe=pipe), str(path))


def read_stdin(stream: BinaryIO, *, most: int = MAX_TEXT_BYTES) -> str:
    """All of stdin as text, with its line breaks as line feeds.

    Raises:
        UnreadableText: it is not UTF-8, or longer than `most` bytes.
    """
    text = decode(_bounded(stream, "stdin", most), "stdin")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _bounded(file: BinaryIO, name: str, most: int) -> bytes:
    data = file.read(most + 1)
    if len(data) > most:
        raise UnreadableText(f"{name} is too large: {most} bytes at most")
    return data


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
