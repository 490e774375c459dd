"""Messages of the app itself: a line on the screen that is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App

ShowMessage = Callable[[str, str], None]
"""Shows a text with a severity: `info`, `warning` or `error`."""


def show_message(app: App[Any], text: str, severity: str) -> None:
    """Show a line on the topmost screen that has one for messages; without such a screen nothing is shown."""
    from screens.base.runtime_screen import RuntimeScreen

    for screen in reversed(app.screen_stack):
        if isinstance(screen, RuntimeScreen):
            screen.show_message(text, severity)
            return
