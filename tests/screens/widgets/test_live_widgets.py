"""List, tree and page on the line API: what they repaint, what they keep, what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from console.terminal.stylesheet_patch import ParsedOnceStylesheet
from screens.render.glyphs import ASCII_GLYPHS
from screens.render.layout import (
    Column,
    Row,
    Spans,
    span,
)
from screens.widgets.line_list import LineList
from screens.widgets.node_tree import NodeTree
from screens.widgets.redraw_throttle import FRAME_S, SOON_S, RedrawThrottle
from screens.widgets.row_list import RowList
from screens.widgets.text_page import TextPage
from tests.screens.stepping import Owner, delays
from themes.builtin_themes import builtin_themes

COLUMNS = (Column("name", 10, grow=1), Column("state", 8))


def row(key: str, state: str = "idle", *, heading: bool = False) -> Row:
    return Row(key, (span(key), span(state)), heading=heading)


def rows(count: int, **states: str) -> list[Row]:
    return [row(f"r{n}", states.get(f"r{n}", "idle")) for n in range(count)]


@dataclass
class Branchy:
    """A tree whose shape a test changes."""

    below: dict[str, list[str]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    words: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    def roots(self) -> Sequence[str]:
        return self.below.get("", [])

    def children(self, key: str) -> Sequence[str]:
        return self.below.get(key, ())

    def parent(self, key: str) -> str:
        return next((above for above, keys in self.below.items() if key in keys), "")

    def folded_at_first(self, key: str) -> bool:
        return key in self.done

    def fresh(self, key: str) -> bool:
        return False

    def facts(self, key: str) -> str:
        self.asked += 1
        return self.words.get(key, "idle")

    def row(self, key: str, facts: object = None) -> Row:
        return row(key, self.words.get(key, "idle"))

    def shape(self) -> object:
        return (sum(map(len, self.below.values())), len(self.done))

    def changed_since(self, before: object) -> None:
        """Each line may have."""

    def added_since(self, shape: object) -> None:
        return None

    def sibling_before(self, key: str) -> str:
        raise NotImplementedError


class Stage(App[None]):
    """One widget on a screen of our theme; keeps what it says."""

    CSS = "Screen > * { height: 1fr; }"

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.stylesheet = ParsedOnceStylesheet(variables=self.stylesheet._variables)
        for theme in builtin_themes():
            self.register_theme(theme)
        self.theme = "orbiter-dark"
        self.widget = widget
        self.said: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self.widget

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        self.said.append(message)

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        self.said.append(message)

    def on_text_page_seen(self, message: TextPage.Seen) -> None:
        self.said.append(message)


def screen_text(app: App[Any]) -> list[str]:
    """What stands on the screen, line by line."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    assert len(strips) == height
    return ["".join(segment.text for segment in strip)[:width].rstrip() for strip in strips]


def watch_repaints(widget: Widget, monkeypatch: pytest.MonkeyPatch) -> list[Region]:
    found: list[Region] = []
    real = widget.refresh

    def refresh(*regions: Region, **options: Any) -> Any:
        found.extend(regions or (Region(0, 0, *widget.size),))
        return real(*regions, **options)

    monkeypatch.setattr(widget, "refresh", refresh)
    return found


# -- the list --------------------------------------------------------------------------------------------------


async def test_only_the_line_that_changed_is_painted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = RowList(COLUMNS)
    async with Stage(shown).run_test(size=(40, 10)) as pilot:
        shown.show(rows(50))
        await pilot.pause()
        painted = watch_repaints(shown, monkeypatch)
        shown.show(rows(50, r3="busy", r40="busy"))
        assert [(region.y, region.height) for region in painted] == [(3, 1)]
        await pilot.pause()
        painted.clear()
        shown.show(rows(50, r3="busy", r40="busy"))
        assert painted == [], "nothing changed, nothing is painted"
        assert "busy" in screen_text(pilot.app)[3]


async def test_ten_thousands_of_rows_cost_what_is_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = RowList(COLUMNS)
    async with Stage(shown).run_test(size=(40, 10)) as pilot:
        asked: list[int] = []
        real = shown.spans_at

        def spans_at(index: int, width: int) -> Spans:
            asked.append(index)
            return real(index, width)

        monkeypatch.setattr(shown, "spans_at", spans_at)
        shown.show(rows(50_000))
        await pilot.pause()
        shown.show(rows(50_000, r2="busy"))
        await pilot.pause()
        assert set(asked) <= set(range(10))
        await pilot.press("end")
        assert shown.cursor_key == "r49999"
        assert "r49999" in screen_text(pilot.app)[9]


