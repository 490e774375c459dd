"""How a view is to look: which signs, and what time it is. Handed to every view, so that none asks the world."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from screens.glyphs import UNICODE, Glyphs, state_ink, state_word
from screens.layout import Span, Spans
from screens.text import clean, clean_line


@dataclass(frozen=True, slots=True)
class Looks:
    """`now` is UTC. With ASCII glyphs foreign text is shown in ASCII too."""

    now: datetime
    glyphs: Glyphs = UNICODE

    @property
    def ascii_only(self) -> bool:
        return self.glyphs.name == "ascii"

    def line(self, text: str, limit: int = 500) -> str:
        """Foreign text on one line, through the gate."""
        return clean_line(text, limit=limit, ascii_only=self.ascii_only)

    def block(self, text: str) -> list[str]:
        """Foreign text on several lines, through the gate."""
        return clean(text, ascii_only=self.ascii_only).split("\n")

    def sign(self, state: str) -> Span:
        """The glyph of a state, in its colour."""
        return Span(self.glyphs.state.get(state, "?"), state_ink(state))

    def state(self, state: str, word: str = "") -> Spans:
        """Glyph and word of a state."""
        ink = state_ink(state)
        return (Span(f"{self.glyphs.state.get(state, '?')} {word or state_word(state)}", ink),)
