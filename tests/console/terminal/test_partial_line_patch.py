"""Only changed cells go to the terminal, and what stands there afterwards is what a whole repaint would have left."""

from __future__ import annotations

import io
import random

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import _compositor
from textual.strip import Strip

from console.terminal.partial_line_patch import _render, install_partial_line_patch

CONSOLE = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=80)
LINE = "a wide 二 letter, and a clock: 12s".ljust(59, ".")
"""60 cells."""


def update(spans: list[tuple[int, int, int]], *chops: tuple[int, str]) -> _compositor.ChopsUpdate:
    """An update of one row, whose panes begin at the places given."""
    strips = {x: Strip([Segment(text, Style(bold=bool(x)))]) for x, text in chops}
    ends = [x + strip.cell_length for x, strip in strips.items()]
    return _compositor.ChopsUpdate([strips], spans, [ends])


def test_the_cells_before_and_behind_a_change_are_not_sent() -> None:
    sent = _render(update([(0, 30, 34)], (0, LINE)), CONSOLE)
    assert sent.startswith("\x1b[1;31H")
    assert " 12s" in sent
    assert "clock" not in sent
    assert "..." not in sent


def test_panes_that_did_not_change_are_left_alone_and_whole_ones_are_sent_whole() -> None:
    panes = ((0, "left " * 4), (20, "middle" * 5), (50, "right " * 5))
    sent = _render(update([(0, 20, 50)], *panes), CONSOLE)
    assert "middle" * 5 in sent
    assert "left" not in sent
    assert "right" not in sent


@pytest.mark.parametrize("seed", range(20))
def test_what_is_sent_is_what_the_line_has_there(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choice("abc .") for _ in range(60))
    first = chance.randrange(59)
    last = chance.randrange(first + 1, 61)
    sent = _render(update([(0, first, last)], (0, text)), CONSOLE)
    assert sent == f"\x1b[1;{first + 1}H{text[first:last]}"


def test_textual_still_has_what_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compositor.ChopsUpdate, "render_segments", _compositor.ChopsUpdate.render_segments)
    install_partial_line_patch()
    assert update([(0, 0, 60)], (0, LINE)).render_segments(CONSOLE) == f"\x1b[1;1H{LINE}"
