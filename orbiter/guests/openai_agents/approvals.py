"""Calls that wait for approval.

A call whose tool is a step is approved at once, and asked about where it is made: its step needs a permission, so that
it is one incident, with its arguments, which an operator grants, changes or denies. Other calls (agents as tools,
hosted MCP tools) are asked about in a step of their own, which does nothing else.
"""

from __future__ import annotations

from typing import Any

from agents import ModelBehaviorError, RunResult
from agents.items import ToolApprovalItem
from agents.run_state import RunState

from orbiter._internal.concurrency import gather_fail_fast
from orbiter.guests.openai_agents.life import Life
from orbiter.guests.openai_agents.messages import call_arguments, read_arguments
from orbiter.guests.openai_agents.tool_call import TOOL_CALL, ToolAsk, call_tool, value_of
from orbiter.guests.tool_settings import approval_of
from orbiter.parsing.nesting import check_json
from orbiter.parsing.strict_json import load_json
from orbiter.steps import Step, Traits


async def decide(life: Life, result: RunResult) -> RunState[Any]:
    """The state with which the run goes on, every interruption in it decided; waits for as long as a person is needed,
    for each call by itself.
    """
    state = result.to_state()
    await gather_fail_fast([_decide_one(life, state, item) for item in result.interruptions])
    return state


async def _decide_one(life: Life, state: RunState[Any], item: ToolApprovalItem) -> None:
    raw = item.raw_item if isinstance(item.raw_item, dict) else item.raw_item.model_dump(mode="json")
    if raw.get("type") == "function_call":
        life.approved.add(raw["call_id"])
        state.approve(item)
        return
    name, call_id = item.tool_name or str(raw.get("type")), str(raw.get("call_id") or raw.get("id") or "")
    try:
        given = read_arguments(name, call_arguments(raw))
    except ModelBehaviorError:
        given = unread_input(call_arguments(raw))
    answer = await ask_permission(life, name, call_id, given)
    if "error" in answer:
        state.reject(item, rejection_message=answer["error"])
    else:
        state.approve(item)


def unread_input(text: str) -> dict[str, Any]:
    """Of a call that `read_arguments` refuses, what is recorded and approved, in the form that an earlier version's
    runs have which wait for it: an object as it is, else the value, or the text, under `input`. What is nested too
    deeply for a journal is text.
    """
    try:
        check_json(text)
        found = load_json(text)
    except (ValueError, RecursionError):
        found = text
    return found if isinstance(found, dict) else {"input": found}


async def ask_permission(life: Life, name: str, call_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a step that needs the approval of a call, and gives its arguments back: as they are, or as an
    operator changed them. `error` in it is a refusal.
    """
    ask = ToolAsk(name, call_id, arguments, _give_back, _not_told)
    traits = Traits(idempotent=True, permissions=(approval_of(name),))
    place = life.place_of_call(name, call_id)
    found: dict[str, Any] = await life.scope.step(
        Step("tool", name, life.agent, place, ask, call_tool, TOOL_CALL, traits)
    )
    return found


def allowed_arguments(answer: dict[str, Any]) -> Any:
    """The arguments that a step of `ask_permission` gave back."""
    return value_of(answer)


async def _give_back(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


async def _not_told(_: Exception) -> str | None:
    return None
