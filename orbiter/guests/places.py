"""Where the steps of a guest stand: the number of the model's turn, and the position of a call in the recorded reply.

The order in which calls begin or end plays no part, so that a path means the same in every life of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from orbiter.steps import Place

_FIRST_UNKNOWN = 1_000
"""Where calls stand that no reply asks for."""


@dataclass(slots=True, eq=False)
class CallPlaces:
    """Counts the places of one run of an agent in one life. `turn` is the number of the next model request."""

    turn: int = 0
    _calls: dict[str, int] = field(default_factory=dict)
    _visits: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def begin_turn(self) -> Place:
        """The place of the next model request."""
        place = Place(self.turn)
        self.turn += 1
        return place

    def take_reply(self, call_ids: Sequence[str]) -> None:
        """A model replied: these calls are what it asks for, in this order."""
        self._calls = {}
        for call_id in call_ids:
            self._calls.setdefault(call_id, len(self._calls))

    def place_of_call(self, name: str, call_id: str) -> Place:
        """The place of one pass of a call. A call that is made a second time, once it was approved or its
        interrupt answered, stands behind all
        calls of its reply; so does one that no reply asks for.
        """
        visit = self.visit(self._now, name, call_id if call_id in self._calls else "")
        many = len(self._calls)
        if call_id in self._calls:
            return Place(self._now, self._calls[call_id] + visit * many)
        return Place(self._now, _FIRST_UNKNOWN + visit)

    def place_of(self, name: str) -> Place:
        """The place of what is done, once or several times in turn, before the next model request."""
        return Place(self.turn, self.visit(self._now, name, ""))

    def visit(self, *key: object) -> int:
        """How often this was asked before with the same key, in this life."""
        self._visits[key] += 1
        return self._visits[key] - 1

    @property
    def _now(self) -> int:
        return max(0, self.turn - 1)
