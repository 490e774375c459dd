"""Patch of Textual: a screen that is opened or comes back is laid out for its size at once, and painted once.

Textual 8.2.8 gives a screen the classes of its breakpoints only when it is told its size, after its first frame; when
it has painted a screen that is shown, it paints all of it again, twice; and a change of a screen that is covered by an
opaque one has that one painted whole (`textual/screen.py`, `_on_resize`, `_on_screen_resume`; `textual/widget.py`,
`AwaitMount`; `textual/app.py`, `_background_screens`). One that is covered is marked to be painted, and so has the one
above it painted again; one that comes back is painted again when that one is gone (`textual/app.py`, `push_screen`,
`_prune`). So the inbox came in two layouts, one after the other, and 65 kB went to the terminal for a frame of 12. And
where the focus goes from one widget to another, which paint themselves, it paints all of the screen
(`textual/screen.py`, `focused`). A new screen gets its styles when it is registered, and all of them once more when it
is shown (`textual/screen.py`, `_on_screen_resume`).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from textual import events
from textual.app import App
from textual.screen import Screen
from textual.widget import AwaitMount, Widget


class HiddenScreen(Screen[None], inherit_css=False):
    """The lowest screen of an app that opens another one at once. It is never seen: it has no styles, no widgets and
    no picture.
    """

    def _extend_compose(self, widgets: list[Widget]) -> None:
        """Without Textual's own widgets, for toasts and tooltips."""

    def _compositor_refresh(self) -> None:
        """No picture: Textual makes one also in a batch, which drops it."""
        self._dirty_widgets.clear()


class AwaitScreen(AwaitMount):
    """Waits until a screen is mounted. Textual's then lays it out and paints it, which it does by itself."""

    def __await__(self) -> Generator[None, None, None]:
        return self._mounted().__await__()

    async def _mounted(self) -> None:
        for widget in self._widgets:
            await widget._mounted_event.wait()


def install_repaint_patch() -> None:
    """From now on a screen is painted once when it is shown. More than once does no harm."""
    Screen._on_screen_resume = _on_screen_resume  # type: ignore[method-assign, assignment]
    vars(Screen)["focused"]._repaint = False


def prepare_screen(app: App[Any], screen: Screen[Any]) -> None:
    """Give a screen that is to be opened the classes of its breakpoints, and note that its styles will be those of now.
    For an app that has read its style sheet.
    """
    if screen.is_running:  # it has them, and is told of another size
        return
    width, height = app.size
    classes = screen._get_breakpoint_classes(width, screen.HORIZONTAL_BREAKPOINTS or [])
    classes |= screen._get_breakpoint_classes(height, screen.VERTICAL_BREAKPOINTS or [])
    screen.update_classes(dict.fromkeys(classes, True), update=False)
    screen._css_update_count = app._css_update_count


def forget_repaint(screen: Screen[Any]) -> None:
    """Textual marks a screen that is about to be covered to be painted: what of it can still be seen is in the first
    frame of the one above.
    """
    screen._repaint_required = False
    screen._exchange_repaint_regions()


def is_opaque(screen: Screen[Any]) -> bool:
    """Whether nothing of the screens below can be seen."""
    return screen.styles.background.a == 1


def _on_screen_resume(screen: Screen[Any], event: events.ScreenResume) -> None:
    """Textual's, but that what `_refresh_layout` has painted is not marked to be painted."""
    app = screen.app
    if app.SUSPENDED_SCREEN_CLASS:
        screen.remove_class(app.SUSPENDED_SCREEN_CLASS)
    screen.stack_updates += 1
    app._refresh_notifications()
    screen._update_auto_focus()
    if not screen.is_attached:
        return
    has_styles = screen.stack_updates == 1 and screen._css_update_count == app._css_update_count
    if event.refresh_styles and not has_styles:
        screen.update_node_styles(animate=False)
    laid_out = screen._size != app.size
    if laid_out:
        screen._refresh_layout(app.size)
    if laid_out and screen.is_current and not app._batch_count:  # in a batch what is painted is dropped
        screen._layout_required = screen._repaint_required = False
        screen._dirty_widgets.clear()
        for widget in screen._compositor.visible_widgets:
            widget._exchange_repaint_regions()
    else:
        screen.refresh()
