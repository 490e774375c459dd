"""An action that a graph shows to a person before it is done: a step that needs a permission, and gives a decision."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orbiter.ask import NeedsInput
from orbiter.errors import ToolCallError
from orbiter.guests.langgraph.life import Life
from orbiter.guests.typed_values import as_text
from orbiter.steps import Codec, Place, Step, Traits

Wording = Callable[["ApprovalAsk", str, str], dict[str, Any]]


def by_decision(asked: ApprovalAsk, kind: str, message: str) -> dict[str, Any]:
    """The words of `HumanInTheLoopMiddleware`."""
    if kind == "edit":
        return {"type": "edit", "edited_action": {"name": asked.action, "args": asked.arguments}}
    if kind == "approve":
        return {"type": "approve"}
    return {"type": kind, "message": message}


def by_human_response(asked: ApprovalAsk, kind: str, message: str) -> dict[str, Any]:
    """The words of `HumanResponse`, which older programs read."""
    if kind == "edit":
        return {"type": "edit", "args": {"action": asked.action, "args": asked.arguments}}
    if kind == "respond" or (kind == "reject" and message and "respond" in asked.allowed):
        return {"type": "response", "args": message}
    return {"type": "accept" if kind == "approve" else "ignore", "args": None}


@dataclass(slots=True, frozen=True, eq=False)
class ApprovalAsk:
    """What is to be decided. `allowed` are the decisions that the graph takes: approve, edit, reject, respond."""

    action: str
    arguments: dict[str, Any]
    allowed: tuple[str, ...]
    call_id: str = ""
    description: str = ""
    answers: Wording = by_decision
    edited: bool = False
    schema: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """What the step is called."""
        return f"approve {self.action}"

    def decided(self, kind: str, message: str) -> Decision:
        """A decision in the words that the graph reads."""
        return Decision(self.name, self.call_id, self.answers(self, kind, message))


@dataclass(slots=True, frozen=True)
class Decision:
    """What was decided of the call of this id, as the graph takes it."""

    name: str
    call_id: str
    value: dict[str, Any]


async def _decide(asked: ApprovalAsk) -> Decision:
    """It may be done.

    Raises:
        NeedsInput: The graph takes an answer only, and no approval.
    """
    if asked.edited:
        return asked.decided("edit", "")
    if "approve" in asked.allowed:
        return asked.decided("approve", "")
    raise NeedsInput(asked.description or f"What is the result of {asked.action}?", None)


class _ApprovalCodec(Codec[ApprovalAsk, Decision]):
    """Arguments as a tool call has them; a result is the decision as the graph takes it."""

    def describe(self, arguments: ApprovalAsk) -> dict[str, Any]:
        return {"id": arguments.call_id, "arguments": arguments.arguments}

    def editable(self, arguments: ApprovalAsk) -> dict[str, Any] | None:
        return {"arguments": arguments.arguments} if "edit" in arguments.allowed else None

    def replace(self, arguments: ApprovalAsk, changes: Mapping[str, Any]) -> ApprovalAsk:
        """Other arguments, with which the action is approved.

        Raises:
            ValueError: The graph takes no changes.
        """
        given = changes.get("arguments")
        if given is None or given == arguments.arguments:
            return arguments
        if "edit" not in arguments.allowed:
            raise ValueError(f"the graph takes no changed arguments for {arguments.action!r}, only {_list(arguments)}")
        return replace(arguments, arguments=dict(given), edited=True)

    def dump(self, result: Decision) -> Any:
        said = json.dumps(result.value, ensure_ascii=False, default=str)
        return {"tool_name": result.name, "tool_call_id": result.call_id, "content": said}

    def load(self, value: Any) -> Decision:
        return Decision(value["tool_name"], value["tool_call_id"], json.loads(value["content"]))

    def absorb(self, arguments: ApprovalAsk, exc: Exception) -> Decision | None:
        """A refusal is told to the graph, where it takes one."""
        if not isinstance(exc, ToolCallError) or "reject" not in arguments.allowed:
            return None
        return arguments.decided("reject", str(exc))

    def by_hand(self, arguments: ApprovalAsk, value: Any) -> Decision:
        """An answer in place of the action. Where the graph takes none it is a refusal: the action was skipped.

        Raises:
            ValueError: The graph takes neither.
        """
        if "respond" not in arguments.allowed:
            if "reject" in arguments.allowed:
                return arguments.decided("reject", as_text(value))
            raise ValueError(f"the graph takes no result for {arguments.action!r}, only {_list(arguments)}")
        return arguments.decided("respond", as_text(value))


def _list(asked: ApprovalAsk) -> str:
    return ", ".join(asked.allowed)


_APPROVAL = _ApprovalCodec()


async def approve(life: Life, asked: ApprovalAsk, place: Place) -> dict[str, Any]:
    """The decision of an operator, or of a rule, in the words that the graph reads."""
    needed = () if "approve" not in asked.allowed else (f"approval.{_verb(asked.action)}",)
    traits = Traits(idempotent=True, permissions=needed, schema=asked.schema, not_offered=_not_taken(asked))
    step = Step("tool", asked.name, life.agent, place, asked, _decide, _APPROVAL, traits)
    return (await life.scope.step(step)).value


def _not_taken(asked: ApprovalAsk) -> frozenset[str]:
    """The options for which the graph has no decision."""
    decisions = {"edit": ("edit",), "result": ("respond",), "skip": ("respond", "reject")}
    return frozenset(option for option, needed in decisions.items() if not set(needed) & set(asked.allowed))


def _verb(action: str) -> str:
    """It names no object, so that an answer is to the very call that was shown."""
    return re.sub("[^a-z0-9_.-]", "-", action.lower())
