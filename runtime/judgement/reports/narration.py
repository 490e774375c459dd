"""A narration: what an event says, as a sentence of typed parts for any printer.

`narrator.narrate` makes it. It cleans nothing and formats no number: a printer does, for its own medium. What is not
ours is marked as `Foreign`, and a printer that shows it must pass it through its own gate (`screens.render.sanitize`
for a terminal).

A sentence has the event's place (node or run) as its subject, in front of it and printed by the printer: ``reader ·
read_file`` + ``failed after 1.2s: …``. A narration with `whole` names its subject itself: ``incident i-1 closed: …``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

_ERRORS: Final = frozenset({"failed", "timed_out", "aborted", "interrupted"})
_WARNINGS: Final = frozenset({"waiting", "retrying", "degraded", "skipped", "warning"})

LogLevel = Literal["info", "warning", "error"]
NarrationWeight = Literal["main", "detail", "noise"]
"""For every reader; for those who want each step; says again what another event says."""


class Foreign(Struct, frozen=True):
    """Text of a model, a tool, a file or a person, raw; `limit` is how many characters of it are worth showing."""

    text: str
    limit: int = 200


class Seconds(Struct, frozen=True):
    """A duration."""

    value: float


class Count(Struct, frozen=True):
    """A number that may be large."""

    value: int


class Instant(Struct, frozen=True):
    """A time of day."""

    value: datetime


class Due(Struct, frozen=True):
    """A time of day that is waited for; a printer that knows what time it is says how long that is from now."""

    value: datetime


Part = str | Foreign | Seconds | Count | Instant | Due
"""A piece of a sentence; a `str` is ours."""


class Narration(Struct, frozen=True):
    """What an event says.

    Attributes:
        state: the state whose sign and colour the event has; "warning" for a warning, empty for none.
        parts: the sentence, without its subject (but see `whole`).
        text: what was said, produced or given as a reason: after the sentence, behind a colon.
        block: `text` may have several lines that are worth showing as such.
        weight: who wants to read it.
        whole: the sentence names its own subject.
    """

    state: str
    parts: tuple[Part, ...]
    text: Foreign = Foreign("")
    block: bool = False
    weight: NarrationWeight = "main"
    whole: bool = False

    @property
    def level(self) -> LogLevel:
        return "error" if self.state in _ERRORS else "warning" if self.state in _WARNINGS else "info"
