"""Patch of Textual: widgets of closed screens do not live as long as the app.

Textual 8.2.8 keeps each widget that watches a value of the app until that value changes (`textual/reactive.py`,
`_watch`). A text area watches the theme, so that each one holds its whole screen: a console that is open for days would
keep every run that was looked at.
"""

from __future__ import annotations

from typing import Any

from textual.app import App


def forget_closed_watchers(app: App[Any]) -> None:
    """Drop the watchers of widgets that are on no screen any more."""
    for watchers in getattr(app, "__watchers", {}).values():
        watchers[:] = [(node, call) for node, call in watchers if not node._closing]
