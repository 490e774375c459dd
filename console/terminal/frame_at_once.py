"""What a key changed of a widget is painted at once.

Textual 8.2.8 paints a widget three turns of the event loop after its change, with the work of other tasks between them,
and up to a sixtieth of a second later where something else was painted just before (`textual/screen.py`,
`_on_timer_update`). That is right for what changes by itself, and slow for a cursor.
"""

from __future__ import annotations

from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import UPDATE_PERIOD, Screen
from textual.widget import Widget


class FrameAtOnce:
    """Paints after a key, as often as Textual paints at the most."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._free_at = 0.0

    def paint(self, node: MessagePump, now: float) -> None:
        """Paint `node` if that is all that has to be done for it, and its screen has nothing else to paint."""
        app = self._app
        if now < self._free_at or app._batch_count or not isinstance(node, Widget) or not _only_repaint(node):
            return
        screen = node.screen
        if screen is not app.screen or not _is_settled(screen) or node not in screen._compositor:
            return
        self._free_at = now + UPDATE_PERIOD
        node._repaint_required = False
        screen._dirty_widgets.add(node)
        with screen._context():
            try:
                screen._on_timer_update()
            except Exception as error:
                app._handle_exception(error)


def _only_repaint(widget: Widget) -> bool:
    others = widget._layout_required or widget._scroll_required or widget._refresh_styles_required
    return widget._repaint_required and not others and widget.is_attached and widget.display


def _is_settled(screen: Screen[object]) -> bool:
    """Whether a frame would not lay it out, nor paint all of it."""
    return not (
        screen._layout_required or screen._scroll_required or screen._repaint_required or screen._recompose_required
    )
