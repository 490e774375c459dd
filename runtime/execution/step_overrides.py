"""The overrides of a step: what decisions and remedies put in the place of what was requested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from orbiter.steps import StepKind
from runtime.judgement.recovery.option_table import effect_of
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node


class StepOverrides(msgspec.Struct):
    """What the next attempts of a step use in place of the request. None: as requested."""

    arguments: dict[str, Any] | None = None
    """All arguments of a tool's call."""
    model: str | None = None
    """The model that is asked, as `provider:name`."""
    messages: list[dict[str, Any]] | None = None
    """The conversation that the model is sent, as JSON."""

    def as_changes(self) -> dict[str, Any]:
        """What is overridden, by the keys that `Codec.replace` (`orbiter.steps`) and `StepStarted.effective` have."""
        if self.arguments is None and self.model is None and self.messages is None:
            return {}  # nearly always
        changes = {"arguments": self.arguments, "model": self.model, "messages": self.messages}
        return {key: value for key, value in changes.items() if value is not None}

    def apply_answer(self, answer: ev.IncidentAnswered) -> None:
        """Take up what an answer changes; most options change nothing here."""
        effect = effect_of(answer.option)
        if effect == "edit":
            self.arguments = answer.params.get("arguments", {})
        elif effect == "switch_model":
            self.model = answer.params.get("model", "")


def recorded_overrides(state: DurableRun, kind: StepKind, node_id: str, parent_id: str) -> StepOverrides:
    """The overrides of a step by what is recorded of its run.

    Where several speak, the later one in this order holds: a rewind; the model that an operator chose for the agent or
    the run; the answers to the step's own incidents; the fallback model in use, unless an operator chose one after it.
    """
    overrides = StepOverrides()
    _apply_rewinds(overrides, state, kind, node_id)
    if kind == "llm":
        _apply_agent_answers(overrides, state, parent_id)
    node = state.nodes.get(node_id)
    if node is None:
        return overrides
    for incident_id in node.incidents:
        if (answer := state.incidents[incident_id].answer) is not None:
            overrides.apply_answer(answer)
    overrides.model = _fallback_in_use(node, state) or overrides.model
    return overrides


def first_model_step_id(agent_id: str) -> str:
    """The id of the first question that an agent asks its model, from the agent's id."""
    return f"{agent_id}/llm~0"


def _apply_rewinds(overrides: StepOverrides, state: DurableRun, kind: StepKind, node_id: str) -> None:
    """What a rewind changed at this step, or at an agent above it (its model and its first question)."""
    for changed_id, wanted in state.changes.items():
        if changed_id == node_id:
            _apply_rewind(overrides, wanted, "arguments", "model", "messages")
        elif kind == "llm" and node_id.startswith(f"{changed_id}/"):
            _apply_rewind(overrides, wanted, "model")
            if node_id == first_model_step_id(changed_id):
                _apply_rewind(overrides, wanted, "messages")


def _apply_rewind(overrides: StepOverrides, wanted: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if name in wanted:
            setattr(overrides, name, wanted[name])


def _apply_agent_answers(overrides: StepOverrides, state: DurableRun, parent_id: str) -> None:
    """The model that an operator chose for all steps of the agent, or of the run."""
    for incident in state.incidents.values():
        answer = incident.answer
        if answer is None or effect_of(answer.option) != "switch_model" or answer.reach == "attempt":
            continue
        if answer.reach == "run" or incident.opened.node_id.rpartition("/")[0] == parent_id:
            overrides.apply_answer(answer)


def _fallback_in_use(node: Node, state: DurableRun) -> str:
    """The model that stands in since an earlier life; empty if none does, or an operator chose another after that."""
    if not node.fell_back:
        return ""
    last = node.fell_back[-1]
    for incident_id in node.incidents:
        answer = state.incidents[incident_id].answer
        if answer is not None and effect_of(answer.option) == "switch_model" and answer.ts > last.ts:
            return ""
    return last.to_model
