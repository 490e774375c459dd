"""Runs an agent as a node: clones in its place, its approvals decided, and the agents that it calls below it.

The SDK has one runner for the process, which agents as tools and user code call too. Ours stands before it: outside of
a recorded run it does nothing of its own.
"""

from __future__ import annotations

import copy
from typing import Any

from agents import Agent, Model, RunConfig, RunResult, RunResultStreaming
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner
from agents.run_state import RunState

from orbiter import steps
from orbiter.guests.openai_agents.approvals import decide
from orbiter.guests.openai_agents.clones import (
    Clones,
    describe,
    durable_run_guardrails,
    hosted_tools,
    without_retries,
)
from orbiter.guests.openai_agents.life import GuestOptions, Life, current_life, entered
from orbiter.guests.openai_agents.model import StepModel, StepProvider
from orbiter.guests.openai_agents.sessions import StepSession
from orbiter.steps import Scope


class StepRunner(AgentRunner):
    """The process's runner of agents. An agent that is run inside a recorded run is a node of it.

    Args:
        runner: The one that was there before.
    """

    def __init__(self, runner: AgentRunner) -> None:
        self.runner = runner

    async def run(self, starting_agent: Agent[Any], input: Any, **kwargs: Any) -> RunResult:
        """As `Runner.run`."""
        life = current_life()
        if life is None or isinstance(input, RunState):
            with entered(None):
                return await self.runner.run(starting_agent, input, **kwargs)
        info = {"task": input if isinstance(input, str) else "", **describe(starting_agent)}
        async with steps.opening("agent", starting_agent.name, info) as scope:
            result = await run_agent(scope, starting_agent, input, life.options, kwargs)
            scope.outcome(str(result.final_output))
            return result

    def run_sync(self, starting_agent: Agent[Any], input: Any, **kwargs: Any) -> RunResult:
        """As `Runner.run_sync`: in a loop of its own, so it is part of the step that it is in."""
        with entered(None):
            return self.runner.run_sync(starting_agent, input, **kwargs)

    def run_streamed(self, starting_agent: Agent[Any], input: Any, **kwargs: Any) -> RunResultStreaming:
        """As `Runner.run_streamed`. Its steps stand in the node that is open; approvals are its reader's matter."""
        life = current_life()
        if life is None or isinstance(input, RunState):
            with entered(None):
                return self.runner.run_streamed(starting_agent, input, **kwargs)
        nested, clone, options, _ = _prepare(steps.current(), starting_agent, life.options, kwargs)
        with entered(nested):
            return self.runner.run_streamed(clone, input, **options)


def install() -> AgentRunner:
    """Put our runner before the process's own.

    Returns:
        The one that runs agents as the SDK alone does.
    """
    found = get_default_agent_runner()
    if isinstance(found, StepRunner):
        return found.runner
    set_default_agent_runner(StepRunner(found))
    return found


async def run_agent(
    scope: Scope, agent: Agent[Any], input: Any, options: GuestOptions, arguments: dict[str, Any]
) -> RunResult:
    """Run an agent from its start in a node that is open.

    Args:
        scope: The node.
        agent: The user's agent.
        input: What it is asked.
        options: What was given to `guest`.
        arguments: Further arguments of `Runner.run`.

    Raises:
        Exception: What the SDK raises.
    """
    runner = install()
    life, clone, arguments, owned = _prepare(scope, agent, options, arguments)
    hosted = hosted_tools(agent)
    if hosted:
        scope.warn(f"{', '.join(hosted)}: the provider runs them as part of a model call, so they cannot be steps")
    try:
        with entered(life):
            result = await runner.run(clone, input, **arguments)
            while result.interruptions:
                state = await decide(life, result)
                rest = {name: value for name, value in arguments.items() if name != "context"}
                result = await runner.run(clone, state, **rest)
        if life.scope is not life.root:
            life.scope.outcome(str(result.final_output))
        await life.close()
        return result
    except BaseException as exc:
        await life.close(exc)
        raise
    finally:
        if owned is not None:
            await owned.aclose()


def _prepare(
    scope: Scope, agent: Agent[Any], options: GuestOptions, arguments: dict[str, Any]
) -> tuple[Life, Agent[Any], dict[str, Any], StepProvider | None]:
    """The life, the clone and the arguments of a run, and the provider that is to be closed after it."""
    given = arguments.get("run_config")
    config = RunConfig(**given) if isinstance(given, dict) else copy.copy(given) if given is not None else RunConfig()
    provider = config.model_provider
    inner = provider.provider if isinstance(provider, StepProvider) else provider
    clones = Clones(inner)
    config.model_provider = StepProvider(inner)
    if isinstance(config.model, Model) and not isinstance(config.model, StepModel):
        config.model = StepModel(config.model, None, inner)
    settings = config.model_settings
    timeout = (settings.timeout if settings is not None else None) or agent.model_settings.timeout
    if settings is not None:
        config.model_settings = without_retries(settings)
    config.tracing_disabled = config.tracing_disabled or not options.tracing
    life = Life(root=scope, scope=scope, agent=agent.name, options=options, model_timeout=timeout)
    if not isinstance(provider, StepProvider):
        config.input_guardrails = durable_run_guardrails(config.input_guardrails)
        config.output_guardrails = durable_run_guardrails(config.output_guardrails)
    session = arguments.get("session")
    changed = {"session": StepSession(session, life)} if session is not None else {}
    owned = config.model_provider if given is None and isinstance(config.model_provider, StepProvider) else None
    return life, clones.of(agent), {**arguments, **changed, "run_config": config}, owned
