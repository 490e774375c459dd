"""The summary of a run, which lists show, and its JSON.

Apart from the events: a console that opens shows its first list before it has loaded their vocabulary.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import msgspec

from runtime.record.state.clock import Instant
from runtime.record.state.run_title import run_title
from runtime.record.state.struct_json import encode_struct, explain

FOLD_VERSION = 3
"""Rises when the same events give another summary; cached summaries of another version are made again."""

INPUT_CHARS = 200
"""Characters of a run's input that its summary has."""

RunPhase = Literal[
    "queued", "running", "waiting", "frozen", "completed", "degraded", "failed", "interrupted", "aborted"
]
NodePhase = Literal[
    "pending", "running", "retrying", "waiting", "succeeded", "degraded", "failed", "timed_out", "skipped", "cancelled"
]
ALL_RUNS = 1_000_000
"""As a limit: no run is left out."""
RUN_TERMINAL: frozenset[str] = frozenset({"completed", "degraded", "failed", "interrupted", "aborted"})
RUN_ACTIVE: tuple[str, ...] = ("queued", "running", "waiting", "frozen")
"""States of runs that may go on."""
NODE_TERMINAL: frozenset[str] = frozenset({"succeeded", "degraded", "failed", "timed_out", "skipped", "cancelled"})


def _unsaid_fold() -> int:
    """The fold of summaries that do not say theirs: earlier programs left it out."""
    return 3


class PublicSummary(msgspec.Struct, frozen=True, dict=True):
    """What people and their programs read of a run, without its tree. Its JSON has all fields."""

    id: str
    ref: str = ""
    title: str = ""
    input: str = ""
    state: RunPhase = "queued"
    nodes: dict[str, int] = msgspec.field(default_factory=dict)
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
    created_at: Instant | None = None
    updated_at: Instant | None = None
    wake_at: Instant | None = None
    error: str = ""
    fold: int = msgspec.field(default_factory=_unsaid_fold)

    @cached_property
    def shown_title(self) -> str:
        """What people call it (`run_title`). Lists of 10,000 runs ask twice for each frame."""
        return run_title(self.title, self.ref, self.input)

    @property
    def freezing(self) -> bool:
        """Frozen, and not yet still: steps that were in flight come to their end."""
        return self.state == "frozen" and self.in_flight > 0


class Summary(PublicSummary, frozen=True, omit_defaults=True):
    """What the store keeps of a run for lists. Its JSON leaves out what is at its default, never `fold`."""

    stuck: bool = False
    """It runs, and whatever of it is open waits for a person: it is let go of once that has lasted for a while."""
    holding: int = 0
    """Of the running `nodes`, those that have an open child. Missing in what an earlier program kept of a run, until
    something happens in it."""

    @property
    def shown_phase(self) -> RunPhase:
        """The state that people are told: who waits for them does so at once, and not when it is let go of."""
        return "waiting" if self.stuck and self.state == "running" and self.open_incidents else self.state

    @property
    def leaves(self) -> dict[str, int]:
        """`nodes` without those that only hold others: what people are told."""
        found = {**self.nodes, "running": max(0, self.nodes.get("running", 0) - self.holding)}
        return {phase: number for phase, number in found.items() if number > 0}

    def public(self) -> PublicSummary:
        """As people and their programs read it: the state is the one that is shown."""
        found = {name: getattr(self, name) for name in PublicSummary.__struct_fields__}
        return PublicSummary(**{**found, "state": self.shown_phase, "title": self.shown_title})

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, with what is at its default."""
        found: dict[str, Any] = msgspec.to_builtins(msgspec.structs.asdict(self))
        return found

    def to_json(self) -> str:
        """Without what is at its default, and without line feeds. Lone surrogates are replaced."""
        return encode_struct(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Summary:
        """The summary that `text` is; fields that are not known are ignored.

        Raises:
            ValueError: it is not a summary; with the field that is wrong.
        """
        try:
            return _decoder.decode(text)
        except msgspec.ValidationError as exc:
            said = explain(exc, "")
            whole = said in ("", "id: is missing")
            raise ValueError("a summary is an object with an id" if whole else said) from exc


_decoder = msgspec.json.Decoder(Summary)
