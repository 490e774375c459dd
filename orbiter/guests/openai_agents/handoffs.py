"""Handoffs: the agent that takes over gets a node of its own, and what a handoff does besides is a step."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from agents import Agent, Handoff, RunContextWrapper, handoff

from orbiter.guests.openai_agents.life import Life, current_life
from orbiter.guests.openai_agents.messages import read_arguments
from orbiter.guests.openai_agents.tool_call import TOOL_CALL, ToolAsk, call_tool, outcome
from orbiter.guests.tool_settings import read_tool_settings
from orbiter.steps import Step

CloneOf = Callable[[Agent[Any]], Agent[Any]]


def durable_handoff(found: Agent[Any] | Handoff[Any, Any], clone_of: CloneOf, describe: Any) -> Handoff[Any, Any]:
    """A handoff to the clone of the agent to which `found` leads. Only one that was made by `handoff(…)` can have an
    `on_handoff`; the call of such a one is a step.
    """
    original = handoff(found) if isinstance(found, Agent) else found
    effects = not isinstance(found, Agent)

    async def invoke(context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
        life = current_life()
        if life is None:
            return await original.on_invoke_handoff(context, arguments)
        target = _target(original)
        if target is None or not effects:
            target = await original.on_invoke_handoff(context, arguments)
        else:
            await _call_as_step(life, original, context, arguments)
        clone = clone_of(target)
        await life.hand_over(clone.name, describe(clone))
        life.model_timeout = target.model_settings.timeout or life.model_timeout
        return clone

    durable = copy.copy(original)
    durable.on_invoke_handoff = invoke
    return durable


def _target(found: Handoff[Any, Any]) -> Agent[Any] | None:
    """The agent that a handoff made by `handoff(…)` leads to; None where a function chooses it."""
    agent = found._agent_ref() if found._agent_ref is not None else None
    return agent if isinstance(agent, Agent) else None


async def _call_as_step(life: Life, found: Handoff[Any, Any], context: RunContextWrapper[Any], arguments: str) -> None:
    """Call `on_handoff` once in all lives of the run."""

    async def make(changed: dict[str, Any]) -> Any:
        agent = await found.on_invoke_handoff(context, json.dumps(changed, ensure_ascii=False) if arguments else "")
        return found.get_transfer_message(agent)

    async def explain(_: Exception) -> str | None:
        return None

    given = read_arguments(found.tool_name, arguments)
    name, call_id = found.tool_name, life.calls.get(found.tool_name, "")
    settings = read_tool_settings(name, life.declared(name), life.root.tool_settings(name))
    ask = ToolAsk(name, call_id, given, make, explain, failure=settings.failure, context=context.context)
    traits = settings.traits(schema=found.input_json_schema)
    step = Step("tool", name, life.agent, life.place_of_call(name, call_id), ask, call_tool, TOOL_CALL, traits)
    outcome(ask, await life.scope.step(step))