async def test_a_key_and_a_change_have_each_line_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = RowList(COLUMNS)
    async with Stage(shown).run_test(size=(40, 10)) as pilot:
        shown.show(rows(10))
        shown.focus()
        await pilot.pause()
        made: list[int] = []
        real = shown.spans_at

        def spans_at(index: int, width: int) -> Spans:
            made.append(index)
            return real(index, width)

        monkeypatch.setattr(shown, "spans_at", spans_at)
        await pilot.press("down")
        await pilot.pause()
        assert made == [0, 1]
        made.clear()
        shown.show(rows(10, r3="busy"))
        await pilot.pause()
        assert made == [*range(10)]
        assert "busy" in screen_text(pilot.app)[3]


async def test_the_cursor_stays_with_its_key_and_on_its_height() -> None:
    shown = RowList(COLUMNS)
    async with Stage(shown).run_test(size=(40, 10)) as pilot:
        shown.show(rows(50))
        shown.focus()
        await pilot.press(*["down"] * 20)
        assert shown.cursor_key == "r20"
        height = next(n for n, line in enumerate(screen_text(pilot.app)) if line.startswith(" r20"))
        shown.show([row("new1"), row("new2"), *rows(50)])
        await pilot.pause()
        assert shown.cursor_key == "r20"
        assert screen_text(pilot.app)[height].startswith(" r20")


async def test_the_cursor_of_a_row_that_went_stays_where_it_was() -> None:
    shown = RowList(COLUMNS)
    async with Stage(shown).run_test(size=(40, 10)) as pilot:
        shown.show(rows(5))
        shown.focus()
        await pilot.press("down", "down")
        shown.show([found for found in rows(5) if found.key != "r2"])
        assert shown.cursor_key == "r3"
        shown.show(rows(2))
        assert shown.cursor_key == "r1"
        shown.show([])
        assert shown.cursor_key == ""
        shown.show(rows(2))
        assert shown.cursor_key == "r0"


async def test_headings_are_shown_and_passed_over() -> None:
    shown = RowList(COLUMNS)
    async with Stage(shown).run_test(size=(40, 4)) as pilot:
        shown.show([row("H", heading=True), row("a"), row("G", heading=True), row("b"), row("c"), row("d")])
        shown.focus()
        assert shown.cursor_key == "a"
        await pilot.press("j")
        assert shown.cursor_key == "b"
        await pilot.press("j", "j")
        assert screen_text(pilot.app)[0].startswith("G") or screen_text(pilot.app)[0].startswith(" G")
        await pilot.press("home")
        assert shown.cursor_key == "a"
        assert screen_text(pilot.app)[0].startswith("H")


def chosen_key(message: Message) -> str:
    assert isinstance(message, LineList.Chosen)
    return message.key


async def test_keys_and_mouse_move_and_choose() -> None:
    shown = RowList(COLUMNS)
    app = Stage(shown)
    async with app.run_test(size=(40, 10)) as pilot:
        shown.show(rows(50))
        shown.focus()
        await pilot.press("pagedown", "up", "k", "enter")
        assert chosen_key(app.said[-1]) == "r7"
        await pilot.click(shown, offset=(3, 5))
        moved = app.said[-1]
        assert isinstance(moved, LineList.Moved)
        await pilot.click(shown, offset=(3, 5))
        assert chosen_key(app.said[-1]) == moved.key


async def test_an_empty_list_says_so() -> None:
    shown = RowList(COLUMNS, empty="Nothing waits.")
    async with Stage(shown).run_test(size=(40, 4)) as pilot:
        assert screen_text(pilot.app)[0] == " Nothing waits."
        await pilot.press("down", "enter", "pagedown", "end")


async def test_another_theme_paints_everything_anew() -> None:
    shown = RowList(COLUMNS)
    async with Stage(shown).run_test(size=(40, 4)) as pilot:
        shown.show(rows(2))
        await pilot.pause()
        dark = pilot.app.export_screenshot()
        pilot.app.theme = "orbiter-light"
        await pilot.pause()
        assert pilot.app.export_screenshot() != dark


