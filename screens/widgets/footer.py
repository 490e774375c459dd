"""The last line of a screen: the keys that work now. Textual's own footer keeps every key it ever showed in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from textual.binding import Binding
from textual.screen import Screen

from screens.render.key_names import UNBOUND, key_in_words
from screens.render.layout import (
    GAP_CELLS,
    Span,
    Spans,
    join_spans,
    width_of,
)
from screens.widgets.bar import MARGIN_CELLS, Bar

_ALSO_QUITS = "ctrl+c"
"""Named where no other key of its action works: fields copy with it, and one key should quit everywhere."""
_EVERYWHERE = ("app.next_decision", "app.revive", "app.up", "app.palette", "app.help", "app.quit")
"""Keys that every screen has, in the order in which they stand at the end of the line."""
_ALWAYS_SHOWN = 3
"""How many of them stand on the right, where nothing is cut: they lead to all the others, and out."""
_SEPARATOR = "   "


@runtime_checkable
class HintingScreen(Protocol):
    """A screen that knows which of its keys are of use now."""

    def is_hinted(self, binding: Binding) -> bool:
        """Whether a key that works is worth a place on the last line now."""
        ...


def hint_rule(screen: Screen[Any]) -> Callable[[Binding], bool]:
    """Which keys the last line of a screen names now: as the screen says, else as the binding says."""
    return screen.is_hinted if isinstance(screen, HintingScreen) else lambda binding: binding.show


class KeyFooter(Bar):
    """Shows the bindings that are meant to be shown, of the screen and of whatever has the focus in it: as many as
    there is room for, and the ways on in any case.
    """

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._update)
        self.show_when_painted(self._hints)

    def on_resize(self) -> None:
        self._update(self.screen)

    def _update(self, screen: Screen[Any]) -> None:
        if screen is self.screen and self.is_attached and self.size:
            self.show(*self._hints())

    def _hints(self) -> tuple[Spans, Spans]:
        hints, always_from = key_hints(self.screen)
        right = join_spans(always_from, _SEPARATOR)
        room = self.size.width - width_of(right) - MARGIN_CELLS - GAP_CELLS
        fitting = [hints[:count] for count in range(len(hints), 0, -1) if _width(hints[:count]) <= room]
        return join_spans(fitting[0] if fitting else hints, _SEPARATOR), right


def key_hints(screen: Screen[Any]) -> tuple[list[Spans], list[Spans]]:
    """`enter open`, `n next`, …, and by themselves `: commands`, `? help`, `q quit`: each action once, with one of its
    keys; what works everywhere comes last.
    """
    hints: dict[str, tuple[int, Spans]] = {}
    is_hinted = hint_rule(screen)
    for active in sorted(screen.active_bindings.values(), key=lambda each: each.binding.key == _ALSO_QUITS):
        binding = active.binding
        if active.enabled and binding.key != UNBOUND and binding.action not in hints and is_hinted(binding):
            key = _key_that_works(screen, binding)
            hint = (Span(key, "ink-key"), Span(f" {binding.description.lower()}", "ink-muted"))
            place = _EVERYWHERE.index(binding.id) + 1 if binding.id in _EVERYWHERE else 0
            hints[binding.action] = (place, hint)
    here_first = sorted(hints.values(), key=lambda found: found[0])
    always_from = len(_EVERYWHERE) - _ALWAYS_SHOWN
    here = [hint for at, hint in here_first if at <= always_from]
    return here, [hint for at, hint in here_first if at > always_from]


def _key_that_works(screen: Screen[Any], binding: Binding) -> str:
    """The key of a binding in words: while a text is typed a character is part of it, and what works is another."""
    shown = screen.app.get_key_display(binding)
    typed = len(shown) == 1 and screen.focused is not None and screen.focused.check_consume_key(shown, shown)
    return key_in_words(binding.key) if typed else shown


def _width(hints: list[Spans]) -> int:
    return width_of(join_spans(hints, _SEPARATOR))
