"""The context of a step, which every layer around it may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orbiter import steps
from orbiter.steps import Step
from runtime.execution.run_session import Activity, RunSession
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Node


@dataclass(slots=True)
class StepContext:
    """A step on its way. `scope` is where nodes that the call opens go; `requested` is the request as JSON."""

    session: RunSession
    step: Step[Any, Any]
    node_id: str
    parent_id: str
    activity: Activity
    scope: steps.Scope
    requested: dict[str, Any]

    @property
    def node(self) -> Node | None:
        return self.session.state.nodes.get(self.node_id)

    @property
    def repeatable(self) -> bool:
        """Whether beginning it a second time is safe, whatever came of the first."""
        return self.step.kind != "tool" or self.step.traits.idempotent

    def record_node(self) -> None:
        """Introduce the step before its first attempt, because something is about to be recorded of it. Again where
        what is requested has changed since (a message was delivered): it is compared with what is requested later.
        """
        node = self.node
        if node is None or not (node.recorded or node.hooks_due or node.requested == self.requested):
            self.session.record_soon(ev.StepRequested(**self.step_fields()))

    def step_fields(self) -> dict[str, Any]:
        """The fields that every event has which introduces the step."""
        return {
            "node_id": self.node_id,
            "parent_id": self.parent_id,
            "kind": self.step.kind,
            "name": self.step.name,
            "agent": self.step.agent,
            "requested": self.requested,
            "idempotent": self.step.traits.idempotent,
            "permissions": self.step.traits.permissions,
        }

    def tool_arguments(self, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """A tool's arguments as they will be used, with what hooks made of them; empty for other steps."""
        now = (self.step.codec.editable(self.step.arguments) or {}) if self.step.kind == "tool" else {}
        found = changes.get("arguments", now.get("arguments", {}))
        return found if isinstance(found, Mapping) else {}

    def model_name(self, changes: Mapping[str, Any]) -> str:
        """The model that will be asked; empty for other steps."""
        return str(changes.get("model", self.step.name)) if self.step.kind == "llm" else ""

    def action_text(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """What exactly is to be done, for the eyes of whoever decides about it."""
        if self.step.kind == "tool":
            return {"tool": self.step.name, "arguments": dict(self.tool_arguments(changes))}
        if self.step.kind == "llm":
            return {"model": self.model_name(changes)}
        return {}


@dataclass(slots=True, frozen=True)
class Completed:
    """The step's result, from an attempt or from a person."""

    result: Any