async def test_a_narrow_list_drops_columns_and_marks_cuts() -> None:
    shown = RowList((Column("name", 10, grow=1), Column("state", 8, drop=1)), glyphs=ASCII_GLYPHS)
    async with Stage(shown).run_test(size=(12, 4)) as pilot:
        shown.show([row("a very long name")])
        await pilot.pause()
        assert screen_text(pilot.app)[0] == " a very l~"


# -- the tree --------------------------------------------------------------------------------------------------


def forest() -> Branchy:
    return Branchy({"": ["root"], "root": ["a", "b"], "a": ["a1", "a2"], "b": ["b1"]})


async def tree_stage(pilot: Pilot[None], shown: NodeTree, tree: Branchy) -> None:
    shown.show(tree)
    shown.focus()
    await pilot.pause()


async def test_a_tree_has_rails_and_folds_by_keys() -> None:
    shown = NodeTree(COLUMNS)
    async with Stage(shown).run_test(size=(40, 8)) as pilot:
        await tree_stage(pilot, shown, forest())
        assert [line.split("idle")[0].rstrip() for line in screen_text(pilot.app)[:6]] == [
            " ▾ root",
            " ├ ▾ a",
            " │ ├   a1",
            " │ └   a2",
            " └ ▾ b",
            "   └   b1",
        ]
        await pilot.press("down", "left")
        assert list(shown.keys) == ["root", "a", "b", "b1"]
        assert screen_text(pilot.app)[1].startswith(" ├ ▸ a")
        await pilot.press("right", "right")
        assert shown.cursor_key == "a1"
        await pilot.press("h")
        assert shown.cursor_key == "a"
        await pilot.press("space")
        assert list(shown.keys) == ["root", "a", "b", "b1"]


async def test_a_line_of_a_tree_is_made_again_only_if_what_it_is_made_of_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown, tree = NodeTree(COLUMNS), forest()
    async with Stage(shown).run_test(size=(40, 10)) as pilot:
        shown.show(tree)
        await pilot.pause()
        made: list[str] = []
        real = tree.row

        def made_row(key: str, facts: object = None) -> Row:
            made.append(key)
            return real(key, facts)

        monkeypatch.setattr(tree, "row", made_row)
        shown.show(tree)
        assert made == []
        key = tree.roots()[0]
        tree.words[key] = "busy"
        shown.show(tree)
        await pilot.pause()
        assert made == [key]
        assert "busy" in screen_text(pilot.app)[0]


async def test_what_is_done_folds_by_itself_unless_the_user_stands_in_it() -> None:
    shown, tree = NodeTree(COLUMNS), forest()
    async with Stage(shown).run_test(size=(40, 8)) as pilot:
        await tree_stage(pilot, shown, tree)
        shown.go_to("a1")
        tree.done = {"a", "b"}
        shown.show(tree)
        assert list(shown.keys) == ["root", "a", "a1", "a2", "b"]
        assert shown.cursor_key == "a1"


async def test_what_the_user_unfolded_stays_unfolded() -> None:
    shown, tree = NodeTree(COLUMNS), forest()
    tree.done = {"a"}
    async with Stage(shown).run_test(size=(40, 8)) as pilot:
        await tree_stage(pilot, shown, tree)
        assert list(shown.keys) == ["root", "a", "b", "b1"]
        await pilot.press("down", "right", "end")
        tree.done = {"a", "b"}
        tree.below["a"].append("a3")
        shown.show(tree)
        assert list(shown.keys) == ["root", "a", "a1", "a2", "a3", "b", "b1"]


async def test_reveal_unfolds_what_hides_a_node() -> None:
    shown, tree = NodeTree(COLUMNS), forest()
    tree.done = {"a", "b", "root"}
    async with Stage(shown).run_test(size=(40, 8)) as pilot:
        await tree_stage(pilot, shown, tree)
        assert list(shown.keys) == ["root"]
        assert shown.reveal("b1")
        assert shown.cursor_key == "b1"
        assert not shown.reveal("nobody")


