"""Lists: what a filter leaves out, in which order the rest stands, what is selected, folded and new."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.layout import (
    Column,
    Row,
    plain_text,
    span,
)
from screens.views.shared.list_state import (
    FRESH_S,
    ListState,
    StableOrder,
    selected_rows,
)
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter, filter_rows
from screens.views.shared.row_sort import RowSort, header_line, sorted_rows
from tests.screens.stories import START

COLUMNS = (Column("name", 8, grow=1), Column("size", 6, right=True), Column("", 2))
WORDS = ("ada", "Bob", "cy", "ada lovelace", "dig.est", "", "42", "9")


def row(key: str, name: str = "", size: float | None = None, **more: object) -> Row:
    cells = (span(name or key), span("" if size is None else str(size)), ())
    return Row(key, cells, values=(name or key, size, None), **more)  # type: ignore[arg-type]


def heading(key: str) -> Row:
    return Row(key, (span(key),), heading=True)


def keys(rows: Sequence[Row]) -> list[str]:
    return [each.key for each in rows]


@st.composite
def lists(draw: st.DrawFn) -> list[Row]:
    """Headings, rows, and rows that others are under."""
    rows: list[Row] = []
    for number, kind in enumerate(draw(st.lists(st.sampled_from(["heading", "row", "above"]), max_size=12))):
        name = draw(st.sampled_from(WORDS))
        size = draw(st.none() | st.integers(0, 5))
        if kind == "heading":
            rows.append(heading(f"h{number}"))
        elif kind == "row":
            rows.append(row(f"r{number}", name, size, fault=draw(st.booleans())))
        else:
            rows.append(row(f"a{number}", name, size, fold=draw(st.booleans())))
            count = draw(st.integers(1, 3))
            rows += [
                row(f"a{number}.{at}", draw(st.sampled_from(WORDS)), draw(st.integers(0, 5)), under=f"a{number}")
                for at in range(count)
            ]
    return rows


def is_subsequence(some: Sequence[str], of: Sequence[str]) -> bool:
    left = iter(of)
    return all(key in left for key in some)


# -- the filter ------------------------------------------------------------------------------------------------


@given(lists(), st.text(max_size=6) | st.sampled_from(["ada", "!ada", "a.a", "^4", "[", "!(", "lovelace ada", "\\"]))
def test_a_filter_never_raises_keeps_the_order_and_leaves_no_heading_alone(rows: list[Row], text: str) -> None:
    kept = filter_rows(rows, text)
    if not RowFilter(text).active:
        assert kept == rows
        return
    assert is_subsequence(keys(kept), keys(rows))
    for at, each in enumerate(kept):
        if each.heading:
            following = kept[at + 1 :]
            assert following, "a heading has something below it"
        if each.under:
            assert each.under in keys(kept)
        if each.fold is not None:
            assert any(other.under == each.key for other in kept)


@given(lists(), st.sampled_from(["ada", "bob|cy", "4", "ada love"]))
def test_inverse_is_the_rest(rows: list[Row], text: str) -> None:
    def things(found: list[Row]) -> set[str]:
        return {each.key for each in found if not each.heading and each.fold is None}

    assert things(filter_rows(rows, text)) | things(filter_rows(rows, f"!{text}")) == things(rows)
    assert not things(filter_rows(rows, text)) & things(filter_rows(rows, f"!{text}"))


@pytest.mark.parametrize(
    ("text", "line", "means"),
    [
        ("fetch denied", "permission denied · fetch_page", True),
        ("fetch granted", "permission denied · fetch_page", False),
        ("a.py", "apy", False),
        ("a.py b", "b of a.py", True),
        ("a.*e", "abcde", True),
        ("Fetch", "fetch", False),
        ("fetch", "FETCH", True),
        ("!fetch$", "fetch it", True),
        ("!", "anything", True),
        ("   ", "anything", True),
    ],
)
def test_words_stand_in_any_order_and_signs_make_an_expression(text: str, line: str, means: bool) -> None:
    assert RowFilter(text).matches(line) is means


@pytest.mark.parametrize("text", ["[", "!(", "a{2,1}", "*", "(?P<a>)(?P<a>)", "a{99999999999}"])
def test_what_is_no_expression_is_said_and_leaves_nothing_out(text: str) -> None:
    found = RowFilter(text)
    assert found.problem.startswith("not a valid regular expression: ")
    assert not found.active
    assert found.matches("anything")


def test_rows_are_found_by_what_they_are_under() -> None:
    rows = [row("swarm:digest", fold=False), row("run:1", "one", under="swarm:digest"), row("run:2", "two")]
    assert keys(filter_rows(rows, "digest")) == ["swarm:digest", "run:1"]
    assert keys(filter_rows(rows, "!digest")) == ["run:2"]


# -- the order -------------------------------------------------------------------------------------------------


@given(lists(), st.sampled_from(["", "name", "size", "nothing"]), st.booleans())
def test_sorting_loses_nothing_and_is_done_within_groups(rows: list[Row], column: str, reverse: bool) -> None:
    found = sorted_rows(rows, COLUMNS, RowSort(column, reverse))
    assert sorted(keys(found)) == sorted(keys(rows))
    assert sorted_rows(found, COLUMNS, RowSort(column)) == sorted_rows(found, COLUMNS, RowSort(column))
    places = [at for at, each in enumerate(rows) if each.heading]
    assert [each.key for each in found if each.heading] == [rows[at].key for at in places]
    for each in rows:
        if each.heading:
            before = {one.key for one in rows[: rows.index(each)]}
            assert {one.key for one in found[: found.index(each)]} == before
        if each.under:
            at = keys(found).index(each.key)
            above = next(one for one in reversed(found[:at]) if not one.under)
            assert above.key == each.under


def test_rows_without_a_value_come_last_either_way_and_numbers_are_no_words() -> None:
    rows = [row("a", size=10), row("b"), row("c", size=9), row("d", size=10)]
    assert keys(sorted_rows(rows, COLUMNS, RowSort("size"))) == ["c", "a", "d", "b"]
    assert keys(sorted_rows(rows, COLUMNS, RowSort("size", reverse=True))) == ["a", "d", "c", "b"]


def test_o_goes_through_the_columns_and_back_to_the_lists_own_order() -> None:
    sort = RowSort()
    seen = []
    for _ in range(3):
        sort = sort.by_next_column(COLUMNS)
        seen.append(sort.column)
    assert seen == ["name", "size", ""]


def test_the_line_of_names_marks_the_column_that_the_list_is_sorted_by() -> None:
    assert plain_text(header_line(COLUMNS, 30, RowSort("size"), UNICODE_GLYPHS)).split() == ["name", "size↑"]
    assert plain_text(header_line(COLUMNS, 30, RowSort("name", reverse=True), ASCII_GLYPHS)).split() == [
        "namev",
        "size",
    ]


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), min_size=1, max_size=30),
    st.booleans(),
)
def test_rows_keep_their_places_while_only_what_they_say_changes(steps: list[tuple[int, int]], reverse: bool) -> None:
    listing = ListState(COLUMNS, sort=RowSort("size", reverse))
    sizes = {f"r{at}": float(at) for at in range(7)}
    before = keys(listing.rows([row(key, size=size) for key, size in sizes.items()]))
    for at, size in steps:
        sizes[f"r{at}"] = float(size)
        assert keys(listing.rows([row(key, size=value) for key, value in sizes.items()])) == before
    sizes["new"] = 3.5
    found = listing.rows([row(key, size=value) for key, value in sizes.items()])
    values = [each.values[1] for each in found]
    assert values == sorted(values, reverse=reverse), "with a row that came, the order is worked out again"


@given(st.lists(st.sets(st.sampled_from("abcdef")), max_size=12), st.randoms())
def test_an_order_is_asked_for_only_when_something_came_or_went(sets: list[set[str]], random: object) -> None:
    order, asked, before = StableOrder(), 0, None
    for found in sets:

        def ranked(found: set[str] = found) -> list[str]:
            nonlocal asked
            asked += 1
            mixed = sorted(found)
            random.shuffle(mixed)  # type: ignore[attr-defined]
            return mixed

        had = asked
        assert set(order.order(found, ranked)) == found
        assert asked == had + (before is None or found != before)
        before = found


def test_an_order_can_be_asked_for_anew() -> None:
    order = StableOrder()
    assert order.order(["a", "b"], lambda: ["a", "b"]) == ["a", "b"]
    assert order.order(["a", "b"], lambda: ["b", "a"]) == ["a", "b"]
    order.renew()
    assert order.order(["a", "b"], lambda: ["b", "a"]) == ["b", "a"]


# -- selection, folds, what is new ------------------------------------------------------------------------------


def test_what_is_gone_is_not_selected_any_more_and_what_is_left_out_is() -> None:
    listing = ListState(COLUMNS)
    listing.rows([row("a"), row("b"), row("c")])
    listing.select_shown()
    listing.narrow("a")
    listing.rows([row("a"), row("b")])
    assert listing.selected == {"a", "b"}
    assert selected_rows(listing, "z") == ("a", "b")
    listing.select_shown()
    assert listing.selected == set(), "all that is shown was selected already"
    assert selected_rows(listing, "z") == ("z",)
    assert selected_rows(listing, "") == ()


def test_what_is_taken_back_first_is_the_selection_then_the_filter() -> None:
    listing = ListState(COLUMNS)
    listing.rows([row("a"), row("b", fault=True)])
    listing.toggle("a")
    listing.narrow("a")
    listing.faults_only = True
    assert listing.widen()
    assert (listing.selected, listing.filter.text) == (set(), "a")
    assert listing.widen()
    assert (listing.filter.text, listing.faults_only) == ("", False)
    assert not listing.widen()
    assert listing.last_filter == "a"


def test_the_line_says_what_is_left_out_and_what_is_wrong() -> None:
    context = RenderContext(START)
    listing = ListState(COLUMNS)
    rows = [row("a", fault=True), row("b"), row("c")]
    assert listing.words(context) == ()
    listing.narrow("!b")
    listing.rows(rows)
    assert plain_text(listing.words(context)) == "/!b · 1 left out"
    listing.toggle("a")
    listing.faults_only = True
    listing.rows(rows)
    assert plain_text(listing.words(context)) == "/!b · faults only · 2 left out · 1 selected"
    listing.narrow("(")
    listing.faults_only = False
    listing.rows(rows)
    assert "not a valid regular expression: missing )" in plain_text(listing.words(context))


def test_folded_rows_hide_what_is_under_them_and_are_counted_no_less() -> None:
    listing = ListState(COLUMNS)
    rows = [row("g", fold=True), row("a", under="g"), row("b", under="g"), row("c")]
    assert keys(listing.rows(rows)) == ["g", "c"]
    listing.fold("g", folded=False)
    found = listing.rows(rows)
    assert keys(found) == ["g", "a", "b", "c"]
    assert found[0].fold is False
    assert listing.shown == ("a", "b", "c"), "a row that stands for several is not one of them"
    assert listing.left_out == 0


def test_a_row_that_came_is_marked_for_a_while() -> None:
    listing = ListState(COLUMNS)
    assert listing.fresh([row("a")], START) == set()
    assert listing.fresh([row("a"), row("b"), heading("h")], START) == {"b"}
    assert listing.fresh([row("a"), row("b")], START + FRESH_S / 2) == {"b"}
    assert listing.fresh([row("a"), row("b")], START + FRESH_S) == set()
    listing.fresh([row("a")], START + timedelta(hours=1))
    assert listing.fresh([row("a"), row("b")], START + timedelta(hours=1)) == {"b"}, "it went and came again"


def test_while_more_are_to_come_keys_stand_as_they_came_and_are_ranked_once_all_are_there() -> None:
    order = StableOrder()
    assert order.order(["c", "a"], lambda: ["?"], partial=True) == ["c", "a"]
    assert order.order(["a", "d", "c", "b"], lambda: ["?"], partial=True) == ["c", "a", "d", "b"]
    assert order.order(["a", "d", "b"], lambda: ["?"], partial=True) == ["a", "d", "b"]
    assert order.order(["a", "d", "b"], lambda: ["a", "b", "d"]) == ["a", "b", "d"]
    assert order.order(["a", "d", "b", "e"], lambda: ["?"], partial=True) == ["a", "b", "d", "e"], "of another host"
