"""A long line of foreign text goes on inside its frame where a terminal would have begun a new line with it."""

from __future__ import annotations

import os
import pty

import pytest
from rich.cells import cell_len

from console.output import _write

_END = "end of the text"


def shown(text: str, *, framed: bool) -> list[str]:
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w", encoding="utf-8") as stream:
        _write(stream, f"{text}\n{_END}", "", framed=framed)
        found = b""
        while _END.encode() not in found:  # a terminal hands on what it has got so far
            found += os.read(leader, 65_536)
    os.close(leader)
    return found.decode().partition(_END)[0].replace("\r\n", "\n").rstrip("\n").split("\n")


@pytest.mark.parametrize("before", ["Analysis: ", "    ", "      - "])
@pytest.mark.parametrize("word", ["Severity: NONE ", "日本語", "x"])
def test_a_line_too_long_for_the_terminal_goes_on_indented(
    before: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = before + "y" * (39 - len(before)) + " " * 20 + word * 30
    first, *rest = shown(text, framed=True)
    assert first.startswith(before)
    assert rest
    assert all(line.startswith("    ") for line in rest)
    assert all(cell_len(line) <= 40 for line in [first, *rest])
    assert "".join("".join([first, *rest]).split()) == "".join(text.split())


def test_what_is_no_frame_is_written_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert shown("word " * 30, framed=False) == ["word " * 30]


def test_a_line_ends_between_two_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = "    why: the quick brown fox jumps over the lazy dog and two cats"
    assert shown(text, framed=True) == ["    why: the quick brown fox jumps over", "    the lazy dog and two cats"]
    path = "    in " + "/srv/" * 20
    first, *_ = shown(path, framed=True)
    assert len(first) == 40, "a word that takes more than half of the line is cut"
