"""Swarms to choose from in the start form: which there are, and the list of those that fit what is typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.message import Message

from runtime.operations.requests.runs import ListSwarms
from screens.render.layout import Row
from screens.shell.context import ConsoleContext
from screens.views.lists.start import known_refs, suggested_refs
from screens.widgets.row_list import RowList


class SwarmRefs:
    """References to swarms: those that the workspace's files define, and those that were run before."""

    def __init__(self, session: ConsoleContext, given: str) -> None:
        """`given` stands in the field at first: it is not searched for."""
        self.given = given
        self.root = ""
        """Where the workspace is, once it was told: references are shown relative to it."""
        self._session = session
        self._found: Sequence[str] = ()
        self._kinds: Mapping[str, str] = {}
        self._hints: Mapping[str, str] = {}

    async def ask(self, host: str) -> None:
        """Ask a runtime which swarms its workspace's files define. Raises `LinkError`."""
        found = await self._session.link.ask(ListSwarms(), where=host)
        self.root, self._found = found.root, list(found.refs)
        self._kinds, self._hints = found.kinds, found.hints

    def relative(self, ref: str) -> str:
        """A reference as one types it in the workspace."""
        return ref.removeprefix(f"{self.root.rstrip('/')}/") if self.root else ref

    def suggest(self, typed: str, host: str) -> tuple[Sequence[Row], bool]:
        """What fits `typed`, as rows; and whether that is a known reference already."""
        link = self._session.link
        known = known_refs(
            (run for run in link.summaries.values() if not host or link.host_of(run.id) == host), self.root
        )
        searched = "" if typed == self.relative(self.given) else typed
        rows = suggested_refs(searched, known, self._found, self._session.render_context(), self._kinds)
        return rows, self.relative(typed) in (*known, *self._found)

    def hint(self, typed: str) -> str:
        """What its author can do so that more is recorded of it, in one line; empty for most."""
        return self._hints.get(self.relative(typed), "")


class Suggestions(RowList):
    """References to choose from, on the ground of a dialog. Where there are none the focus passes it by; a letter typed
    while it has the focus goes into the field above it.
    """

    GROUND: ClassVar[str] = "panel"
    DEFAULT_CSS = "Suggestions { background: $panel; }"

    @dataclass
    class Typed(Message):
        """Text was typed or pasted, which the list has no use for."""

        text: str

    def suggest(self, rows: Sequence[Row], otherwise: str) -> None:
        """Show these; where there are none, say `otherwise`."""
        self.empty = otherwise
        self.can_focus = bool(rows)
        self.show(rows)

    def on_key(self, event: events.Key) -> None:
        if event.is_printable and event.character:
            event.stop()
            event.prevent_default()
            self.post_message(self.Typed(event.character))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.post_message(self.Typed(event.text.strip().partition("\n")[0]))
