"""What audits, digests, wait graphs and reports of incidents say, as types. Structs of msgspec: screens have them
before the first event is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from runtime.record.state.clock import Instant

WaitKind = Literal[
    "person", "permission", "breaker", "budget", "time", "frozen", "runtime", "work", "order", "ending", "nothing"
]


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One decision. `params` are without secrets."""

    ts: Instant
    person: str
    channel: str
    what: str
    option: str = ""
    reach: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    seconds: float | None = None
    """The time from the question to its answer, where it was one."""
    run_id: str = ""
    incident_id: str = ""
    node_id: str = ""
    asked: str = ""
    """What was asked about: the question, or the message of the fault."""


class Digest(Struct, kw_only=True):
    """What came from `since` (None: ever) to `until` (None: now). Runs by the state in which they ended; answers by who
    gave them.
    """

    since: Instant | None = None
    until: Instant | None = None
    started: int = 0
    ended: Mapping[str, int] = field(default_factory=dict)
    opened: int = 0
    open_now: int = 0
    answered_by: Mapping[str, int] = field(default_factory=dict)
    by_rule: int = 0
    closed: int = 0
    groups: Mapping[str, int] = field(default_factory=dict)
    """Incidents that opened, by their message, the most frequent first."""
    grants: int = 0
    revoked: int = 0
    cost_usd: float | None = None
    lost: tuple[str, ...] = ()
    """What the journal was found to have lost."""
    reread: tuple[str, ...] = ()
    """Patterns that mean something else than before, with both readings."""
    runs: tuple[str, ...] = ()
    """Ids of the runs in which something happened."""
    sentences: tuple[str, ...] = ()
    """All of it in words, one line for each kind of thing."""
    empty: bool = True
    """There is nothing to say. Steps alone, of runs that go on, are not said."""


class WaitLink(Struct, frozen=True, kw_only=True):
    """One link of the chain: a node, and why it does not go on."""

    node_id: str
    name: str
    state: str
    why: str


class WaitChain(Struct, frozen=True, kw_only=True):
    """What a run (`id`, in its shown `state`), or a node of it, waits for.

    `chain` leads from the node that was asked about to the one that holds it up (`node_id`; empty where it is the run
    itself). `until`: when that ends by itself. `frees`: nodes that go on once it has.
    """

    id: str
    state: str
    chain: tuple[WaitLink, ...] = ()
    kind: WaitKind = "nothing"
    why: str = ""
    node_id: str = ""
    incident_id: str = ""
    until: Instant | None = None
    since: Instant | None = None
    frees: int = 0
    also: tuple[str, ...] = ()
    """Ids of other nodes that hold the same things up: all of them have to come first."""


class OfferedOption(Struct, frozen=True, kw_only=True):
    """What may be answered (`runtime.record.state.incident_events.Option`)."""

    id: str
    label: str
    needs: str = ""
    hint: str = ""
    standing: bool = False


class SummaryLine(Struct, frozen=True, kw_only=True):
    """One step of the execution summary."""

    number: int
    objective: str
    ok: bool


class AttemptLine(Struct, frozen=True, kw_only=True):
    """An attempt that failed, and the wait that came after it."""

    number: int
    ended_at: Instant
    seconds: float
    cause: str
    message: str
    wait_s: float | None = None
    wait_source: str = ""

    def sentence(self) -> str:
        pause = f"; then a pause of {self.wait_s:.1f}s ({self.wait_source})" if self.wait_s is not None else ""
        return f"Attempt {self.number}: {self.cause} after {self.seconds:.1f}s: {self.message}{pause}"


_MAX_NAMES = 12
"""Names of nodes in the sentence of one that waits."""


class WaitingNode(Struct, frozen=True, kw_only=True):
    """A node that waits for another to end. `then` has not begun and comes after it; `done` has, beside it."""

    node_id: str
    kind: str
    name: str
    then: tuple[str, ...] = ()
    done: tuple[str, ...] = ()

    def sentence(self) -> str:
        parts = [f"{self.kind} {self.name}"]
        if self.done:
            parts.append(f"with {_counted(self.done)} done")
        if self.then:
            parts.append(f"then {_counted(self.then)}")
        return ", ".join(parts)


def _counted(names: Sequence[str]) -> str:
    """Names in the order in which they first come, each once; a repeated one with its number: `ask ×100`."""
    told = [f"{name} ×{number}" if number > 1 else name for name, number in Counter(names).items()]
    more = len(told) - _MAX_NAMES
    return ", ".join([*told[:_MAX_NAMES], f"{more} others"] if more > 1 else told)


class ReportFacts(Struct, frozen=True, kw_only=True):
    """What the report of an incident says."""

    incident_id: str
    run_id: str
    timestamp: Instant
    error_type: str
    severity: str
    task: str
    failed_operation: str
    error_message: str
    capability: str = ""
    why: str = ""
    """What the rules say of it, where an author's words stand in `error_message`."""
    context: Mapping[str, Any] = {}
    """What the error itself carried, such as ``limit`` and ``used``."""
    metadata: Mapping[str, Any] = {}
    total_operations: int = 0
    execution_time_s: float | None = None
    retry_attempts: int = 0
    summary: tuple[SummaryLine, ...] = ()
    replans: tuple[str, ...] = ()
    """Why other plans, or other agents, were asked for before."""
    lineage: tuple[str, ...] = ()
    action: Mapping[str, Any] = {}
    traceback: str = ""
    options: tuple[OfferedOption, ...] = ()
    safe: str = "abort"
    why_no_retry: str = ""
    attempts: tuple[AttemptLine, ...] = ()
    causes: tuple[str, ...] = ()
    """The chain of errors, outermost first."""
    waits_for: tuple[WaitingNode, ...] = ()
    """What waits on this incident."""
    question: str = ""
    choices: tuple[str, ...] = ()
    """What the question may be answered with, where that is a fixed list."""
    url: str = ""
    """An address that the person is asked to open."""
    deadline: Instant | None = None
    at_deadline: str = ""
    """What happens then by itself, in words."""
    analysis: str = ""
    analysis_by: str = ""
