"""What a rewind or a fork may do to a run: which nodes it drops, what ends the run all the same, and what a node takes
when it runs again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.execution.step_overrides import first_model_step_id
from runtime.judgement.recovery.input_validation import InvalidInput
from runtime.judgement.recovery.model_name import check_model_name
from runtime.judgement.recovery.options import ends_run
from runtime.operations.answer_params import InvalidCommand
from runtime.operations.lookup import no_node
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.rewind import nodes_dropped_by


class RewindNeedsConfirmation(InvalidCommand):
    """A rewind would do things to the world a second time; it must be said again with `confirm`."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        listed = ", ".join(f"{node.name} ({node.id})" for node in nodes)
        super().__init__(f"this would repeat calls with side effects: {listed}; confirm it with --yes")
        self.nodes = tuple(nodes)


def aborted_at(state: DurableRun) -> set[str]:
    """Ids of the steps whose incident was answered with the end of the whole run: coming there again ends it again."""
    nodes = ((incident, state.nodes.get(incident.opened.node_id)) for incident in state.incidents.values())
    return {
        node.id
        for incident, node in nodes
        if node is not None and node.is_step and incident.answer is not None and ends_run(incident.answer)
    }


def abort_under_way(state: DurableRun) -> ev.AbortRequested | ev.IncidentAnswered | None:
    """The word that ends the run, where it has not ended yet."""
    if state.terminal:
        return None
    turned = max((each.seq for each in state.rewound), default=0)
    answers = (incident.answer for incident in state.incidents.values())
    ends = (each for each in answers if each is not None and ends_run(each))
    return state.abort or next((each for each in ends if each.seq > turned), None)


def dropped_nodes(state: DurableRun, node_id: str) -> set[str]:
    """Ids of the nodes that a rewind to a node drops. Raises `InvalidCommand`: the run has no such node."""
    if node_id not in state.nodes:
        raise no_node(state, node_id)
    return nodes_dropped_by(state, node_id)


def changes_for(node: Node, state: DurableRun, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What is wanted of a node when it runs again, as its steps take it.

    `model`: for a model's call, or for all of them below a scope. `arguments`: for a tool's call. `input`: what the
    user says, for an agent or its first question to the model.

    Raises:
        InvalidCommand: the node takes no such change, or the model's name cannot be one.
    """
    changes: dict[str, Any] = {}
    for key, value in wanted.items():
        if key == "model" and isinstance(value, str) and value and (node.kind == "llm" or not node.is_step):
            changes["model"] = _checked_model(value, state)
        elif key == "arguments" and isinstance(value, Mapping) and node.kind == "tool" and node.is_step:
            changes["arguments"] = dict(value)
        elif key == "input" and isinstance(value, str):
            changes["messages"] = _with_user_message(node, state, value)
        else:
            raise InvalidCommand(
                f"{node.id} is a {node.kind} and takes no {key!r} of {value!r}: a model (provider:name) is for an "
                "agent or its call, an input for an agent or its first call, arguments (an object) for a tool's call"
            )
    return changes


def _checked_model(model: str, state: DurableRun) -> str:
    try:
        check_model_name(model, state)
    except InvalidInput as exc:
        raise InvalidCommand(str(exc)) from exc
    return model


def _with_user_message(node: Node, state: DurableRun, text: str) -> list[Any]:
    """The messages of an agent's first question to its model, with something else as the user's last words."""
    asked = node if node.kind == "llm" else state.nodes.get(first_model_step_id(node.id))
    messages = list(asked.requested.get("messages", ())) if asked is not None else []
    last = next((index for index in reversed(range(len(messages))) if messages[index].get("role") == "user"), None)
    if last is None:
        raise InvalidCommand(
            f"the input of {node.id} cannot be changed: name an agent that was asked, or its first call of a model"
        )
    messages[last] = {**messages[last], "content": text}
    return messages
