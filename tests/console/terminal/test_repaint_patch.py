"""A screen that is opened is laid out for its size at once and painted once, and none that is covered is painted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from textual._compositor import ChopsUpdate, Compositor, LayoutUpdate
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Static
from textual.widgets._toast import ToastRack

from console.terminal.patched_app import PatchedApp
from console.terminal.repaint_patch import HiddenScreen, install_repaint_patch


class Opened(Screen[None]):
    CSS = """
    Opened { background: black; }
    Opened Static { width: 10; }
    Opened.-wide.-high Static { width: 50; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-wide")]  # noqa: RUF012 - Textual's own
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]  # noqa: RUF012

    def compose(self) -> ComposeResult:
        yield Static("text")


class Fields(Screen[None]):
    def compose(self) -> ComposeResult:
        yield Static("text")
        yield Input(id="one")
        yield Input(id="two")


class Above(ModalScreen[None]):
    CSS = "Above { background: black 50%; }"


class Dialog(Above):
    CSS = "Dialog Static { width: 20; }"

    def compose(self) -> ComposeResult:
        yield Static("text")


@pytest.fixture
def painted() -> Iterator[list[Size]]:
    """Of each whole frame that was painted, the size of the text in it."""
    found: list[Size] = []
    with pytest.MonkeyPatch.context() as patch:
        real = Compositor.render_full_update

        def counted(self: Compositor, simplify: bool = False) -> LayoutUpdate | ChopsUpdate:
            found.extend(widget.size for widget in self.visible_widgets if type(widget) is Static)
            return real(self, simplify)

        patch.setattr(Compositor, "render_full_update", counted)
        yield found


async def test_a_screen_that_is_opened_is_painted_once_and_in_its_layout(painted: list[Size]) -> None:
    async with PatchedApp().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(Opened())
        await pilot.pause()
        await pilot.pause()
        assert painted == [Size(50, 1)]


async def test_a_screen_that_was_covered_is_painted_when_it_comes_back(painted: list[Size]) -> None:
    async with PatchedApp().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(Opened())
        await pilot.app.push_screen(Opened())
        await pilot.pause()
        painted.clear()
        pilot.app.pop_screen()
        await pilot.pause()
        assert set(painted) == {Size(50, 1)}


async def test_a_dialog_is_painted_once_when_it_opens_and_the_screen_below_it_once_when_it_closes(
    painted: list[Size],
) -> None:
    async with PatchedApp().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(Opened())
        await pilot.pause()
        await pilot.pause()
        painted.clear()
        await pilot.app.push_screen(Dialog())
        await pilot.pause()
        await pilot.pause()
        assert painted == [Size(20, 1)]
        painted.clear()
        await pilot.app.pop_screen()
        await pilot.pause()
        await pilot.pause()
        assert painted == [Size(50, 1)]


async def test_the_focus_goes_to_another_widget_without_a_whole_frame(painted: list[Size]) -> None:
    async with PatchedApp().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(Fields())
        await pilot.pause()
        await pilot.pause()
        painted.clear()
        await pilot.press("tab")
        await pilot.pause()
        assert isinstance(pilot.app.focused, Input)
        assert pilot.app.focused.id == "two"
        assert painted == []


async def test_a_screen_gets_its_styles_once_when_it_opens_and_again_when_it_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    restyled: list[Screen[None]] = []
    monkeypatch.setattr(Opened, "update_node_styles", lambda screen, **_how: restyled.append(screen))
    async with PatchedApp().run_test(size=(80, 24)) as pilot:
        first = Opened()
        pilot.app.install_screen(first, "first")
        await pilot.app.push_screen(first)
        await pilot.pause()
        assert restyled == []
        assert first.query_one(Static).size == Size(50, 1)
        await pilot.app.switch_screen(Fields())
        await pilot.app.switch_screen("first")
        await pilot.pause()
        assert restyled == [first]


async def test_a_sheet_that_is_read_after_its_screen_was_made_counts() -> None:
    """So Textual's own apps do."""

    class Late(Screen[None]):
        CSS = "Late { align: center middle; }"

    install_repaint_patch()
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(Late())
        await pilot.pause()
        assert pilot.app.screen.styles.align == ("center", "middle")


async def test_a_hidden_screen_has_no_picture_and_the_one_above_it_has(painted: list[Size]) -> None:
    class Hiding(PatchedApp):
        def get_default_screen(self) -> Screen[None]:
            return HiddenScreen()

    async with Hiding().run_test(size=(80, 24), notifications=True) as pilot:
        assert not pilot.app.screen.children
        await pilot.app.push_screen(Opened())
        await pilot.pause()
        await pilot.pause()
        assert painted == [Size(50, 1)]
        assert pilot.app.screen.query(ToastRack)


async def test_a_terminal_of_another_size_has_the_other_layout() -> None:
    async with PatchedApp().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(Opened())
        await pilot.resize_terminal(50, 24)
        await pilot.pause()
        assert pilot.app.screen.query_one(Static).size == Size(10, 1)


async def test_only_what_can_be_seen_through_the_screen_that_is_shown_is_in_the_background() -> None:
    async with PatchedApp().run_test() as pilot:
        opened = Opened()
        await pilot.app.push_screen(opened)
        assert pilot.app._background_screens == []
        await pilot.app.push_screen(Above())
        assert pilot.app._background_screens == [opened]
