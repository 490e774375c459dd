"""`run`, `run.sync` and `run.stream`: how agents and swarms are run (seed 001, "Entry Points")."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection
from typing import TYPE_CHECKING, Any, Protocol

from orbiter import steps
from orbiter._internal.call_runner import CallRunnerError, run_agent, uses_standard_run
from orbiter._internal.groups.members import RunSettings, is_container, run_container
from orbiter._internal.loop.event_sink import wanted_types
from orbiter._internal.loop.loop_detection import LoopDetector
from orbiter._internal.worker_threads import awaiting_loop, pool
from orbiter.errors import AgentError, ExecutionError, OrbiterError
from orbiter.types import Message, RunResult

if TYPE_CHECKING:
    from orbiter._internal.event_stream import EventStream

__all__ = ["CallRunnerError", "NestedLoopError", "provider_for", "run", "why_no_provider"]


class NestedLoopError(ExecutionError, RuntimeError):
    """`run.sync` was called in the thread of a running event loop, which it would block for ever."""


def _resolve_provider(agent: Any) -> Any:
    """A provider for the agent's model string; None where none can be built. Looked up here at each run."""
    try:
        return _build_provider(agent)
    except OrbiterError:
        return None


def _build_provider(agent: Any) -> Any:
    model = getattr(agent, "model", None)
    if not isinstance(model, str) or not model:
        return None
    from orbiter.models.provider import get_provider

    return get_provider(model)


def why_no_provider(agent: Any) -> OrbiterError | None:
    """What keeps a provider from being built; None where nothing does, or the agent has no model to build one from."""
    try:
        _build_provider(agent)
    except OrbiterError as exc:
        return exc
    return None


def provider_for(agent: Any) -> Any:
    """The provider of the agent's own model, checked for what can be known offline; None where it names no model.

    Raises:
        AgentError: No such provider, or its key is missing; the text names the variable.
    """
    provider = _resolve_provider(agent)
    reason = why_no_provider(agent) if provider is None else _why_unusable(provider)
    if reason is not None:
        raise AgentError(
            f"Agent '{agent.name}' requires a provider for run(): {reason}", suggestion=reason.suggestion
        ) from reason
    return provider


def _why_unusable(provider: Any) -> OrbiterError | None:
    from orbiter.models.provider import ModelProvider

    if not isinstance(provider, ModelProvider):
        return None
    try:
        provider.check()
    except OrbiterError as exc:
        return exc
    return None


def _require_name(agent: Any) -> None:
    """Refuse what nothing can run."""
    if not hasattr(agent, "name"):
        raise AgentError(
            f"run() needs an agent, a group or a swarm, got {agent!r}", suggestion="Pass the agent itself."
        )


def _settings_for_foreign(swarm: Any, settings: RunSettings) -> RunSettings:
    """A swarm that is not ours gets the provider of its first agent; ours look up each agent's own."""
    if settings.provider is not None or getattr(type(swarm), "takes_loop_threshold", False):
        return settings
    agents = getattr(swarm, "agents", None)
    if not isinstance(agents, dict) or not agents:
        return settings
    first = agents.get(swarm.flow_order[0]) if swarm.flow_order else next(iter(agents.values()))
    return RunSettings(_resolve_provider(first), settings.max_retries, settings.loop_threshold)


