"""The mouse on each kind of list, page and choice: a click moves, one on the mark opens, the wheel scrolls."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from console.terminal.stylesheet_patch import ParsedOnceStylesheet
from runtime.judgement.forms.fields import UNSET, FormField
from screens.render.layout import LINK_INK, Span, span
from screens.shell.context import ConsoleContext
from screens.views.decisions.choices import ChoiceOffer
from screens.widgets.choice_list import ChoiceList
from screens.widgets.forms.entries import SwitchEntry
from screens.widgets.line_list import LineList
from screens.widgets.line_view import LineView
from screens.widgets.node_tree import NodeTree
from screens.widgets.row_list import RowList
from screens.widgets.text_page import TextPage
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import digest
from tests.screens.waiting import until
from tests.screens.widgets.test_live_widgets import COLUMNS, Branchy, rows
from themes.builtin_themes import builtin_themes


class Stage(App[None]):
    """A field that has the focus, and a widget below it. Keeps what the widget says."""

    CSS = "Screen > * { height: 1fr; } Input { height: 1; border: none; }"

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.stylesheet = ParsedOnceStylesheet(variables=self.stylesheet._variables)
        self.register_theme(builtin_themes()[0])
        self.theme = "orbiter-dark"
        self.widget = widget
        self.said: list[Message] = []

    def compose(self) -> ComposeResult:
        yield Input()
        yield self.widget

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        self.said.append(message)

    def on_text_page_followed(self, message: TextPage.Followed) -> None:
        self.said.append(message)

    def on_choice_list_sent(self, message: ChoiceList.Sent) -> None:
        self.said.append(message)


def session() -> ConsoleContext:
    link = MemoryLink(digest())
    return ConsoleContext(link, clock=lambda: link.now)


def a_list() -> LineView:
    shown = RowList(COLUMNS)
    shown.show(rows(50))
    return shown


def a_tree() -> LineView:
    shown = NodeTree(COLUMNS)
    shown.show(Branchy({"": ["r0"], "r0": [f"r{number}" for number in range(1, 50)]}))
    return shown


@pytest.mark.parametrize("made", [a_list, a_tree])
async def test_a_click_moves_and_one_on_the_mark_opens_but_not_the_one_that_brings_the_focus(
    made: Callable[[], LineView],
) -> None:
    shown = made()
    assert isinstance(shown, LineList)
    app = Stage(shown)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.click(shown, offset=(12, 0))
        assert shown.has_focus
        assert (shown.cursor_key, app.said) == ("r0", [])
        await pilot.click(shown, offset=(12, 3))
        assert (shown.cursor_key, app.said) == ("r3", [])
        await pilot.click(shown, offset=(12, 3))
        (chosen,) = app.said
        assert isinstance(chosen, LineList.Chosen)
        assert chosen.key == "r3"


@pytest.mark.parametrize("made", [a_list, a_tree])
async def test_the_wheel_scrolls_and_a_click_then_means_what_it_points_at(made: Callable[[], LineView]) -> None:
    shown = made()
    assert isinstance(shown, LineList)
    async with Stage(shown).run_test(size=(40, 12)) as pilot:
        await pilot._post_mouse_events([events.MouseScrollDown], widget=shown, offset=(3, 2))
        await until(pilot, lambda: shown.scroll_offset.y > 0)
        assert shown.cursor_key == "r0", "the wheel looks around"
        top = shown.scroll_offset.y
        await pilot.click(shown, offset=(12, 2))
        assert shown.cursor_key == f"r{top + 2}"
        await pilot._post_mouse_events([events.MouseScrollUp], widget=shown, offset=(3, 2))
        await until(pilot, lambda: shown.scroll_offset.y < top)


async def test_a_click_on_a_reference_follows_it_and_the_wheel_scrolls_a_page() -> None:
    shown = TextPage(links=True)
    app = Stage(shown)
    async with app.run_test(size=(40, 12)) as pilot:
        shown.show([(Span("see "), Span("[#4]", LINK_INK), Span(" and "), Span("[#7]", LINK_INK)), *[span("x")] * 50])
        await pilot.pause()
        await pilot.click(shown, offset=(2, 0))
        assert app.said == []
        await pilot.click(shown, offset=(15, 0))
        (followed,) = app.said
        assert isinstance(followed, TextPage.Followed)
        assert followed.text == "[#7]"
        await pilot._post_mouse_events([events.MouseScrollDown], widget=shown, offset=(3, 2))
        await until(pilot, lambda: shown.scroll_offset.y > 0)


async def test_one_choice_is_marked_and_then_sent_and_several_are_ticked() -> None:
    shown = ChoiceList(session())
    app = Stage(shown)
    async with app.run_test(size=(40, 12)) as pilot:
        shown.begin(ChoiceOffer(("a", "b", "c"), several=False))
        await pilot.pause()
        await pilot.click(shown, offset=(4, 1), times=2)
        assert app.said == [], "a double click marks"
        await pilot.click(shown, offset=(5, 1))
        assert app.said == [ChoiceList.Sent("b")]
        shown.begin(ChoiceOffer(("a", "b", "c"), several=True))
        for line in (0, 2, 2, 1):
            await pilot.click(shown, offset=(4, line))
        shown.action_send()
        await until(pilot, lambda: app.said[-1] == ChoiceList.Sent(["a", "b"]))


async def test_a_click_on_yes_or_no_switches() -> None:
    shown = SwitchEntry(session(), FormField(("vegan",), "boolean"), UNSET)
    async with Stage(shown).run_test(size=(60, 12)) as pilot:
        found = []
        for column in (4, 12, 24):
            await pilot.click(shown, offset=(column, 0))
            found.append(shown.filled)
        assert found == [True, False, UNSET]
