"""Styles are written with fewer bytes, and every character still has its own."""

from __future__ import annotations

import os
import re

from hypothesis import example, given
from hypothesis import strategies as st
from rich.color import Color, ColorSystem
from rich.style import Style

from console.terminal.driver import TimedFile
from console.terminal.style_changes import shorten_styles
from screens.shell.frame_rate import FrameRateGovernor

_TOKEN = re.compile(r"\x1b\[[\d;:?]*[A-Za-z]|.", re.DOTALL)
Shown = list[tuple[str, tuple[str, ...]]]


def shown(text: str, state: tuple[str, ...] = ()) -> Shown:
    """Each character with the style that the terminal gives it, and the other control sequences. A small terminal: a
    style is its codes, in the order of their kinds.
    """
    found: Shown = []
    for token in _TOKEN.findall(text):
        if token.startswith("\x1b[") and token.endswith("m"):
            state = _after(state, token[2:-1])
        elif token.startswith("\x1b["):
            found.append((token, ()))
        else:
            found.append((token, state))
    return found


def _after(state: tuple[str, ...], codes: str) -> tuple[str, ...]:
    kinds = {each.partition("=")[0]: each for each in state}
    left = codes.split(";")
    while left:
        code = left.pop(0)
        if code in ("", "0"):
            kinds.clear()
        elif code in ("38", "48"):
            length = 4 if left[:1] == ["2"] else 2
            taken, left = left[:length], left[length:]
            kinds[code] = f"{code}={';'.join(taken)}"
        elif code in ("39", "49"):
            kinds.pop({"39": "38", "49": "48"}[code], None)
        elif re.fullmatch(r"[39]\d", code):
            kinds["38"] = f"38={code}"
        elif re.fullmatch(r"4\d|10\d", code):
            kinds["48"] = f"48={code}"
        else:
            kinds[code] = code
    return tuple(sorted(kinds.values()))


_COLORS = st.sampled_from(["red", "bright_blue", "color(17)", "color(200)", "#d3dae6", "#151a23", ""])
_NAMES = ("bold", "dim", "italic", "underline", "reverse", "strike", "blink", "overline", "underline2")
_CODES = st.sampled_from(["", "0", "1", "31", "0;1", "4", "22", "39", "58;5;3", "38;5", "1;0;34", "7;7", "4:3"])


@st.composite
def _styles(draw: st.DrawFn) -> Style:
    color, back = draw(_COLORS), draw(_COLORS)
    colors = Style(color=Color.parse(color) if color else None, bgcolor=Color.parse(back) if back else None)
    return colors + Style.parse(" ".join(draw(st.sets(st.sampled_from(_NAMES), max_size=2))))


@st.composite
def _frames(draw: st.DrawFn) -> str:
    """What Textual writes: moves, text in a style, text in none, and now and then codes of others."""
    parts: list[str] = []
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["text", "text", "text", "move", "plain", "codes", "erase"]))
        if kind == "text":
            system = draw(st.sampled_from([ColorSystem.TRUECOLOR, ColorSystem.EIGHT_BIT, ColorSystem.STANDARD]))
            parts.append(draw(_styles()).render(draw(st.sampled_from(["a", "×3", " ", ""])), color_system=system))
        elif kind == "move":
            parts.append(f"\x1b[{draw(st.integers(1, 40))};{draw(st.integers(1, 120))}H")
        elif kind == "plain":
            parts.append("x")
        elif kind == "erase":
            parts.append("\x1b[K")
        else:
            parts.append(f"\x1b[{draw(_CODES)}m")
    return "".join(parts)


@example("\x1b[0m\x1b[4:3m\x1b[31ma\x1b[0m\x1b[31mb", ())  # a curled underline has its kind behind a colon
@given(_frames(), st.sampled_from([(), ("1",), ("38=31", "48=5;3")]))
def test_every_character_stands_there_in_its_style(frame: str, before: tuple[str, ...]) -> None:
    short = shorten_styles(frame)
    assert len(short) <= len(frame)
    assert shown(short, before) == shown(frame, before)


def test_an_erasure_is_made_in_the_colours_that_it_was_to_be_made_in() -> None:
    red = Style(bgcolor="red").render("a", color_system=ColorSystem.STANDARD)
    assert shorten_styles(f"{red}\x1b[K{red}") == f"{red}\x1b[K{red}"  # a terminal erases with its background


def test_only_the_colour_that_differs_is_written() -> None:
    """How the terminal is set before a write is not known: the second style is written whole once."""
    count = "\x1b[38;2;223;186;117;48;2;21;26;35m×376\x1b[0m"
    age = "\x1b[38;2;211;218;230;48;2;21;26;35m  12s\x1b[0m"
    row = f"\x1b[7;47H{count}{age}\x1b[8;47H{count}{age}"
    assert shorten_styles(row) == (
        "\x1b[7;47H\x1b[38;2;223;186;117;48;2;21;26;35m×376\x1b[0;38;2;211;218;230;48;2;21;26;35m  12s"
        "\x1b[8;47H\x1b[38;2;223;186;117m×376\x1b[38;2;211;218;230m  12s\x1b[0m"
    )


def test_what_goes_to_the_terminal_is_short() -> None:
    leader, follower = os.openpty()
    with open(follower, "w", encoding="utf-8") as painted:  # noqa: PTH123 - a descriptor
        file = TimedFile(painted, FrameRateGovernor(), lambda: None)
        file.write("\x1b[0m\x1b[1mone\x1b[0m\x1b[1mtwo\x1b[0m")
        file.flush()
        assert os.read(leader, 1000) == b"\x1b[0;1monetwo\x1b[0m"
    os.close(leader)
