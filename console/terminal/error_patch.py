"""Patch of Textual: an error in one screen does not end the app.

Textual 8.2.8 ends the app, with a traceback on the terminal, when a handler, an action, a timer or the painting of a
widget raises (`textual/message_pump.py`, `_process_messages_loop`; `textual/app.py`, `_handle_exception`). It has no
public place to decide otherwise. Its style sheets are one: where that of a new screen cannot be parsed, every screen
loses its styles (`textual/app.py`, `_load_screen_css`).
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from textual._context import active_message_pump
from textual.app import App
from textual.dom import DOMNode, NoScreen
from textual.message import Message
from textual.screen import Screen


@runtime_checkable
class HandlesFailure(Protocol):
    """A screen that says what becomes of an error of its handlers."""

    def handler_failed(self, error: Exception) -> bool:
        """Whether the screen stands in spite of `error`; False: it is raised, and the app decides."""


def guard_handlers(screen: Screen[Any]) -> None:
    """From now on what a handler of `screen` raises goes to its `handler_failed`. More than once does no harm."""
    if not isinstance(screen, HandlesFailure) or "_dispatch_message" in vars(screen):
        return
    dispatch, failed = screen._dispatch_message, screen.handler_failed

    async def guarded(message: Message) -> None:
        try:
            await dispatch(message)
        except Exception as exc:
            if not failed(exc):
                raise

    screen._dispatch_message = guarded  # type: ignore[method-assign]


def read_screen_styles(app: App[Any], screen: Screen[Any]) -> None:
    """Read a screen's style sheet before anything is changed for it: with a wrong one all the others would have none.

    Raises:
        Exception: as Textual does for a sheet that cannot be read.
    """
    before = app.stylesheet.source.copy()
    try:
        app._load_screen_css(screen)
    except Exception:
        app.stylesheet.source = before  # what was parsed of it stands
        raise


def screen_at_work(app: App[Any]) -> Screen[Any] | None:
    """The screen whose code runs now, or that of one of its widgets; None for code of the app itself."""
    pump = active_message_pump.get(None)
    try:
        return pump.screen if isinstance(pump, DOMNode) and pump is not app else None
    except NoScreen:
        return None


def is_ending(app: App[Any]) -> bool:
    """Whether the app is closing, or was never started."""
    return app._closing or not app.is_running


def end_app(app: App[Any], error: Exception) -> None:
    """End an app as Textual does for an error that no handler took, without the traceback on the terminal."""
    app._return_code = 1
    if app._exception is None:
        app._exception = error
        app._exception_event.set()
    app._close_messages_no_wait()
