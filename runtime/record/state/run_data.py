"""What is read off the data of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from runtime.record.state import events as ev
from runtime.record.state.nodes import Incident, Node
from runtime.record.state.run_fields import RunFields
from runtime.record.state.run_title import run_title
from runtime.record.state.summary import FOLD_VERSION, INPUT_CHARS, NODE_TERMINAL, RUN_TERMINAL, RunPhase, Summary


class ForkOrigin(NamedTuple):
    """The run of which another is a fork, the node from which that goes its own way (empty: at the end), and the `seq`
    up to which they are the same.
    """

    run_id: str = ""
    node_id: str = ""
    seq: int = 0


@dataclass(slots=True, init=False, repr=False, eq=False)
class RunData(RunFields):
    """One run, as far as its events tell, and what follows from that. What makes one of it is `DurableRun`."""

    @property
    def terminal(self) -> bool:
        return self.phase in RUN_TERMINAL

    @property
    def open_incidents(self) -> list[Incident]:
        return [incident for incident in self.incidents.values() if incident.open]

    @property
    def in_flight(self) -> list[Node]:
        """Steps whose attempt is under way, oldest first. A frozen run is still freezing while there are any: they
        come to their end, and nothing new begins. A tool that itself waits for something inside it is not among them.
        """
        waiting = self._busy_waiting()
        return [self.nodes[node_id] for node_id in self.busy if node_id not in waiting]

    def _busy_waiting(self) -> set[str]:
        """Steps with an attempt in flight that wait for something inside of them. Asked with every append, where
        thousands of steps may be in flight: only those are looked at that can.
        """
        able = self.busy.keys() & self.callers.keys()
        for incident in self.open_incidents:
            node_id = incident.opened.node_id
            while node_id:
                if node_id in self.busy:
                    able.add(node_id)
                node_id = node_id.rpartition("/")[0]
        return {node_id for node_id in able if self._waits_inside(node_id)}

    def calls_under_way(self, node_id: str) -> list[Node]:
        """The tool's call that a node is, if it is under way; else those that are under way inside it. One that was cut
        off with its runtime is among them: it may be made again.
        """
        node = self.nodes.get(node_id)
        if node is None or (node.under_way and node.kind == "tool"):
            return [] if node is None else [node]
        return [each for _, each in self.walk(node_id) if each.under_way and each.kind == "tool"]

    @property
    def stuck(self) -> bool:
        """Whether the run is held in memory, and every node that is open waits for a person or for one that does."""
        counts = self.counts
        if self.phase != "running" or not counts.get("waiting") or counts["retrying"] or counts["pending"]:
            return False
        asked = self.open_incidents
        held = {node.id for each in asked for node in self.lineage(each.opened.node_id) if not node.terminal}
        unfinished = sum(number for phase, number in counts.items() if phase not in NODE_TERMINAL)
        return bool(held) and len(held) == unfinished

    @property
    def shown_phase(self) -> RunPhase:
        """The state that people are told."""
        return "waiting" if self.stuck else self.phase

    @property
    def shown_title(self) -> str:
        """What people call it (`run_title`)."""
        return run_title(self.title, self.ref, self.input)

    @property
    def fork_origin(self) -> ForkOrigin:
        """Of which run this is a fork; all empty where it is not one."""
        plan = self.options.get("fork")
        if not isinstance(plan, dict):
            return ForkOrigin()
        return ForkOrigin(str(plan.get("of", "")), str(plan.get("at", "")), int(plan.get("seq", 0)))

    @property
    def freezing(self) -> bool:
        """Frozen, and not yet still."""
        return self.phase == "frozen" and bool(self.in_flight)

    @property
    def leaves(self) -> dict[str, int]:
        """Nodes by state, without those that only hold others: what people are told."""
        found = {**self.counts, "running": max(0, self.counts["running"] - self.holding)}
        return {phase: number for phase, number in found.items() if number > 0}

    def _waits_inside(self, node_id: str) -> bool:
        below = f"{node_id}/"
        inside = any(not node.terminal for _, node in self.walk(node_id))
        return self.waits_within(node_id) or (inside and not any(other.startswith(below) for other in self.busy))

    def active_seconds(self, now: datetime) -> float:
        """How long the run has worked by `now`: without waits for a person, pauses between attempts, and freezes."""
        since = self.active_since
        return self.active_s + (max(0.0, (now - since).total_seconds()) if since is not None else 0.0)

    def waits_within(self, node_id: str) -> bool:
        """Whether a step waits for a person, at itself or, as a tool may, at something inside it."""
        below = f"{node_id}/"
        return any(
            each.opened.node_id == node_id or each.opened.node_id.startswith(below) for each in self.open_incidents
        )

    def waits_from(self, instant: datetime | None) -> list[ev.IncidentOpened | ev.RetryScheduled]:
        """What waits for an instant by the clock, and began to after `instant` (None: whenever)."""
        deadlines = [found.opened for found in self.open_incidents if found.opened.deadline is not None]
        retries = [node.retry for node in self.nodes.values() if node.phase == "retrying" and node.retry is not None]
        waits: list[ev.IncidentOpened | ev.RetryScheduled] = [*deadlines, *retries]
        return [wait for wait in waits if instant is None or wait.ts > instant]

    def walk(self, node_id: str = "") -> Iterator[tuple[int, Node]]:
        """Nodes below `node_id` (the whole tree without it), parents first, each with its depth."""
        stack = [(0, child) for child in reversed(self.nodes[node_id].children if node_id else self.roots)]
        while stack:
            depth, found = stack.pop()
            node = self.nodes[found]
            yield depth, node
            stack.extend((depth + 1, child) for child in reversed(node.children))

    def lineage(self, node_id: str) -> list[Node]:
        """From the root down to `node_id`, itself included."""
        found: list[Node] = []
        node = self.nodes.get(node_id)
        while node is not None:
            found.append(node)
            node = self.nodes.get(node.parent_id)
        return found[::-1]

    def _turns(self) -> tuple[int, int]:
        """Members of the outermost swarm or group that each have their turn, and how many of them have had it. None in
        a swarm whose agents choose who is next.
        """
        root = self.nodes.get(self.roots[0]) if self.roots else None
        if root is None or root.kind not in ("swarm", "group") or root.info.get("mode", "workflow") != "workflow":
            return 0, 0
        members = {str(name) for name in root.info.get("members", ())}
        latest: dict[str, Node] = {}
        for child in root.children:
            node = self.nodes[child]  # a member, or a stage of several
            for each in (node,) if node.name in members else (self.nodes[found] for found in node.children):
                if each.name in members:
                    latest[each.name] = each
        return len(members), sum(node.terminal for node in latest.values())

    def summary(self) -> Summary:
        members, members_done = self._turns()
        return Summary(
            id=self.id,
            ref=self.ref,
            title=self.title,
            input=self.input[:INPUT_CHARS],
            state=self.phase,
            nodes={name: count for name, count in self.counts.items() if count},
            members=members,
            members_done=members_done,
            steps=self.steps,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=self.cost_usd,
            open_incidents=len(self.open_incidents) if self.incidents else 0,
            in_flight=len(self.busy) - len(self._busy_waiting()) if self.busy else 0,
            created_at=self.created_at,
            updated_at=self.updated_at,
            wake_at=self.wake_at,
            error=self.error[:500],
            stuck=self.stuck,
            holding=self.holding,
            fold=FOLD_VERSION,
        )
