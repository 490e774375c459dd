"""Arming: the moment that passes before a key that acts counts.

One rule for prompts, dialogs and the linear mode; it knows nothing of Textual.

- Keys count after a moment in which what they decide about stood on the screen and no key came.
- The moment begins when that content is painted. Other content begins it again.
- A key that comes too early does nothing, is counted, and begins the moment again.
- A key that is held down never counts: its repeats follow each other too fast to be pressed on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

ARM_AFTER_S: Final = 0.4
"""Seconds after which what was painted takes keys (facts/consoles, section 2.1)."""
SECOND_KEY_FACTOR: Final = 2.5
"""How many times as long it takes for the second key of an action, which confirms what a first key chose."""
HELD_KEY_FACTOR: Final = 2.5
"""The same key within so many moments of its last press is a key that is held down: keyboards begin to repeat after
0.25 to 1 s.
"""


class LastKey:
    """The key that was pressed last, and when; shared by everything that reads one keyboard."""

    def __init__(self) -> None:
        self._key = ""
        self._at = 0.0

    def press(self, key: str, now: float) -> float:
        """Note a key. Returns the seconds since its last press, infinite if another key came last."""
        since = now - self._at if key == self._key else float("inf")
        self._key, self._at = key, now
        return since


class ArmedKeys:
    """Decides which keys count for the content that is shown now."""

    def __init__(
        self, after: float = ARM_AFTER_S, *, clock: Callable[[], float] = monotonic, last: LastKey | None = None
    ) -> None:
        """`after` is the length of the moment in seconds. `last` is shared where several read one keyboard."""
        self._after = after
        self._clock = clock
        self._last = last or LastKey()
        self._content: object = None
        self._moment = after
        self._quiet_since: float | None = None
        self.ignored = 0
        """Keys that came too early; the widget that shows the number sets it back."""

    def ask(self, content: object, *, second: bool = False) -> bool:
        """The next key decides about `content`. `second`: it confirms what a first key chose.

        Returns whether this is other content than before; then no key counts until `content_painted` was called for it.
        """
        if content == self._content:
            return False
        self._content, self._quiet_since = content, None
        self._moment = self._after * (SECOND_KEY_FACTOR if second else 1.0)
        return True

    def content_painted(self, content: object) -> bool:
        """`content` stands on the screen: the moment begins. False if other content was asked about since."""
        if content != self._content:
            return False
        if self._quiet_since is None:
            self._quiet_since = self._clock()
        return True

    @property
    def started(self) -> bool:
        """Whether the content is painted: keys count now, or soon."""
        return self._quiet_since is not None

    @property
    def remaining(self) -> float:
        """Seconds until keys count; infinite before the content is painted."""
        if self._quiet_since is None:
            return float("inf")
        return max(0.0, self._quiet_since + self._moment - self._clock())

    @property
    def armed(self) -> bool:
        """Whether keys count now."""
        return self.remaining == 0

    def accept(self, key: str = "") -> bool:
        """A key that acts was pressed. Whether it counts; if not it is counted and the moment begins again.

        A whole line, typed and sent, comes without a `key`: it cannot be held down.
        """
        held = bool(key) and self._last.press(key, self._clock()) < self._after * HELD_KEY_FACTOR
        if self.armed and not held:
            return True
        self.ignored += 1
        if self._quiet_since is not None:
            self._quiet_since = self._clock()
        return False
