"""`run`, `run.sync` and `run.stream`: how agents and swarms are run (seed 001, "Entry Points")."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, Unpack, overload

from orbiter import steps
from orbiter._internal.arguments import COUNT, check_argument
from orbiter._internal.call_runner import CallRunnerError, run_agent, uses_standard_run
from orbiter._internal.groups.members import is_container, run_container
from orbiter._internal.keywords import show_keywords
from orbiter._internal.loop.event_sink import wanted_types
from orbiter._internal.loop.loop_detection import LoopDetector
from orbiter._internal.run_options import (
    RUN_DEFAULTS,
    STREAM_DEFAULTS,
    RunOptions,
    RunSettings,
    StreamOptions,
    read_run_options,
)
from orbiter._internal.worker_threads import awaiting_loop, pool
from orbiter.agent import Agent
from orbiter.errors import AgentError, ExecutionError, OrbiterError
from orbiter.types import OutputT_co, Runnable, RunResult

if TYPE_CHECKING:
    from orbiter._internal.event_stream import EventStream

__all__ = [
    "CallRunnerError",
    "NestedLoopError",
    "RunOptions",
    "StreamOptions",
    "provider_for",
    "run",
    "why_no_provider",
]


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
    return _provider_module().get_provider(model)


@cache
def _provider_module() -> Any:
    """`orbiter.models.provider`: loaded with the first run, and asked for by each agent of every one."""
    from orbiter.models import provider

    return provider


def why_no_provider(agent: Any) -> OrbiterError | None:
    """What keeps a provider from being built; None where nothing does, or the agent has no model to build one from."""
    try:
        _build_provider(agent)
    except OrbiterError as exc:
        return exc
    return None


def provider_for(agent: Any, *, check: bool = True) -> Any:
    """The provider of the agent's own model; None where it names no model.

    Args:
        agent: Whose model it is.
        check: Whether it is checked for what can be known offline.

    Raises:
        AgentError: No such provider, or its key is missing; the text names the variable.
    """
    provider = _resolve_provider(agent)
    try:
        if provider is None:
            _build_provider(agent)  # raises what keeps it from being built
        elif check and isinstance(provider, _provider_module().ModelProvider):
            provider.check()
    except OrbiterError as reason:
        raise AgentError(
            f"Agent '{agent.name}' requires a provider for run(): {reason}", suggestion=reason.suggestion
        ) from reason
    return provider


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
    return settings._replace(provider=_resolve_provider(first))


@show_keywords(RunOptions, RUN_DEFAULTS)
def _sync(agent: Runnable, input: str, **options: Unpack[RunOptions]) -> RunResult:
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
    work = run(agent, input, **options)
    if awaiting_loop() is None:
        return asyncio.run(work)
    return pool.run_on_loop(work)


@show_keywords(StreamOptions, STREAM_DEFAULTS)
def _stream(agent: Runnable, input: str, **options: Unpack[StreamOptions]) -> EventStream:
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

    told = read_run_options("run.stream", options, STREAM_DEFAULTS)
    _require_name(agent)
    if told["max_steps"] is not None:
        check_argument("run.stream()", "max_steps", told["max_steps"], COUNT, example="10", error=TypeError)
    wanted = wanted_types(told["detailed"], told["event_types"])
    own_task = steps.inside() or told["errors"] is not None
    if uses_standard_run(agent) and not own_task and getattr(agent, "max_wall_time_s", None) is None:
        # A time limit and an error configuration are for the task that does the work: a generator has none of its own.
        streamed = StreamedRun(
            agent,
            history=told["messages"],
            provider=told["provider"],
            max_retries=told["max_retries"],
            loop_detector=LoopDetector(told["loop_threshold"]),
            resolve=provider_for,
            wanted=wanted,
            max_steps=told["max_steps"],
        )
        return EventStream(streamed.events(input), streamed.result)

    def work() -> Awaitable[RunResult]:
        return _run(agent, input, told)

    all_agents = told["detailed"] or told["event_types"] is not None
    stream = ContainerStream(agent.name, wanted, detailed=all_agents, max_steps=told["max_steps"], work=work)
    return EventStream(stream.events(), stream.result)


class Run(Protocol):
    """What `run` is: a coroutine function with two more entry points on it."""

    @overload
    async def __call__(
        self, agent: Agent[OutputT_co], input: str, **options: Unpack[RunOptions]
    ) -> RunResult[OutputT_co]: ...
    @overload
    async def __call__(self, agent: Runnable, input: str, **options: Unpack[RunOptions]) -> RunResult: ...
    async def __call__(self, agent: Runnable, input: str, **options: Unpack[RunOptions]) -> RunResult:
        """Run an agent or swarm."""
        ...

    @overload
    def sync(self, agent: Agent[OutputT_co], input: str, **options: Unpack[RunOptions]) -> RunResult[OutputT_co]: ...
    @overload
    def sync(self, agent: Runnable, input: str, **options: Unpack[RunOptions]) -> RunResult: ...
    def sync(self, agent: Runnable, input: str, **options: Unpack[RunOptions]) -> RunResult:
        """`run` for code that is not asynchronous."""
        ...

    @overload
    def stream(
        self, agent: Agent[OutputT_co], input: str, **options: Unpack[StreamOptions]
    ) -> EventStream[OutputT_co]: ...
    @overload
    def stream(self, agent: Runnable, input: str, **options: Unpack[StreamOptions]) -> EventStream: ...
    def stream(self, agent: Runnable, input: str, **options: Unpack[StreamOptions]) -> EventStream:
        """What happens, as it happens."""
        ...


def _entry_points(function: Any) -> Run:
    """`run` with the two entry points on it."""
    function.sync = _sync
    function.stream = _stream
    made: Run = function
    return made


@_entry_points
@show_keywords(RunOptions, RUN_DEFAULTS)
async def run(agent: Runnable, input: str, **options: Unpack[RunOptions]) -> RunResult:
    """Run an agent, a swarm or a group, and return its result.

    Args:
        agent: Who runs.
        input: What the user says.
        **options: See `RunOptions`: `messages` (the conversation before), `provider` (who answers; None: each agent's
            own model string decides), `max_retries` (3: attempts for each model call, 1, 2, 4 … s apart),
            `loop_threshold` (3: equal tool calls in a row that make an endless loop; 0 or less: no check) and `errors`
            (an `ErrorHandlingConfig`, over what swarms declare; without a runtime its attempts and waits hold).

    Returns:
        The last answer, with the conversation, tokens and state. `parsed` has the type of the agent's `output_type`.

    Raises:
        CallRunnerError: An agent failed; also an instance of the cause's class, so ``except AgentError`` catches it.
        SwarmError: A swarm cannot be run, or handed over too often.
        AgentError: `agent` cannot be run.
        TypeError: An unknown option, or one of the wrong kind.

    Examples:
        >>> import asyncio
        >>> from orbiter import Agent, run
        >>> from orbiter.models.scripted.provider import Reply, script
        >>> _ = script("hello", [Reply("Good morning.")])
        >>> async def main():
        ...     result = await run(Agent(name="host", model="scripted:hello"), "Hello")
        ...     return result.output
        >>> asyncio.run(main())
        'Good morning.'
    """
    return await _run(agent, input, read_run_options("run", options, RUN_DEFAULTS))


async def _run(agent: Any, input: str, options: RunOptions) -> RunResult:
    """See `run`; `options` has all its keys."""
    _require_name(agent)
    settings, messages = RunSettings.of(options), options["messages"]
    with steps.errors_of_run(options["errors"]):
        if not isinstance(agent, Agent) and is_container(agent):
            return await run_container(agent, input, _settings_for_foreign(agent, settings), messages)
        return await run_agent(agent, input, settings, messages=messages, resolve=provider_for)
