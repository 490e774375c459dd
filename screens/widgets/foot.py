"""The last line of a screen: the keys that work now. Textual's own footer keeps every key it ever showed in memory."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from screens.keynames import UNBOUND
from screens.layout import Span, Spans, joined
from screens.widgets.bar import Bar

_EVERYWHERE = ("app.next_decision", "app.revive", "app.up", "app.palette", "app.help", "app.quit")
"""Keys that every screen has, in the order in which they stand at the end of the line."""
_WAYS_ON = 3
"""How many of them stand on the right, where nothing is cut: they lead to all the others, and out."""


class Foot(Bar):
    """Shows the bindings that are meant to be shown, of the screen and of whatever has the focus in it."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._update)
        self._update(self.screen)

    def _update(self, screen: Screen[Any]) -> None:
        if screen is self.screen and self.is_attached:
            self.show(*key_hints(screen))


def key_hints(screen: Screen[Any]) -> tuple[Spans, Spans]:
    """`enter open  n next …`, and on the right `: commands  ? help  q quit`: each action once, with one of its keys;
    what works everywhere comes last.
    """
    hints: dict[str, tuple[int, Spans]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.show and active.enabled and binding.key != UNBOUND and binding.action not in hints:
            key = screen.app.get_key_display(binding)
            hint = (Span(key, "ink-key"), Span(f" {binding.description.lower()}", "ink-muted"))
            place = _EVERYWHERE.index(binding.id) + 1 if binding.id in _EVERYWHERE else 0
            hints[binding.action] = (place, hint)
    here_first = sorted(hints.values(), key=lambda found: found[0])
    from_right = len(_EVERYWHERE) - _WAYS_ON
    left = joined((hint for place, hint in here_first if place <= from_right), "   ")
    return left, joined((hint for place, hint in here_first if place > from_right), "   ")
