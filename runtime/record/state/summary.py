"""The summary of a run, which lists show, and its JSON.

Apart from the events: a console that opens shows its first list before it has loaded their vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, Literal, cast, get_args

from orbiter.text_encoding import drop_surrogates

FOLD_VERSION = 3
"""Rises when the same events give another summary; cached summaries of another version are made anew."""

RunPhase = Literal[
    "queued", "running", "waiting", "frozen", "completed", "degraded", "failed", "interrupted", "aborted"
]
NodePhase = Literal[
    "pending", "running", "retrying", "waiting", "succeeded", "degraded", "failed", "timed_out", "skipped", "cancelled"
]
RUN_TERMINAL: frozenset[str] = frozenset({"completed", "degraded", "failed", "interrupted", "aborted"})
NODE_TERMINAL: frozenset[str] = frozenset({"succeeded", "degraded", "failed", "timed_out", "skipped", "cancelled"})


@dataclass(slots=True, frozen=True)
class Summary:
    """What lists show of a run, without its tree."""

    id: str
    ref: str = ""
    title: str = ""
    input: str = ""
    state: RunPhase = "queued"
    nodes: dict[str, int] = field(default_factory=dict)
    """Nodes by state."""
    members: int = 0
    """Members of the outermost workflow or group, each of which has its turn; 0 where that is not known beforehand."""
    members_done: int = 0
    """Those of them that have ended."""
    steps: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    open_incidents: int = 0
    in_flight: int = 0
    """Steps whose attempt is under way: a frozen run with any is still freezing."""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    wake_at: datetime | None = None
    error: str = ""
    stuck: bool = False
    """It runs, and whatever of it is open waits for a person: it is let go of once that has lasted for a while."""
    fold: int = FOLD_VERSION

    @property
    def shown_phase(self) -> RunPhase:
        """The state that people are told: who waits for them does so at once, and not when it is let go of."""
        return "waiting" if self.stuck and self.state == "running" and self.open_incidents else self.state

    @property
    def freezing(self) -> bool:
        """Frozen, and not yet still: steps that were in flight come to their end."""
        return self.state == "frozen" and self.in_flight > 0

    def brief_fields(self) -> dict[str, Any]:
        """What is not as it is in every summary of which nothing else is said. Written at every step of every run."""
        values = zip(_READERS, _VALUES(self), _OMITTED, strict=True)
        return {name: value for name, value, unsaid in values if value != unsaid}

    def public_fields(self) -> dict[str, Any]:
        """As JSON that people and their programs read: the state is the one that is shown."""
        row = self.to_dict()
        del row["stuck"]
        return {**row, "state": self.shown_phase}

    def to_dict(self, *, brief: bool = False) -> dict[str, Any]:
        """As JSON has it; `brief`: what `said` gives."""
        row = self.brief_fields() if brief else dict(zip(_READERS, _VALUES(self), strict=True))
        return {
            name: value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
            for name, value in row.items()
        }

    def to_json(self) -> str:
        """Brief, and without line feeds."""
        return drop_surrogates(json.dumps(self.to_dict(brief=True), ensure_ascii=False, separators=(",", ":")))

    @classmethod
    def from_dict(cls, row: Any) -> Summary:
        """The summary that `row` is, as JSON has it; fields that are not known are ignored.

        Raises:
            ValueError: it is none; with the field that is wrong.
        """
        if not isinstance(row, dict) or "id" not in row:
            raise ValueError("a summary is an object with an id")
        try:
            found = {name: _READERS[name](value) for name, value in row.items() if name in _READERS}
        except ValueError:
            name = next(name for name, value in row.items() if name in _READERS and not _fits(name, value))
            raise ValueError(f"{name}: {row[name]!r:.80} is not what it can be") from None
        return cls(**{"fold": _PLAIN_FIELDS, **found})


def _fits(name: str, value: Any) -> bool:
    try:
        _READERS[name](value)
    except ValueError:
        return False
    return True


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError  # noqa: TRY004 - `Summary.of` says which, and in what words
    return value


def _state(value: Any) -> RunPhase:
    if not isinstance(value, str) or value not in _PHASES:
        raise ValueError
    return cast("RunPhase", value)


def _count(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError  # noqa: TRY004
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError  # noqa: TRY004
    return value


def _counts(value: Any) -> dict[str, int]:
    if not isinstance(value, dict) or not all(isinstance(found, int) for found in value.values()):
        raise ValueError
    return value


def _amount(value: Any) -> float | None:
    if value is not None and not isinstance(value, float | int):
        raise ValueError
    return value


def _instant(value: Any) -> datetime | None:
    found = datetime.fromisoformat(_text(value)) if value is not None else None
    if found is not None and found.tzinfo is None:
        raise ValueError
    return found


_PHASES: frozenset[str] = frozenset(get_args(RunPhase))
_READERS: dict[str, Callable[[Any], Any]] = {
    "id": _text, "ref": _text, "title": _text, "input": _text, "state": _state, "nodes": _counts,
    "members": _count, "members_done": _count, "steps": _count, "input_tokens": _count, "output_tokens": _count,
    "cost_usd": _amount, "open_incidents": _count, "in_flight": _count,
    "created_at": _instant, "updated_at": _instant, "wake_at": _instant, "error": _text, "stuck": _flag,
    "fold": _count,
}  # fmt: skip
"""How each field is read, in their order. Raises ValueError."""
_VALUES = attrgetter(*_READERS)
_DEFAULTS: dict[str, Any] = {found.name: found.default for found in fields(Summary)}
_OMITTED = tuple(({**_DEFAULTS, "id": None, "nodes": {}, "fold": None})[name] for name in _READERS)
"""What a field is where nothing is said of it."""
_PLAIN_FIELDS = 3
"""The fold of summaries that do not say theirs: earlier programs left it out."""
