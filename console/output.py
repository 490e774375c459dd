"""Output of the command line: results on stdout, the rest on stderr, all of it sanitised.

JSON is written in ASCII: what is invisible in a model's text stays visible as an escape, on whatever terminal.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO
from unicodedata import bidirectional

from rich.cells import cell_len, chop_cells, set_cell_size

from screens.render.sanitize import is_hidden, sanitize_line, sanitize_text
from screens.shell import streams

if TYPE_CHECKING:  # a program that reads JSON waits for none of it
    from msgspec import Struct
    from rich.console import Console

STANDARD_OUTPUT: Final = "standard output"
"""How an error names it that cannot be written."""
_RIGHT_TO_LEFT: Final = frozenset({"R", "AL", "AN"})
"""Bidirectional classes of letters and digits that a terminal may show in another order."""
_writing = threading.RLock()
"""What user code prints is shown by a thread (`console.output_capture`): one writes at a time."""


def supports_unicode(stream: TextIO | None = None) -> bool:
    """Whether glyphs and foreign letters can be written there (on stdout, if not said) as they are: no request for
    ASCII (`--ascii`, `$ORBITER_ASCII`), the stream takes them, the locale, if one is set, is in UTF-8, and it is not a
    terminal whose font has not enough of them, unless `ORBITER_ASCII=0` says that it has.
    """
    stream = stream or streams.stdout()
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
    asked = os.environ.get("ORBITER_ASCII", "").lower()
    plain = asked not in {"0", "false", "no"} if asked else is_plain_console(os.environ) and stream.isatty()
    return not plain and encoding in {"utf8", "utf16", "utf32"} and is_utf8_locale(os.environ)


def is_plain_console(environment: Mapping[str, str]) -> bool:
    """Whether it is the console of Linux or BSD, whose fonts have 256 or 512 signs, or a terminal of old."""
    return environment.get("TERM", "") in {"linux", "cons25", "vt100", "vt220"}


def is_utf8_locale(environment: Mapping[str, str]) -> bool:
    """Whether the locale that was asked for is in UTF-8; true if none was.

    Python cannot be asked: for the locale C it chooses UTF-8 by itself (PEP 538, PEP 540), and puts the `LC_CTYPE`
    that it took in the environment. `PYTHONUTF8=1` is a wish like the others.
    """
    if environment.get("PYTHONUTF8") == "1":
        return True
    taken = sys.flags.utf8_mode and environment.get("LC_CTYPE") in {"C.UTF-8", "C.utf8", "UTF-8"}
    names = (environment.get(name, "") for name in ("LC_ALL", *(() if taken else ("LC_CTYPE",)), "LANG"))
    asked = next(filter(None, names), "")
    return not asked or "utf8" in asked.lower().replace("-", "")


class ValueMask(Protocol):
    """What is shown in place of secrets (`runtime.execution.view_redaction`)."""

    def mask_value(self, value: Any) -> Any:
        """A foreign value, as JSON has it."""
        ...

    def mask_message(self, message: Any) -> Any:
        """An object of ours, as JSON has it."""
        ...


_mask: ValueMask | None = None
"""What this process shows in place of secrets; None: all is shown as it is."""


def set_mask(views: ValueMask | None) -> None:
    """From now on mask secrets in what this process prints (the setting `redact_views`); None: print all as it is."""
    global _mask  # noqa: PLW0603 - one stdout, one way to print on it
    _mask = views


def mask_value(value: Any) -> Any:
    """A foreign value, as JSON has it, as it may be shown."""
    return value if _mask is None else _mask.mask_value(value)


def print_json(value: Struct | Mapping[str, Any]) -> None:
    """One object as one line of JSON, to stdout."""
    import json  # a reader of text waits for none of it

    from runtime.operations.requests.codec import encode

    text = json.dumps(encode(value), default=str)
    if _mask is not None:
        text = json.dumps(_mask.mask_message(json.loads(text)))
    with _writing:
        _put(streams.stdout(), f"{text}\n")


def print_raw(text: str) -> None:
    """A file's text as it is, to stdout, for a program to read.

    Raises:
        ValueError: it is not lines of printable characters from left to right; a terminal might obey it, show it in
            another order, or show less of it.
    """
    characters = text.replace("\n", "")
    if not characters.isprintable() or (
        not characters.isascii()
        and any(is_hidden(each) or bidirectional(each) in _RIGHT_TO_LEFT for each in characters)
    ):
        raise ValueError("only lines of printable characters from left to right go to stdout as they are")
    _put(streams.stdout(), text)


def print_line(text: str, *, style: str = "", framed: bool = False) -> None:
    """A result for a reader, to stdout: the words as they are, cleaned, wrapped by the terminal alone.

    `framed`: the text quotes foreign text on lines that begin with spaces. On a terminal, a line that is too long goes
    on with the same spaces, so that foreign text never begins a line.
    """
    _write(streams.stdout(), text, style, framed=framed)


def print_note(text: str, *, style: str = "", framed: bool = False) -> None:
    """What is not a result, to stderr. `framed`: see `say`."""
    _write(streams.stderr(), text, style, framed=framed)


_MIN_COLUMN_CELLS = 16
"""Cells of the terminal that the last column keeps before others give way, too."""
_COLUMN_GAP = 2


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A list for a reader, to stdout. Where there is not room for all the last column gives way first, then whichever
    is the widest: an id that was cut would be none.
    """
    rows = [[mask_value(cell) for cell in row] for row in rows]
    stream = streams.stdout()
    plain, room = not supports_unicode(stream), _terminal_width() if _is_terminal(stream) else None
    limit = 10_000 if room is None else 200
    cells = [list(headings), *([sanitize_line(cell, limit=limit, ascii_only=plain) for cell in row] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    if room is not None:  # what is piped is not cut: the reader of the pipe can cut
        widths = _fit_widths(widths, room)
        end = "" if plain else "…"
        cells = [[_cut(cell, width, end) for cell, width in zip(line, widths, strict=True)] for line in cells]
    lines = [
        (" " * _COLUMN_GAP).join(set_cell_size(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    if room is not None and os.environ.get("TERM", "").lower() not in _WITHOUT_STYLES:
        lines[0] = f"\x1b[2m{lines[0]}\x1b[0m"  # dim
    _put(stream, "\n".join(lines) + "\n")


_WITHOUT_STYLES = ("dumb", "unknown")
"""Terminals that take no escape sequences."""


def _is_terminal(stream: TextIO) -> bool:
    if "FORCE_COLOR" in os.environ or "TTY_COMPATIBLE" in os.environ:  # Rich knows what they mean
        return _console(stream).is_terminal
    return stream.isatty()


def _terminal_width() -> int:
    """The cells of a line of the terminal: as Rich finds it, without the tenth of a second that its import takes."""
    if os.environ.get("TERM", "").lower() in _WITHOUT_STYLES:
        return 80
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    for descriptor in (0, 1, 2):
        with suppress(OSError):
            return os.get_terminal_size(descriptor).columns or 80
    return 80


def _cut(cell: str, width: int, end: str) -> str:
    """The cell in at most `width` cells of the terminal, with `end` where something is missing."""
    return cell if cell_len(cell) <= width else set_cell_size(cell, max(0, width - len(end))) + end[:width]


def _fit_widths(natural: Sequence[int], room: int) -> list[int]:
    """The columns' widths in a terminal of `room` cells."""
    widths = list(natural)
    room -= _COLUMN_GAP * (len(widths) - 1)
    widths[-1] = max(min(widths[-1], _MIN_COLUMN_CELLS), widths[-1] - max(0, sum(widths) - room))
    while sum(widths) > room and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths


class _Cursor:
    """Whether the cursor stands behind a question: what is written next begins on a line of its own."""

    behind_question = False


def print_prompt(text: str) -> None:
    """A question at a terminal; the cursor stays behind it until a line is read (`answered`) or written."""
    with _writing:
        _own_line()
        stream = streams.stderr()
        stream.write(sanitize_line(mask_value(text), ascii_only=not supports_unicode(stream)) + " ")
        stream.flush()
        _Cursor.behind_question = True


def prompt_answered() -> None:
    """A line was typed: the terminal has begun a new one."""
    _Cursor.behind_question = False


def _own_line() -> None:
    if _Cursor.behind_question:
        streams.stderr().write("\n")
        streams.stderr().flush()
        _Cursor.behind_question = False


def _hanging_indent(text: str, width: int) -> str:
    """The text in lines of at most `width` cells; the rest of a line goes on below, indented by four or more.

    A line ends between two words. A word that takes more than half of the line is cut: else it would leave a gap.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        indent = min(max(4, len(line) - len(line.lstrip(" "))), width // 2)
        while cell_len(line) > width:
            first = chop_cells(line[:width], width)[0]
            end = len(first) if line[len(first)] == " " else first.rfind(" ")
            if end > max(indent, len(first) // 2):
                first = first[:end]
            lines.append(first.rstrip(" "))
            line = " " * indent + line[len(first) :].lstrip(" ")  # noqa: PLW2901 - what is left of it
        lines.append(line)
    return "\n".join(lines)


def _write(stream: TextIO, text: str, style: str, *, framed: bool) -> None:
    shown = sanitize_text(mask_value(text), ascii_only=not supports_unicode(stream))
    with _writing:
        if stream.isatty():
            _own_line()
        if _is_terminal(stream):
            width = _terminal_width()
            if framed and width >= _MIN_COLUMN_CELLS:
                shown = _hanging_indent(shown, width)
            if style:
                from rich.text import Text

                _console(stream).print(Text(shown, style=style), soft_wrap=True)
                return
        _put(stream, f"{shown}\n")


def _put(stream: TextIO, text: str) -> None:
    """Write it all at once; an error names stdout. Where stderr takes nothing, notes go nowhere from then on, and the
    verb does what was asked.
    """
    try:
        stream.write(text)
        stream.flush()
    except OSError as exc:
        if stream is streams.stderr():
            drop_output(stream)
            return
        exc.filename = STANDARD_OUTPUT
        raise


def drop_output(stream: TextIO) -> None:
    """What is still to be written there goes nowhere: the interpreter must not try once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, markup=False, emoji=False, highlight=False)