async def test_a_node_that_changed_repaints_its_line_alone_and_the_outline_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown, tree = NodeTree(COLUMNS), forest()
    async with Stage(shown).run_test(size=(40, 8)) as pilot:
        await tree_stage(pilot, shown, tree)
        painted = watch_repaints(shown, monkeypatch)
        tree.words["a2"] = "busy"
        tree.asked = 0
        shown.show(tree)
        assert [(region.y, region.height) for region in painted] == [(3, 1)]
        assert tree.asked == 6


async def test_a_click_on_the_sign_folds() -> None:
    shown = NodeTree(COLUMNS)
    async with Stage(shown).run_test(size=(40, 8)) as pilot:
        await tree_stage(pilot, shown, forest())
        await pilot.click(shown, offset=(3, 1))
        assert list(shown.keys) == ["root", "a", "b", "b1"]


async def test_below_a_border_a_click_means_the_line_that_it_points_at() -> None:
    shown = NodeTree(COLUMNS)
    async with Stage(shown).run_test(size=(40, 8)) as pilot:
        shown.styles.border_top = ("solid", "red")
        await tree_stage(pilot, shown, forest())
        await pilot.click(shown, offset=(8, 3))
        assert screen_text(pilot.app)[3].split()[-2] == shown.cursor_key == shown.keys[2]
        await pilot.click(shown, offset=(8, 0))
        assert shown.cursor_key == shown.keys[2]
        await pilot.click(shown, offset=(3, 2))
        assert list(shown.keys) == ["root", "a", "b", "b1"]


# -- the page --------------------------------------------------------------------------------------------------


async def test_a_page_wraps_scrolls_and_knows_when_all_of_it_was_seen() -> None:
    page = TextPage()
    async with Stage(page).run_test(size=(20, 4)) as pilot:
        page.show([span("one two three four five six"), span("second")], "first")
        await pilot.pause()
        assert page.seen_whole
        assert screen_text(pilot.app)[:3] == [" one two three", " four five six", " second"]
        page.show([span(f"line {n}") for n in range(9)], "another")
        await pilot.pause()
        assert (page.seen_whole, page.lines_below) == (False, 5)
        page.focus()
        await pilot.press("space")
        assert page.lines_below == 2
        await pilot.press("end")
        await pilot.pause()
        assert (page.seen_whole, page.lines_below) == (True, 0)


async def test_who_is_at_the_end_of_a_page_stays_there_while_it_grows_and_nobody_else() -> None:
    page = TextPage()
    async with Stage(page).run_test(size=(20, 4)) as pilot:
        lines = [span(f"line {n}") for n in range(30)]
        page.show(lines[:9], "it", at_end=True)
        await pilot.pause()
        assert page.lines_below == 0
        page.show(lines[:15], "it")
        await pilot.pause()
        assert page.lines_below == 0
        assert page.scroll_offset.y > 0
        page.focus()
        await pilot.press("up", "up")
        page.show(lines, "it", at_end=True)
        await pilot.pause()
        assert page.lines_below == 17


async def test_a_page_that_grows_keeps_its_place_and_repaints_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    page = TextPage()
    async with Stage(page).run_test(size=(20, 4)) as pilot:
        lines = [span(f"line {n}") for n in range(9)]
        page.show(lines, "it")
        await pilot.pause()
        page.focus()
        await pilot.press("down", "down")
        painted = watch_repaints(page, monkeypatch)
        page.show([*lines[:3], span("changed"), *lines[4:], span("tail")], "it")
        assert [(region.y, region.height) for region in painted] == [(1, 1)]
        await pilot.pause()
        assert [line[:19].rstrip() for line in screen_text(pilot.app)[:2]] == [" line 2", " changed"]


# -- the throttle --------------------------------------------------------------------------------------------------


async def test_many_requests_are_one_drawing_and_slow_drawings_make_longer_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, drawn = [100.0], []
    waits = delays(monkeypatch)

    def draw() -> None:
        drawn.append(now[0])
        now[0] += cost

    throttle = RedrawThrottle(Owner(), draw, clock=lambda: now[0])  # type: ignore[arg-type]
    cost = 0.0
    for _ in range(100):
        throttle.request()
    assert [delay for delay, _ in waits] == [SOON_S]
    waits.pop()[1]()
    assert len(drawn) == 1
    throttle.request()
    assert waits[-1][0] == pytest.approx(FRAME_S)
    cost = 0.2
    now[0] += 1
    waits.pop()[1]()
    throttle.request()
    assert waits[-1][0] == pytest.approx(0.6)
