"""Requests about runs: start, end, freeze, turn back, branch off, look."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, field

from runtime.judgement.comparison.comparison_types import RunComparison
from runtime.judgement.reports.report_types import WaitChain
from runtime.operations.requests.incident_results import IncidentRow
from runtime.operations.requests.struct import Instant, JsonObject, Request, Text
from runtime.record.state.summary import NodePhase, PublicSummary, RunPhase

BreakpointKind = Literal["tool", "agent"]


class RunState(Struct, frozen=True, kw_only=True):
    """A run after something was done to it. `state` is the one that is shown."""

    id: str
    state: str


class StartRun(Request[RunState], frozen=True):
    """Create a run of the swarm `ref` (`path.py:name`) on `input`. Its id comes from the id of the command.

    `queue`: which workers drive it, those that take this queue; empty: as the swarm's setting says. `reason`: why it is
    begun, for the audit.
    """

    verb: ClassVar[str] = "start"
    acts: ClassVar[bool] = True

    ref: Text
    input: str = ""
    title: str = ""
    options: JsonObject = field(default_factory=dict)
    queue: str = ""
    reason: str = ""


class AbortRun(Request[RunState], frozen=True):
    """End a run now. What is under way is cancelled; what is recorded stays."""

    verb: ClassVar[str] = "abort"
    acts: ClassVar[bool] = True

    run_id: Text
    reason: str = ""


class CancelledCall(RunState, frozen=True, kw_only=True):
    """`node`: the step whose call is being cancelled."""

    node: str


class CancelCall(Request[CancelledCall], frozen=True):
    """Cancel one call of a tool that is under way; nothing else stops.

    `node_id`: the step, or a node with one such call in it. An MCP server is told. Then a person, or the policy that
    holds for the step, decides how it goes on.
    """

    verb: ClassVar[str] = "cancel"
    acts: ClassVar[bool] = True

    run_id: Text
    node_id: Text
    reason: str = ""


class FreezeRuns(Request[tuple[RunState, ...]], frozen=True):
    """Let no new step begin in a run, in all runs of the swarm `ref`, or in every run.

    Without a run it holds for runs that begin later, too. The result has the runs that were frozen now.
    """

    verb: ClassVar[str] = "freeze"
    acts: ClassVar[bool] = True
    all_hosts: ClassVar[bool] = True

    run_id: str = ""
    ref: str = ""
    reason: str = ""


class ThawRuns(Request[tuple[RunState, ...]], frozen=True):
    """Let frozen runs go on: one, those of the swarm `ref`, or all."""

    verb: ClassVar[str] = "thaw"
    acts: ClassVar[bool] = True
    all_hosts: ClassVar[bool] = True

    run_id: str = ""
    ref: str = ""


class BreakpointState(RunState, frozen=True, kw_only=True):
    """`breakpoint` is `tool:PATTERN` or `agent:PATTERN`. `warning`: what is odd about it; may be empty."""

    breakpoint: str
    cleared: bool
    warning: str = ""


class SetBreakpoint(Request[BreakpointState], frozen=True):
    """Make a run wait before each tool or agent whose name matches `pattern`; with `clear`, no longer."""

    verb: ClassVar[str] = "break"
    acts: ClassVar[bool] = True

    run_id: Text
    what: BreakpointKind
    pattern: Text
    clear: bool = False


class InjectedMessage(RunState, frozen=True, kw_only=True):
    injection_id: str


class InjectMessage(Request[InjectedMessage], frozen=True):
    """Give an agent (its name, or the id of its node) a message that it reads at its next turn."""

    verb: ClassVar[str] = "inject"
    acts: ClassVar[bool] = True

    run_id: Text
    agent: Text
    text: Text


class RewoundRun(RunState, frozen=True, kw_only=True):
    """`dropped`: ids of the nodes that run again or not at all."""

    node: str
    dropped: tuple[str, ...]


class RewindRun(Request[RewoundRun], frozen=True):
    """Turn a run back to a node, which then runs again with `changes` (`model`, `input` or `arguments`).

    `node_id`: its id, its name, or an end of its id that no other has. Where effects would be repeated, `confirm` must
    be true.
    """

    verb: ClassVar[str] = "rewind"
    acts: ClassVar[bool] = True

    run_id: Text
    node_id: Text
    changes: JsonObject = field(default_factory=dict)
    confirm: bool = False
    reason: str = ""


class ForkedRun(RunState, frozen=True, kw_only=True):
    """The new run. `node` is where it goes its own way; empty: at the end of what was completed."""

    forked_from: str
    node: str


class ForkRun(Request[ForkedRun], frozen=True):
    """Create a run that begins with what this one has completed, up to a node if one is named."""

    verb: ClassVar[str] = "fork"
    acts: ClassVar[bool] = True

    run_id: Text
    node_id: str = ""
    changes: JsonObject = field(default_factory=dict)


class ListRuns(Request[tuple[PublicSummary, ...]], frozen=True):
    """The newest runs, newest first; with `states`, only those that are shown in one of these states."""

    verb: ClassVar[str] = "runs"
    all_hosts: ClassVar[bool] = True

    limit: Annotated[int, Meta(ge=1, le=10_000)] = 200
    states: tuple[RunPhase, ...] = ()


class RunMatch(PublicSummary, frozen=True):
    """A run that a search found. `found_in`: a text of it that has a word (`title`, `input`, `output` or `error`);
    `excerpt`: what stands around that word, without secrets.
    """

    found_in: str = ""
    excerpt: str = ""


class SearchRuns(Request[tuple[RunMatch, ...]], frozen=True):
    """The newest runs whose title, input, output and errors have all words of `text`, within other words too."""

    verb: ClassVar[str] = "search"
    all_hosts: ClassVar[bool] = True

    text: Text
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 200
    states: tuple[RunPhase, ...] = ()


class NodeRow(Struct, frozen=True, kw_only=True):
    """A node of a run. `requested`: the arguments of a step; `result`: what came of it, as JSON."""

    id: str
    parent_id: str
    kind: str
    name: str
    agent: str
    state: NodePhase
    requested: JsonObject
    attempts: int
    opened_at: Instant | None
    closed_at: Instant | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    output: str
    result: Any
    error: str
    warnings: tuple[str, ...]
    incidents: tuple[str, ...]


class RunTree(PublicSummary, frozen=True):
    """A run with its nodes, parents before children, and its incidents as `ShowIncident` has them. `lives`: processes
    that have carried it out.
    """

    output: str = ""
    lives: int = 0
    nodes: tuple[NodeRow, ...] = ()  # type: ignore[assignment]  # of a whole run the nodes, not their number
    incidents: tuple[IncidentRow, ...] = ()


class ShowRun(Request[RunTree], frozen=True):
    """A run with its nodes and incidents."""

    verb: ClassVar[str] = "show"

    run_id: Text


class CompareRuns(Request[RunComparison], frozen=True):
    """Two runs, compared by path: what differs, and where they first part. A fork and its origin, for example."""

    verb: ClassVar[str] = "diff"

    left: Text
    right: Text


class ShowWaits(Request[WaitChain], frozen=True):
    """What a run waits for, or a node of it, down to what holds it up (`runtime.judgement.reports.wait_graph`)."""

    verb: ClassVar[str] = "waits"

    run_id: Text
    node_id: str = ""


class FoundSwarms(Struct, frozen=True, kw_only=True):
    """`refs` are relative to the directory `root`. `kinds` says what each of them is, as ``agent (pydantic-ai)``;
    `hints`, of those whose steps can be made finer, how, in one line.
    """

    root: str
    refs: tuple[str, ...]
    kinds: dict[str, str] = {}
    hints: dict[str, str] = {}


class ListSwarms(Request[FoundSwarms], frozen=True):
    """The swarms that the workspace's files define. The files are read, and none is run."""

    verb: ClassVar[str] = "swarms"


class CheckedSwarm(Struct, frozen=True, kw_only=True):
    ref: str


class CheckSwarm(Request[CheckedSwarm], frozen=True):
    """Load a swarm as a run would; the result has its absolute reference. User code runs, so it is an act."""

    verb: ClassVar[str] = "check"
    acts: ClassVar[bool] = True

    ref: Text
