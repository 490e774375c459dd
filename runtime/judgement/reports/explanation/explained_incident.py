"""The incident that is explained, with its run, as far as the run's events tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runtime.judgement.recovery.option_spec import OutcomeCase
from runtime.judgement.reports.explanation.incident_kind import Kind, incident_kind, may_have_happened
from runtime.judgement.reports.report_types import WaitingNode
from runtime.judgement.reports.waiting_nodes import nodes_waiting_on
from runtime.record.state.durable_run import DurableRun, FailedAttempt, Incident, Node
from runtime.record.state.events import IncidentOpened
from runtime.record.state.fault_taxonomy import Cause


@dataclass
class ExplainedIncident:
    """An incident, and the run that it is of; what is read off them is looked up once."""

    incident: Incident
    state: DurableRun

    @property
    def opened(self) -> IncidentOpened:
        return self.incident.opened

    @property
    def here(self) -> tuple[int, ...]:
        """The event that opened the incident."""
        return (self.opened.seq,)

    @cached_property
    def node(self) -> Node | None:
        """The node that waits; None where the run is not known, or the incident is about all of it."""
        return self.state.nodes.get(self.opened.node_id)

    @cached_property
    def kind(self) -> Kind:
        return incident_kind(self.opened)

    @cached_property
    def may_have_happened(self) -> bool:
        """Whether a tool's call may have taken effect, so that doing it again may do it twice."""
        return may_have_happened(self.opened)

    @cached_property
    def place(self) -> str:
        """The kind of place: llm, tool, value, agent, group, swarm, run; by what is to be done where the run is not
        known.
        """
        if self.node is not None:
            return self.node.kind
        if "model" in self.action:
            return "llm"
        if "tool" in self.action:
            return "tool"
        return "agent" if self.opened.node_id else "run"

    @property
    def outcome_cases(self) -> tuple[OutcomeCase, ...]:
        """The cases that the table of options knows, the narrowest first."""
        special: dict[str, OutcomeCase] = {
            "question": "question",
            "permission": "permission",
            "breakpoint": "breakpoint",
            "in doubt": "in doubt",
            "no progress": "no progress",
        }
        places: dict[str, OutcomeCase] = {
            "llm": "model",
            "tool": "tool",
            "agent": "agent",
            "group": "group",
            "swarm": "group",
            "run": "run",
            "value": "question",
        }
        found: list[OutcomeCase] = ["not the last"] if self.action.get("also_needs") else []
        found += [special[self.kind]] if self.kind in special else []
        if self.cause is Cause.OUTPUT_INVALID and self.place == "agent":
            found.append("misfit")
        if self.cause in (Cause.OUTPUT_INVALID, Cause.LOOP_DETECTED):
            found.append("correction")
        return (*found, places.get(self.place, "run"), "any")

    @property
    def action(self) -> dict[str, Any]:
        return self.opened.action

    def offers(self, option_id: str) -> bool:
        """Whether the incident offers this option."""
        return any(each.id == option_id for each in self.opened.options)

    @property
    def lineage(self) -> list[Node]:
        """From the root to the node, itself included."""
        return self.state.lineage(self.opened.node_id)

    @cached_property
    def agent(self) -> Node | None:
        """The agent that the node belongs to: itself, or the nearest above."""
        return next((each for each in reversed(self.lineage) if each.kind == "agent"), None)

    @cached_property
    def waiting(self) -> list[WaitingNode]:
        """What waits for this, the nearest first."""
        return nodes_waiting_on(self.state, self.opened.node_id)

    @property
    def tries(self) -> list[FailedAttempt]:
        """Attempts that failed before the incident opened."""
        node = self.node
        return [each for each in node.tries if each.seq <= self.opened.seq] if node is not None else []

    def earlier(self) -> Iterator[Incident]:
        """Earlier incidents of the same node that a person answered, oldest first."""
        for incident_id in self.node.incidents if self.node is not None else ():
            found = self.state.incidents.get(incident_id)
            if found is None or found.opened.incident_id == self.opened.incident_id:
                return
            if found.answer is not None and found.answer.seq <= self.opened.seq:
                yield found

    @property
    def cause(self) -> Cause:
        return self.opened.fault.cause
