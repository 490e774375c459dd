"""What is known of a run: the data that its events fill in, and its nodes as they come, go on and end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from runtime.record.state import events as ev
from runtime.record.state.clock import Instant
from runtime.record.state.nodes import Incident, Node
from runtime.record.state.operator_terms import DEFAULT_QUEUE
from runtime.record.state.summary import NODE_TERMINAL, NodePhase, RunPhase


@dataclass(slots=True, init=False, repr=False, eq=False)
class RunFields:
    """One run, as far as its events tell. What is read off it is `RunData`, what makes one of it `DurableRun`."""

    id: str = ""
    ref: str = ""
    title: str = ""
    input: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    program: str = ""
    code: str = ""
    """The label of the code that it is for."""
    queue: str = DEFAULT_QUEUE
    """Which workers are to drive it."""
    phase: RunPhase = "queued"
    output: str = ""
    error: str = ""
    created_at: Instant | None = None
    updated_at: Instant | None = None
    finished_at: Instant | None = None
    wake_at: Instant | None = None
    frozen: ev.RunFrozen | None = None
    """The last freeze: by whom, and why. It may be over."""
    thawed_at: Instant | None = None
    parked: ev.RunParked | None = None
    abort: ev.AbortRequested | None = None
    rewind: ev.RewindRequested | None = None
    """Asked for and not yet done."""
    rewound: list[ev.RunRewound] = field(default_factory=list)
    """Each time the run was turned back: by whom, why, to which node, and how many nodes were dropped. Oldest first."""
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What a rewind changes at a node, for its next attempts."""
    breakpoints: frozenset[tuple[str, str]] = frozenset()
    injected: dict[str, ev.MessageInjected] = field(default_factory=dict)
    """Messages that no agent has got yet, by injection id."""
    epoch: int = 0
    lives: int = 0
    restarts: int = 0
    """Lives that began because the life before was cut short: its process ended, or its runtime was stopped. A run that
    left memory while it waited, and was taken up again, was not restarted.
    """
    owners: dict[int, str] = field(default_factory=dict)
    """Who drove the run in each life, by its epoch."""
    let_go: dict[int, str] = field(default_factory=dict)
    """Why a life ended that was ended in order, by its epoch; one that is not there ended without a word."""
    last_seq: int = 0
    changed_seq: int = field(default=0, compare=False)
    """The last event that may have changed more than one node; what changed one alone is known of that node."""
    nodes: dict[str, Node] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    early: dict[str, list[str]] = field(default_factory=dict)
    """Roots that came before their parent, by its id: a node that comes is not looked for among all roots."""
    incidents: dict[str, Incident] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    holding: int = 0
    """Nodes that run and have an open child: what they do is what their children do, so no count has them."""
    scope_turns: int = 0
    """How often a node that may hold others has ended, or was opened again: what a tree folds changes only then."""
    granted: dict[str, list[ev.GrantUsed]] = field(default_factory=dict)
    """By node: the grants that let its attempts pass, each time."""
    declared: frozenset[str] = frozenset()
    """What any of its nodes brought along, by name (a budget, an error configuration): what no node has need not be
    looked for at every attempt of every step.
    """
    returned: list[ev.ControlReturned] = field(default_factory=list)
    """What went back into the swarm so far, oldest first; what was rewound is not among it."""
    steps: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    llm_calls: int = 0
    """Models asked, by steps begun; a second attempt is not a second call."""
    tool_calls: int = 0
    unpriced_calls: int = 0
    """Answers of models whose price is unknown; `cost_usd` is without them."""
    driver: str = ""
    """The supervisor whose life of this run has no end yet; empty once it parked or ended."""
    died: bool = False
    """Whether the life before this one ended with its process."""
    unplaced: bool = False
    """Whether the record does not say what was under way then: in a first life begins of steps that may be repeated
    are written with the next batch, which the end of the process may forestall.
    """
    moved: bool = False
    """Whether this life has recorded anything of a node."""
    loaded: bool = False
    """Whether this life has said that its swarm is imported (`SwarmLoaded`)."""
    deaths: int = 0
    """How many processes have ended, one after the other, in lives that recorded nothing of a node."""
    died_at_import: bool = False
    """Whether the last of these had not said that its swarm was imported."""
    busy: dict[str, None] = field(default_factory=dict)
    """Steps with an attempt in flight, in the order in which they began; thousands may be."""
    callers: dict[str, None] = field(default_factory=dict)
    """Steps that have something below them, as a tool has that runs agents."""
    active_s: float = 0.0
    """Seconds in which a step was in flight that did not wait for a person, up to `active_since`."""
    active_since: Instant | None = None
    anomalies: int = 0
    foreign: frozenset[str] = frozenset()
    """Types of events of a newer program: what they mean for the run is not known here."""

    def move(self, node: Node, phase: NodePhase) -> bool:
        if node.phase == phase:
            return True
        if node.phase in NODE_TERMINAL:
            return False
        self.enter(node, phase)
        return True

    def enter(self, node: Node, phase: NodePhase) -> None:
        """Put a node into a phase, also one that had ended."""
        was_open, is_open = node.phase not in NODE_TERMINAL, phase not in NODE_TERMINAL
        self.counts[node.phase] -= 1
        self.counts[phase] += 1
        if node.open_children:
            held, node.phase = node.holds, phase
            self.holding += node.holds - held
        else:  # as nearly all: it holds nothing
            node.phase = phase
        if was_open != is_open:
            self.scope_turns += not node.is_step or bool(node.children)
            self._count_child(node, self.nodes.get(node.parent_id), 1 if is_open else -1)

    def add(self, node: Node) -> None:
        self.nodes[node.id] = node
        self.counts[node.phase] += 1
        parent = self.nodes.get(node.parent_id)
        if parent is None:
            self.roots.append(node.id)
            if node.parent_id:
                self.early.setdefault(node.parent_id, []).append(node.id)
        elif isinstance(parent.children, list):
            parent.children.append(node.id)
        else:
            parent.children = [node.id]
            if parent.is_step:
                self.callers[parent.id] = None
        if self.early:
            early = (self.nodes.get(root) for root in self.early.get(node.id, ()))
            node.open_children += sum(root is not None and not root.terminal for root in early)
        if node.open_children:
            self.holding += node.holds
        if node.phase not in NODE_TERMINAL:
            self._count_child(node, parent, 1)

    def drop(self, node_id: str) -> Node:
        """Take a node out: a rewind goes back to before it."""
        node = self.nodes.pop(node_id)
        self.callers.pop(node_id, None)
        early = self.early.get(node.parent_id, [])
        if node_id in early:
            early.remove(node_id)
        self.counts[node.phase] -= 1
        self.holding -= node.holds
        if not node.terminal:
            self._count_child(node, self.nodes.get(node.parent_id), -1)
        return node

    def _count_child(self, node: Node, parent: Node | None, more: int) -> None:
        if parent is None or parent is node:
            return
        before = parent.open_children
        parent.open_children = before + more
        if parent.phase == "running" and (before > 0) != (before + more > 0):
            self.holding += more
