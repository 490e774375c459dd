"""The base of dialogs in which a key acts: they all wait for `ArmedKeys` (arming)."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual import events
from textual.screen import ModalScreen

from screens.render.layout import plain_text
from screens.shell.context import ConsoleContext
from screens.widgets.arming import Arming

ResultT = TypeVar("ResultT")


class ArmedScreen(ModalScreen[ResultT]):
    """A subclass names in `ACTS` the actions whose keys act, and calls `arming.ask` with what is shown."""

    ACTS: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__()
        self._session = session
        self.arming = Arming(self, session, self._armed_changed, laid_out=self.laid_out)

    def laid_out(self) -> bool:
        """Whether what the keys decide about has its place on the screen."""
        return True

    def show_armed(self) -> None:
        """Show whether keys count, and how many were ignored."""
        raise NotImplementedError

    def hints_of(self, *keys: tuple[str, str]) -> str:
        """Keys and what they do, behind what there is to say of keys that do not count."""
        soon = "" if self.arming.armed else "keys count in a moment"
        said = (plain_text(self.arming.ignored_text()), soon, self._session.render_context().hints(*keys))
        return "  ".join(filter(None, said))

    def _armed_changed(self) -> None:
        if self.is_attached:
            self.show_armed()

    def on_key(self, event: events.Key) -> None:
        """Comes before all bindings. A key that acts has to be accepted; one that means nothing here and comes early
        was meant for what stood here before.
        """
        bound = self.active_bindings.get(event.key)
        acts = bound is not None and bound.enabled and bound.binding.action.partition("(")[0] in self.ACTS
        early = bound is None and self.arming.is_asking and not self.arming.armed
        if (acts or early) and not self.arming.accept(event.key):
            event.stop()
            event.prevent_default()
