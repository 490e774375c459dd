"""The agents that are run in place of the user's: clones, whose tools, models, handoffs and guardrails are durable."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agents import Agent, FunctionTool, InputGuardrail, Model, ModelProvider, ModelSettings, OutputGuardrail

from orbiter import steps
from orbiter.errors import AgentError
from orbiter.guests.openai_agents import sdk
from orbiter.guests.openai_agents.handoffs import durable_handoff
from orbiter.guests.openai_agents.life import current_life
from orbiter.guests.openai_agents.model import StepModel
from orbiter.guests.openai_agents.tools import durable_tool
from orbiter.steps import Place

_LOCAL = ("LocalShellTool", "ShellTool", "ApplyPatchTool", "ComputerTool", "CustomTool")
"""Tools that act on this machine by other means than a function that is called with JSON."""
_FIRST_OF_RUN = 100
"""The position of the first guardrail of the run itself, behind those of the agent."""

AnyGuardrail = InputGuardrail[Any] | OutputGuardrail[Any]


class Clones:
    """One clone of each agent that a run meets. An agent is cloned when the run comes to it.

    Args:
        provider: Where models have names.
    """

    def __init__(self, provider: ModelProvider) -> None:
        self._provider = provider
        self._made: dict[int, Agent[Any]] = {}

    def of(self, agent: Agent[Any]) -> Agent[Any]:
        """The clone of an agent; a clone is its own.

        Raises:
            AgentError: The agent has a tool whose effects cannot be recorded.
        """
        if any(agent is each for each in self._made.values()):
            return agent
        if id(agent) not in self._made:
            self._made[id(agent)] = self._clone(agent)
        return self._made[id(agent)]

    def _clone(self, agent: Agent[Any]) -> Agent[Any]:
        _refuse_unrecorded(agent)
        clone = copy.copy(agent)
        clone.tools = [durable_tool(each) if isinstance(each, FunctionTool) else each for each in agent.tools]
        clone.handoffs = [durable_handoff(each, self.of, describe) for each in agent.handoffs]
        clone.model_settings = without_retries(agent.model_settings)
        if isinstance(agent.model, Model):
            clone.model = StepModel(agent.model, None, self._provider)
        clone.input_guardrails = durable_guardrails(agent.input_guardrails)
        clone.output_guardrails = durable_guardrails(agent.output_guardrails)
        if agent.mcp_servers:
            # The tools of a server are known once it is asked, in each turn.
            clone.get_mcp_tools = _durable_mcp_tools(clone.get_mcp_tools)  # type: ignore[method-assign, assignment]
        return clone


def _durable_mcp_tools(listed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    async def get_mcp_tools(context: Any) -> list[Any]:
        return [durable_tool(each) if isinstance(each, FunctionTool) else each for each in await listed(context)]

    return get_mcp_tools


def _refuse_unrecorded(agent: Agent[Any]) -> None:
    for tool in agent.tools:
        kinds = {each.__name__ for each in type(tool).__mro__}
        hosted = getattr(tool, "executor", True) is None
        if kinds & set(_LOCAL) and not hosted:
            raise AgentError(
                f"the agent {agent.name!r} has the tool {tool.name!r} ({type(tool).__name__}), whose effects cannot be"
                " recorded, so that they would be repeated after a crash",
                suggestion="Put what it does into a function tool.",
            )
    if any(each.__name__ == "SandboxAgent" for each in type(agent).__mro__):
        raise AgentError(
            f"the agent {agent.name!r} works in a sandbox, whose effects cannot be recorded",
            suggestion="Run it inside a function tool of another agent: it is one step then.",
        )


def without_retries(settings: ModelSettings) -> ModelSettings:
    """The settings without the SDK's retries and time limit, which are the step's matter."""
    if settings.retry is None and settings.timeout is None:
        return settings
    return replace(settings, retry=None, timeout=None)


def durable_guardrails(guardrails: list[Any], first: int = 0) -> list[Any]:
    """Guardrails whose agents are nodes, each below a node of the guardrail."""
    return [_durable_guardrail(each, first + at) for at, each in enumerate(guardrails)]


def durable_run_guardrails(guardrails: list[Any] | None) -> list[Any] | None:
    """As `durable_guardrails`, for those of a run's configuration."""
    return None if guardrails is None else durable_guardrails(guardrails, _FIRST_OF_RUN)


def _durable_guardrail(guardrail: AnyGuardrail, position: int) -> AnyGuardrail:
    # Those for the input may run beside the first request, so that the turn cannot be read from it.
    of_input = isinstance(guardrail, InputGuardrail)
    name = f"guardrail {guardrail.get_name()}"

    async def check(*given: Any) -> Any:
        life = current_life()
        if life is None:
            return await _awaited(guardrail.guardrail_function(*given))
        async with life.scope.scope("tool", name, Place(0 if of_input else life.turn, position)) as scope:
            with steps.entered(scope):
                return await _awaited(guardrail.guardrail_function(*given))

    durable = copy.copy(guardrail)
    durable.name = guardrail.get_name()
    durable.guardrail_function = check
    return durable


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def describe(agent: Agent[Any]) -> dict[str, Any]:
    """What a person wants to know of an agent."""
    model = agent.model.model if isinstance(agent.model, StepModel) else agent.model
    named = sdk.name_of(model, None) if isinstance(model, Model) else sdk.name_of(None, model)
    return {"model": named, "tools": [each.name for each in agent.tools]}


def hosted_tools(agent: Agent[Any]) -> list[str]:
    """The tools that the provider runs, as part of a model call."""
    return [each.name for each in agent.tools if not isinstance(each, FunctionTool)]
