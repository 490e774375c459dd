"""Navigation: back, forward, up. Pure."""

from __future__ import annotations

from msgspec import Struct

MAX_VISITS = 100
"""Visits that are kept."""


class Visit(Struct, frozen=True):
    """What was shown: a place by its name, or (with no place) a run; with both, a place about one run. The comparison
    of two runs is a place about both.
    """

    place: str
    run_id: str = ""
    other_id: str = ""


class History(Struct):
    """Visits in order, and where in them the operator is."""

    visits: list[Visit] = []
    at: int = -1

    @property
    def current(self) -> Visit | None:
        return self.visits[self.at] if self.visits else None

    def go(self, visit: Visit) -> None:
        """Show something: what lay ahead is forgotten. To show what is shown already is not a visit."""
        if visit == self.current:
            return
        self.visits = [*self.visits[: self.at + 1], visit][-MAX_VISITS:]
        self.at = len(self.visits) - 1

    def step(self, step: int) -> Visit | None:
        """One back or forward; None at the end."""
        if not 0 <= self.at + step < len(self.visits):
            return None
        self.at += step
        return self.current

    def above(self) -> Visit | None:
        """What the screen that is shown was opened from: of a run the last place before it, of a place whatever was
        shown before it; None if nothing was.
        """
        here = self.current
        if here is None:
            return None
        before = range(self.at - 1, -1, -1)
        return next((self.visits[at] for at in before if here.place or self.visits[at].place), None)

    def up(self) -> Visit | None:
        """Go to what is `above`; what lies between stays ahead. None if there is nothing."""
        target = self.above()
        if target is not None:
            self.at = max(at for at in range(self.at) if self.visits[at] == target)
        return target
