"""Only the cells of a line that changed are painted again: what is left alone must be the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from screens.render.layout import Span, Spans
from screens.widgets.line_view import changed_cells

WIDTH = 40
pieces = st.lists(
    st.builds(Span, st.text("ab 二", min_size=0, max_size=5), st.sampled_from(["ink", "ink-muted"]), st.booleans()),
    max_size=8,
).map(tuple)


def cells(spans: Spans) -> list[tuple[str, str, bool]]:
    """What stands in each cell, as a terminal sees it."""
    found = [
        (part, span.ink, span.bold)
        for span in spans
        for char in span.text
        for part in ((char, "") if char == "二" else (char,))
    ]
    return (found + [(" ", "ink", False)] * WIDTH)[:WIDTH]


@given(pieces, pieces, pieces, pieces)
def test_what_is_outside_of_the_changed_cells_is_the_same(head: Spans, old: Spans, new: Spans, tail: Spans) -> None:
    before, now = (*head, *old, *tail), (*head, *new, *tail)
    first, last = changed_cells((before, "surface"), (now, "surface"), WIDTH)
    assert 0 <= first <= last <= WIDTH
    was, is_now = cells(before), cells(now)
    assert was[:first] == is_now[:first]
    assert was[last:] == is_now[last:]


def test_a_second_hand_costs_its_cells_and_no_more() -> None:
    def line(time: str) -> tuple[Spans, str]:
        return (Span("node-7"), Span("  "), Span(time), Span("  "), Span("running")), "surface"

    assert changed_cells(line("9s"), line("8s"), WIDTH) == (8, 10)


def test_another_ground_or_a_line_that_was_never_painted_is_painted_whole() -> None:
    line: Spans = (Span("a"),)
    assert changed_cells((line, "surface"), (line, "row-cursor"), WIDTH) == (0, WIDTH)
    assert changed_cells(None, (line, "surface"), WIDTH) == (0, WIDTH)
