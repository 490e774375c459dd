from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from screens.render.formatting import (
    format_age,
    format_ago,
    format_cost,
    format_count,
    format_duration,
    format_elapsed,
    format_tokens,
    pluralize,
)
from screens.render.glyphs import ASCII_GLYPHS, GLYPH_SETS, UNICODE_GLYPHS
from screens.render.layout import (
    Column,
    Row,
    Span,
    cut_before,
    cut_middle,
    cut_spans,
    empty_columns,
    fit_columns,
    fit_spans,
    plain_text,
    set_line,
    span,
    width_of,
)
from screens.render.sanitize import sanitize_line
from screens.render.wrapping import wrap_spans
from themes.tokens import STATES

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0s"),
        (0, "0s"),
        (0.44, "0.4s"),
        (9.96, "9s"),
        (12.9, "12s"),
        (185, "3m05s"),
        (7620, "2h07m"),
        (356_400, "4d03h"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


@given(st.floats(min_value=-10, max_value=8.6e9))
def test_a_duration_fits_its_column(seconds: float) -> None:
    assert len(format_duration(seconds)) <= 6


def test_an_age_is_still_for_a_minute_at_a_time() -> None:
    since = NOW - timedelta(minutes=3)
    assert {format_age(since, NOW + timedelta(seconds=second)) for second in range(60)} == {"3m"}
    assert format_age(None, NOW) == ""
    assert format_age(NOW + timedelta(hours=1), NOW) == "now"


def test_in_a_sentence_now_is_just_now() -> None:
    assert [format_ago(NOW - timedelta(seconds=past), NOW) for past in (3, 30, 7200)] == [
        "just now",
        "30s ago",
        "2h ago",
    ]
    assert format_ago(None, NOW) == ""


def test_elapsed_counts_whole_seconds_while_it_lasts_and_tenths_when_it_is_over() -> None:
    assert format_elapsed(NOW - timedelta(seconds=3.4), None, NOW) == "3s"
    assert format_elapsed(NOW - timedelta(seconds=3.4), NOW, NOW) == "3.4s"


def test_numbers() -> None:
    assert [format_count(n) for n in (0, 999, 1000, 12_345, 999_999, 1_200_000)] == [
        "0",
        "999",
        "1.0k",
        "12k",
        "1000k",
        "1.2M",
    ]
    assert format_tokens(0, 0) == ""
    assert format_tokens(900, 300) == "1.2k"
    assert (format_cost(None), format_cost(0.0), format_cost(0.001), format_cost(0.314), format_cost(1234.5)) == (
        "",
        "$0.00",
        "<$0.01",
        "$0.31",
        "$1,234",
    )
    assert (pluralize(1, "way"), pluralize(2, "way"), pluralize(2, "life", "lives")) == ("1 way", "2 ways", "2 lives")


def test_every_state_has_a_sign_of_one_cell_in_every_set() -> None:
    for glyphs in GLYPH_SETS.values():
        assert set(glyphs.state) == {*STATES, "holds"}, "what only holds others has no colour of its own"
        assert {cell_len(sign) for sign in glyphs.state.values()} == {1}
    assert all(sign.isascii() for sign in ASCII_GLYPHS.state.values())
    assert len(UNICODE_GLYPHS.rail) == len(UNICODE_GLYPHS.branch) == len(UNICODE_GLYPHS.last)


COLUMNS = (Column("a", 10, grow=1), Column("b", 8), Column("c", 6, drop=1), Column("d", 6, drop=2))


def test_columns_go_in_their_order_when_there_is_no_room() -> None:
    assert fit_columns(COLUMNS, 40) == (14, 8, 6, 6)
    assert fit_columns(COLUMNS, 35) == (17, 8, 6, 0)
    assert fit_columns(COLUMNS, 20) == (10, 8, 0, 0)
    assert fit_columns(COLUMNS, 14) == (6, 6, 0, 0), "the widest gives first, and none is lost to the others"


def test_a_column_that_is_empty_in_each_row_leaves_its_room_to_the_others() -> None:
    columns = (Column("a", 10, grow=1), Column("cost", 6, optional=True), Column("age", 4))
    rows = [
        Row("h", (span("Done"),), heading=True),
        Row("1", (span("x"), (), span("3m"))),
        Row("2", (span("y"), (), ())),
    ]
    empty = empty_columns(columns, rows)
    assert empty == {1}, "only what may go, goes"
    assert fit_columns(columns, 40, empty) == (34, 0, 4)
    assert empty_columns(columns, [*rows, Row("3", ((), span("$1"), ()))]) == frozenset()


@given(st.integers(min_value=4, max_value=300))
def test_columns_fill_the_width_exactly(width: int) -> None:
    widths = [found for found in fit_columns(COLUMNS, width) if found]
    assert sum(widths) + 2 * (len(widths) - 1) == width


TEXT = st.text(st.sampled_from("ab 漢字é🙂-"), max_size=40)
SPANS = st.lists(st.builds(Span, TEXT), max_size=5).map(tuple)


@given(SPANS, st.integers(min_value=1, max_value=60), st.booleans())
def test_a_cell_is_as_wide_as_its_column(spans: tuple[Span, ...], width: int, right: bool) -> None:
    assert width_of(fit_spans(spans, width, right=right)) == width


@given(SPANS, st.integers(min_value=2, max_value=60))
def test_cutting_marks_the_loss(spans: tuple[Span, ...], width: int) -> None:
    shorter = cut_spans(spans, width)
    assert width_of(shorter) <= width
    assert shorter == spans or plain_text(shorter).endswith("…")


@given(st.text("ab é漢 🙂", max_size=60), st.integers(1, 40))
def test_a_cell_that_is_cut_in_the_middle_keeps_both_ends(text: str, width: int) -> None:
    found = plain_text(cut_middle((Span(text),), width))
    assert cell_len(found) <= max(width, cell_len(text))
    if cell_len(text) > width >= 8:
        assert cell_len(found) <= width
        head, _, tail = found.partition("…")
        assert text.startswith(head.rstrip())
        assert text.endswith(tail)
        assert cell_len(tail) >= width // 2 - 1


def test_only_the_last_piece_of_a_cell_is_cut_in_the_middle() -> None:
    cell = (Span("✓ "), Span("fetch"), Span(" http://example.com/17"))
    assert plain_text(cut_middle(cell, 20)) == "✓ fetch http:…com/17"
    assert cut_middle(cell, 12) == cell
    assert cut_middle((), 12) == ()


def test_before_a_muted_last_piece_a_cell_is_cut_so_that_this_stays() -> None:
    cell = (Span("host", "ink-muted"), Span("digest.py:swarm"), Span(" 3fk9", "ink-muted"))
    assert plain_text(cut_before(cell, 16)) == "hostdigest… 3fk9"
    assert cut_before(cell, 24) == cell
    assert cut_before(cell, 9) == cell, "too little would be left of the name"
    assert cut_before(cell[:2], 12) == cell[:2]
    assert cut_before(cell[2:], 3) == cell[2:]
    assert cut_before((), 12) == ()


@given(SPANS, st.integers(min_value=2, max_value=60))
def test_wrapping_loses_nothing_but_blanks(spans: tuple[Span, ...], width: int) -> None:
    lines = wrap_spans(spans, width)
    assert all(width_of(line) <= width for line in lines)
    assert "".join("".join(plain_text(line) for line in lines).split()) == "".join(plain_text(spans).split())


def test_wrapped_lines_keep_the_indent() -> None:
    assert [plain_text(line) for line in wrap_spans(span("  one two three"), 9)] == ["  one two", "  three"]


def test_a_line_is_set_in_columns() -> None:
    line = set_line(COLUMNS, fit_columns(COLUMNS, 40), (span("name"), span("b"), (), span("x")), margin=1)
    assert plain_text(line) == " name            b                 x     "


def test_what_the_gate_lets_through_is_measured_as_it_is_shown() -> None:
    assert width_of(fit_spans(span(sanitize_line("a\x1b[2J\u202e漢字", limit=200)), 12)) == 12


def test_wrapped_lines_hang_under_a_label_with_a_colon_and_under_an_entry_of_a_list() -> None:
    field = (Span("Error Message:"), Span(" the process that ran it ended before it came back"))
    assert [plain_text(line)[:2].isspace() for line in wrap_spans(field, 30)] == [False, True, True]
    entry = (Span("  - Attempt 1: network after 0.1s: nothing listens there"),)
    assert [plain_text(line)[:4] for line in wrap_spans(entry, 30)] == ["  - ", "    ", "    "]


def test_wrapped_lines_stand_below_what_follows_a_label() -> None:
    line = (Span("why  "), Span("one two three"))
    assert [plain_text(found) for found in wrap_spans(line, 14)] == ["why  one two ", "     three"]