def _sync(
    agent: Any,
    input: str,
    *,
    messages: list[Message] | None = None,
    provider: Any = None,
    max_retries: int = 3,
    loop_threshold: int = 3,
) -> RunResult:
    """`run` for code that is not asynchronous.

    Inside a tool that runs in a thread, the run is handed to the event loop that waits for the tool, as part of the
    run that the tool serves.

    Raises:
        NestedLoopError: Called in an event loop's own thread.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise NestedLoopError(
            "run.sync() cannot be called from a running event loop", suggestion="Use 'await run(…)' there."
        )
    work = run(
        agent,
        input,
        messages=messages,
        provider=provider,
        max_retries=max_retries,
        loop_threshold=loop_threshold,
    )
    if awaiting_loop() is None:
        return asyncio.run(work)
    return pool.run_on_loop(work)


def _stream(
    agent: Any,
    input: str,
    *,
    messages: list[Message] | None = None,
    provider: Any = None,
    max_steps: int | None = None,
    detailed: bool = False,
    event_types: Collection[str] | None = None,
    max_retries: int = 3,
    loop_threshold: int = 3,
) -> EventStream:
    """Run an agent or a swarm and tell what happens as it happens.

    Without more it is the answer as it is written: `TextEvent` and `ToolCallEvent` (and `ErrorEvent`). With `detailed`
    it is everything, that of a team's workers and of runs inside tools too (in swarms; told apart by `agent_name`);
    with `event_types` those types (``text``, ``tool_call``, ``step``, ``tool_result``, ``reasoning``, ``status``,
    ``usage``). Errors are always told, and then raised. `max_steps` goes before the agent's own.

    The stream's `result` is the run's `RunResult`, once it has come to its end. A model call that fails before its
    first word is tried again, up to `max_retries` attempts.

    Raises:
        CallRunnerError: As `run`, after an `ErrorEvent`.
        ConfigurationError: An event type is unknown.
    """
    # Only who streams pays for it.
    from orbiter._internal.event_stream import EventStream
    from orbiter._internal.loop.container_stream import ContainerStream
    from orbiter._internal.loop.stream_run import StreamedRun

    _require_name(agent)
    wanted = wanted_types(detailed, event_types)
    if uses_standard_run(agent) and not steps.inside():
        streamed = StreamedRun(
            agent,
            history=messages,
            provider=provider,
            max_retries=max_retries,
            loop_detector=LoopDetector(loop_threshold),
            resolve=provider_for,
            wanted=wanted,
            max_steps=max_steps,
        )
        return EventStream(streamed.events(input), streamed.result)

    def work() -> Awaitable[RunResult]:
        return run(
            agent,
            input,
            messages=messages,
            provider=provider,
            max_retries=max_retries,
            loop_threshold=loop_threshold,
        )

    all_agents = detailed or event_types is not None
    stream = ContainerStream(agent.name, wanted, detailed=all_agents, max_steps=max_steps, work=work)
    return EventStream(stream.events(), stream.result)


class Run(Protocol):
    """What `run` is: a coroutine function with two more entry points on it."""

    async def __call__(
        self,
        agent: Any,
        input: str,
        *,
        messages: list[Message] | None = None,
        provider: Any = None,
        max_retries: int = 3,
        loop_threshold: int = 3,
    ) -> RunResult:
        """Run an agent or swarm."""
        ...

    def sync(
        self,
        agent: Any,
        input: str,
        *,
        messages: list[Message] | None = None,
        provider: Any = None,
        max_retries: int = 3,
        loop_threshold: int = 3,
    ) -> RunResult:
        """`run` for code that is not asynchronous."""
        ...

    def stream(
        self,
        agent: Any,
        input: str,
        *,
        messages: list[Message] | None = None,
        provider: Any = None,
        max_steps: int | None = None,
        detailed: bool = False,
        event_types: Collection[str] | None = None,
        max_retries: int = 3,
        loop_threshold: int = 3,
    ) -> EventStream:
        """What happens, as it happens."""
        ...


def _entry_points(function: Any) -> Run:
    """`run` with the two entry points on it."""
    function.sync = _sync
    function.stream = _stream
    made: Run = function
    return made


@_entry_points
async def run(
    agent: Any,
    input: str,
    *,
    messages: list[Message] | None = None,
    provider: Any = None,
    max_retries: int = 3,
    loop_threshold: int = 3,
) -> RunResult:
    """Run an agent, a swarm or a group, and say what it came to.

    Args:
        agent: Who runs.
        input: What the user says.
        messages: The conversation before.
        provider: Who answers; None: each agent's own model string decides.
        max_retries: Attempts for each model call, 1, 2, 4 … s apart.
        loop_threshold: Equal tool calls in a row that make an endless loop; 0 or less: no check.

    Raises:
        CallRunnerError: An agent failed; also an instance of the cause's class, so ``except AgentError`` catches it.
        SwarmError: A swarm cannot be run, or handed over too often.
        AgentError: `agent` is nothing of the kind.
    """
    _require_name(agent)
    settings = RunSettings(provider, max_retries, loop_threshold)
    if is_container(agent):
        return await run_container(agent, input, _settings_for_foreign(agent, settings), messages)
    return await run_agent(
        agent,
        input,
        messages=messages,
        provider=provider,
        max_retries=max_retries,
        loop_threshold=loop_threshold,
        resolve=provider_for,
    )
