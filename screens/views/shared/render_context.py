"""The context of a view: glyphs and the present time. Handed to every view, so that none asks the world."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from screens.render.confusables import exact_line, exact_lines, mark_confusables
from screens.render.formatting import pluralize
from screens.render.glyphs import (
    UNICODE_GLYPHS,
    Glyphs,
    state_ink,
    state_word,
)
from screens.render.layout import Span, Spans, join_spans, span
from screens.render.sanitize import sanitize_line, sanitize_text


class RenderContext(Struct, frozen=True):
    """`now` is UTC. With ASCII glyphs foreign text is shown in ASCII too. `keys` has the key of each action in words,
    and nothing where all are the usual ones. `partial`: rows are still to come.
    """

    now: datetime
    glyphs: Glyphs = UNICODE_GLYPHS
    keys: Mapping[str, str] = {}
    partial: bool = False

    @property
    def ascii_only(self) -> bool:
        return self.glyphs.name == "ascii"

    def key(self, action: str, usual: str) -> str:
        """The key of an action in words, which is `usual` if it was not given another; empty if it has none."""
        return self.keys.get(action, usual)

    def hints(self, *hints: tuple[str, str]) -> str:
        """`esc closes   y does it`: keys and what they do, without those that have no key."""
        return "   ".join(f"{key} {does}" for key, does in hints if key)

    def nothing_matches(self) -> str:
        """Said where a filter leaves nothing."""
        what = "Nothing of what is loaded matches." if self.partial else "Nothing matches."
        return f"{what} {self.hints((self.key('app.up', 'esc'), 'shows all.'))}".rstrip()

    def count(self, number: int) -> str:
        """How many there are; `40+` while more may come."""
        return f"{number}+" if self.partial else str(number)

    def counted(self, number: int, one: str, many: str = "") -> str:
        """`1 run`, `3 runs`; `3+ runs` while more may come."""
        return f"{number}+ {many or one + 's'}" if self.partial else pluralize(number, one, many)

    def sanitize_line(self, text: str, limit: int = 500) -> str:
        """Foreign text on one line, through the gate."""
        return sanitize_line(text, limit=limit, ascii_only=self.ascii_only)

    def name(self, text: str, limit: int = 60) -> str:
        """A name of a node, through the gate. A letter that looks like another is marked; of an emoji of several
        characters its parts are shown.
        """
        return mark_confusables(self.sanitize_line(text, limit), ascii_only=self.ascii_only)

    def exact_line(self, text: str, limit: int = 60) -> str:
        """What a permission or a grant is for, or whose it is: two texts that differ can always be told apart."""
        return exact_line(text, limit=limit, ascii_only=self.ascii_only)

    def exact_lines(self, text: str) -> list[str]:
        """The same on several lines."""
        return exact_lines(text, ascii_only=self.ascii_only)

    def mark_confusables(self, text: str) -> str:
        """Cleaned prose with a mark behind each letter that looks like another one."""
        return mark_confusables(text, whole=False, ascii_only=self.ascii_only)

    def sanitize_lines(self, text: str) -> list[str]:
        """Foreign text on several lines, through the gate."""
        return sanitize_text(text, ascii_only=self.ascii_only).split("\n")

    def at_host(self, what: Spans, host: str) -> Spans:
        """What stands on a host, behind the host's name where there are several."""
        return join_spans((span(self.sanitize_line(host, 40), "ink-muted"), what), self.glyphs.dot) if host else what

    def state_glyph(self, state: str) -> Span:
        """The glyph of a state, in its colour."""
        return Span(self.glyphs.state.get(state, "?"), state_ink(state))

    def state_spans(self, state: str, word: str = "") -> Spans:
        """Glyph and word of a state."""
        ink = state_ink(state)
        return (Span(f"{self.glyphs.state.get(state, '?')} {word or state_word(state)}", ink),)
