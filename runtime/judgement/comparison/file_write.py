"""What a call that writes a file would change on disk, as far as that can be told before it runs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

MAX_BYTES: Final = 256 * 1024
"""A larger file, or text, is not compared."""
_MAX_LINES: Final = 4_000
_MAX_ROWS: Final = 400
MAX_ROW_CHARS: Final = 400
"""A longer row of a difference is cut."""
_HEAD_ROWS: Final = 2
"""Rows of a unified difference that name the files."""
_VERB: Final = "fs.write:"
_ARGUMENTS: Final = ("text", "content", "contents", "data")
"""Arguments that hold what is written, by the habit of tools."""

FileState = Literal["new", "there", "same", "not text", "too large", "not readable"]
"""What the file is beside the text: not there yet, another text, the same text; or why the two were not compared."""


class WrittenText(NamedTuple):
    """The file that a call asks to write, and the argument with what it would write."""

    path: str
    argument: str
    text: str


class FileComparison(Struct, frozen=True, kw_only=True):
    """A file on disk beside the text that a call has for it.

    Attributes:
        path: the file.
        argument: the argument of the call that has the text.
        state: see `FileState`.
        lines_before: lines of the file.
        lines_after: lines of the text.
        bytes_before: size of the file.
        bytes_after: size of the text in UTF-8.
        rows: what would change if the text became all of the file, as a unified diff without its head; at most 400.
        version: differs when the file has changed.
        detail: why the two were not compared, in words.
    """

    path: str
    argument: str
    state: FileState
    lines_before: int = 0
    lines_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    rows: tuple[str, ...] = ()
    version: str = ""
    detail: str = ""


def written_text(action: Mapping[str, Any]) -> WrittenText | None:
    """What the call of a permission would write; None where it asks for another permission, or has no such text."""
    need, arguments = str(action.get("permission") or ""), action.get("arguments")
    if not need.startswith(_VERB) or not isinstance(arguments, Mapping):
        return None
    for name in _ARGUMENTS:
        text = arguments.get(name)
        if isinstance(text, str):
            return WrittenText(need.removeprefix(_VERB), name, text)
    return None


def compare_write(written: WrittenText, before: bytes | None, *, size: int = 0, problem: str = "") -> FileComparison:
    """Compare a text with what stands in its file.

    Args:
        written: the text and its file.
        before: what stands in the file, at most `MAX_BYTES` + 1 of it; None: there is no such file, or it was not read.
        size: the bytes of the file.
        problem: why it was not read, if it was not.
    """
    import hashlib  # not where the types alone are needed

    after = written.text.encode("utf-8", "surrogatepass")

    def found(state: FileState, *, detail: str = "", lines: int = 0, rows: tuple[str, ...] = ()) -> FileComparison:
        return FileComparison(
            path=written.path,
            argument=written.argument,
            state=state,
            lines_before=lines,
            lines_after=len(written.text.splitlines()),
            bytes_before=size,
            bytes_after=len(after),
            rows=rows,
            version=hashlib.sha256(before or b"").hexdigest()[:16] if before is not None else problem,
            detail=detail,
        )

    if problem:
        return found("not readable", detail=problem)
    if before is None:
        return found("new", rows=_rows([], written.text.splitlines()))
    if before == after:
        return found("same", lines=len(written.text.splitlines()))
    if len(before) > MAX_BYTES or len(after) > MAX_BYTES:
        return found("too large", detail=f"more than {MAX_BYTES // 1024} kB")
    try:
        text = before.decode("utf-8")
    except UnicodeDecodeError:
        return found("not text", detail="the file is not UTF-8 text")
    old, new = text.splitlines(), written.text.splitlines()
    if "\0" in text:
        return found("not text", detail="the file is not text")
    if max(len(old), len(new)) > _MAX_LINES:
        return found("too large", detail=f"more than {_MAX_LINES} lines")
    return found("there", lines=len(old), rows=_rows(old, new))


def _rows(old: list[str], new: list[str]) -> tuple[str, ...]:
    if not old:
        return tuple(f"+{line}"[:MAX_ROW_CHARS] for line in new[:_MAX_ROWS])
    rows = difflib.unified_diff(old, new, lineterm="", n=1)
    return tuple(row[:MAX_ROW_CHARS] for row in islice(rows, _HEAD_ROWS, _HEAD_ROWS + _MAX_ROWS))
