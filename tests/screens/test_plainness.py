from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from runtime.record.state.durable_run import NodePhase, RunPhase
from screens.render.glyphs import (
    ASCII_GLYPHS,
    GLYPH_SETS,
    Glyphs,
    state_ink,
    state_word,
)
from screens.render.plain_filters import AsciiFilter, NoColorFilter
from screens.widgets.theme_colors import ThemeColors
from themes.builtin_themes import builtin_theme

BLACK = Color.parse("black")
STATES = sorted({*get_args(RunPhase), *get_args(NodePhase), "holds"})
"""The states on record, and what the tree shows of a node that only waits for nodes below it."""


def ascii_of(text: str) -> str:
    (segment,) = AsciiFilter().apply([Segment(text)], BLACK)
    return segment.text


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))))
def test_whatever_is_painted_is_ascii_in_as_many_cells(text: str) -> None:
    found = ascii_of(text)
    assert found.isascii()
    assert len(found) == sum(map(cell_len, text))


@pytest.mark.parametrize(
    ("drawn", "plain"),
    [
        ("╭─┬─╮│┃║╰┴╯", "+-+-+|||+++"),
        ("▁▂▃▄▅▆▇█", "_.:-=+*#"),
        ("▏▎▍▌▋▊▉█", "|||||||#"),
        ("░▒▓", ".:#"),
        ("a … b · c", "a ~ b . c"),
        ("漢", "??"),
    ],
)
def test_what_is_drawn_keeps_a_likeness(drawn: str, plain: str) -> None:
    assert ascii_of(drawn) == plain


def test_colours_are_taken_away_and_what_stood_out_is_reversed() -> None:
    (found,) = NoColorFilter().apply([Segment("x", Style(color="red", bold=True, meta={"@click": "go"}))], BLACK)
    assert found.style == Style(bold=True, meta={"@click": "go"})
    for ground, reverse in ((None, None), ("default", None), ("blue", True)):
        (found,) = NoColorFilter().apply([Segment("x", Style(bgcolor=ground, color="red"))], BLACK)
        assert found.style is not None
        assert (found.style.color, found.style.bgcolor, found.style.reverse) == (None, None, reverse)
    assert NoColorFilter().apply([Segment("x")], BLACK) == [Segment("x")]


@pytest.mark.parametrize("glyphs", GLYPH_SETS.values(), ids=GLYPH_SETS.keys())
def test_a_state_is_told_by_glyph_and_word_and_never_by_colour_alone(glyphs: Glyphs) -> None:
    assert set(glyphs.state) == set(STATES)
    assert all(cell_len(sign) == 1 and not sign.isspace() for sign in glyphs.state.values())
    words = [state_word(state) for state in STATES]
    assert len(set(words)) == len(STATES)
    good, bad = ("succeeded", "completed"), ("failed", "timed_out", "aborted", "interrupted")
    assert not {glyphs.state[state] for state in good} & {glyphs.state[state] for state in bad}


def test_every_sign_of_the_ascii_set_is_ascii() -> None:
    for name in Glyphs._fields:
        value = getattr(ASCII_GLYPHS, name)
        texts = list(value.values()) if isinstance(value, dict) else [str(part) for part in value]
        assert all(text.isascii() for text in texts), name


@pytest.mark.parametrize("theme", ["orbiter-ansi-dark", "orbiter-ansi-light"])
def test_in_the_terminals_own_colours_the_cursor_is_a_reversed_row(theme: str) -> None:
    colors = ThemeColors(builtin_theme(theme).variables)
    on, idle, off = (
        colors.style(state_ink("failed"), ground) for ground in ("row-cursor", "row-cursor-idle", "surface")
    )
    assert (on.reverse, on.color) == (True, colors.style("ink", "surface").color)
    assert (idle.underline, idle.color) == (True, off.color)
    assert not off.reverse
    assert not off.underline


def test_where_the_cursor_has_a_ground_of_its_own_nothing_is_reversed() -> None:
    colors = ThemeColors(builtin_theme("orbiter-dark").variables)
    style = colors.style("ink", "row-cursor")
    assert not style.reverse
    assert style.bgcolor != colors.style("ink", "surface").bgcolor
