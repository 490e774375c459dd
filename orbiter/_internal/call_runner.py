"""One agent run with its record: state, transcript, summed usage, loop detection (seed 001, "Full Execution Trace").

The outermost try/except around an agent: what escapes from it is a `CallRunnerError`, and of the cause's class too.
"""

from __future__ import annotations

import json
import reprlib
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from pydantic import BaseModel

from orbiter._internal.keywords import show_keywords
from orbiter._internal.loop.agent_run import AgentRun
from orbiter._internal.loop.error_wrapping import wrap_run_error
from orbiter._internal.loop.event_sink import EventSink, current_sink
from orbiter._internal.loop.loop_detection import LoopDetector
from orbiter._internal.loop.prepared_run import prepared_run
from orbiter._internal.loop.run_results import result_of, sum_usage
from orbiter._internal.run_options import RUN_DEFAULTS, RunOptions, RunSettings, read_run_options
from orbiter._internal.values.field_check import wrong_field
from orbiter.agent import Agent
from orbiter.errors import AgentError, CallRunnerError
from orbiter.steps import errors_of_run, inside
from orbiter.types import NO_USAGE, AgentOutput, AssistantMessage, Message, RunResult, TextEvent, UserMessage

if TYPE_CHECKING:
    from orbiter._internal.loop.agent_run_data import ExplainPeer
    from orbiter._internal.state import RunState

__all__ = ["CallRunnerError", "call_runner"]

# What `Agent.run` is unless a program replaces it, in a subclass or on the class itself.
_PLAIN_RUN = Agent.run

_NOTHING: Mapping[str, Any] = {}


@show_keywords(RunOptions, RUN_DEFAULTS)
async def call_runner(
    agent: Any,
    input: str,
    *,
    state: RunState | None = None,
    **options: Unpack[RunOptions],
) -> RunResult:
    """Run one agent and say what it came to.

    `agent` is an `Agent`, or anything with a `name` and ``async run(input, *, messages, provider, max_retries)`` that
    returns something with `text` and `usage`. A `state` that earlier calls have used goes on: usage adds up, and equal
    tool calls in a row are counted over all of them. `loop_threshold` 0 or less: no loop check.

    Raises:
        CallRunnerError: Whatever failed, as its cause; it is also an instance of the cause's class.
        LoopDetectedError: The same tool calls `loop_threshold` times in a row. Also a `CallRunnerError`.
        asyncio.CancelledError: State and node are terminal then.
    """
    told = read_run_options("call_runner", options, RUN_DEFAULTS)
    with errors_of_run(told["errors"]):
        return await run_agent(agent, input, RunSettings.of(told), state=state, messages=told["messages"])


async def run_agent(
    agent: Any,
    input: str,
    settings: RunSettings,
    *,
    state: RunState | None = None,
    messages: list[Message] | None = None,
    delegates: Mapping[str, Any] = _NOTHING,
    peers: ExplainPeer | None = None,
    resolve: Callable[..., Any] | None = None,
) -> RunResult:
    """As `call_runner`, with tools and peers for this run alone, and a way to build a missing provider."""
    record = None
    loop_detector = LoopDetector(settings.loop_threshold)
    if state is not None:
        from orbiter._internal.loop.run_record import RunRecorder

        record = RunRecorder(state, agent.name, loop_detector)
    try:
        if isinstance(agent, Agent):
            target = current_sink.get()
            kind = AgentRun if target is None else partial(_streamed, target)
            run = kind(
                agent,
                history=messages,
                provider=settings.provider,
                max_retries=settings.max_retries,
                loop_detector=loop_detector,
                delegates=delegates,
                peers=peers,
                node=None if record is None else record.node,
                resolve=resolve,
            )
            if uses_standard_run(agent):
                output = await run.run(input)
            else:
                output = await _run_overridden(run, input, messages, settings.max_retries)
            if run.messages:
                result = result_of(agent.name, output, run.messages, sum_usage(run.usage), run)
            else:
                result = _result_of_foreign(agent, input, output, messages, loop_detector)
        else:
            output = await _equip(agent, delegates).run(
                input,
                messages=messages,
                provider=_provider_of(agent, settings.provider, resolve),
                max_retries=settings.max_retries,
            )
            result = _result_of_foreign(agent, input, output, messages, loop_detector)
    except CancelledError:
        if record is not None:
            record.cancel()
        raise
    except Exception as exc:
        if record is not None:
            record.fail(exc)
        error = wrap_run_error(agent.name, exc)
        if error is exc:
            raise
        raise error from error.__cause__
    return result if record is None else record.succeed(result)


def uses_standard_run(agent: Any) -> bool:
    """Whether the agent is ours and its `run` is `Agent.run`: not overridden, not replaced."""
    return isinstance(agent, Agent) and type(agent).run is _PLAIN_RUN and "run" not in vars(agent)


def _provider_of(agent: Any, given: Any, resolve: Callable[..., Any] | None) -> Any:
    """The provider for an agent with a `run` of its own. Under a runtime all of its calls may be recorded and need no
    key, so each that is not asks for it.
    """
    if given is not None or resolve is None:
        return given
    return resolve(agent, check=not inside())


async def _run_overridden(run: AgentRun, input: str, messages: list[Message] | None, max_retries: int) -> Any:
    """A subclass has a `run` of its own; when it calls `Agent.run`, that carries out `run`."""
    agent = run.agent
    provider = _provider_of(agent, run.provider, run.resolve)
    token = prepared_run.set(run)
    try:
        output = await agent.run(input, messages=messages, provider=provider, max_retries=max_retries)
    finally:
        prepared_run.reset(token)
    return read_returned(output, agent.name) if run.messages else output


def _streamed(target: EventSink, agent: Agent, **settings: Any) -> AgentRun:
    """A run that tells its events."""
    from orbiter._internal.loop.stream_run import StreamedRun  # only who streams pays for it

    return StreamedRun(agent, wanted=target.wanted, target=target, max_steps=target.max_steps, **settings)


def _equip(agent: Any, delegates: Mapping[str, Any]) -> Any:
    """An agent that is not ours; tools of this run alone go into a copy of it."""
    if not delegates:
        return agent
    equipped = copy(agent)
    equipped.tools = {**agent.tools, **delegates}
    return equipped


def _result_of_foreign(
    agent: Any, input: str, output: Any, messages: list[Message] | None, loop_detector: LoopDetector
) -> RunResult:
    """The result of an agent that is not ours: its output is all we see of it.

    Raises:
        LoopDetectedError: The tool calls that it leaves open were left open too often.
    """
    whole = read_returned(output, agent.name)
    text, calls = whole.text, whole.tool_calls
    if isinstance(output, RunResult):
        transcript = list(output.messages)
    else:
        transcript = [*(messages or ()), UserMessage(content=input), AssistantMessage(content=text, tool_calls=calls)]
    if calls:
        loop = loop_detector.add_calls([(call.name, _arguments(call.arguments)) for call in calls])
        if loop is not None:
            raise loop
    target = current_sink.get()
    if target is not None and text and "text" in target.wanted:
        target.put(TextEvent(text=text, agent_name=agent.name))
    return result_of(agent.name, whole, transcript, whole.usage)


def read_returned(value: Any, name: str, *, fields: Sequence[str] = ("text", "output")) -> AgentOutput:
    """What an agent that is not ours returned: a text, or something with one in one of these fields.

    Raises:
        AgentError: It has no text, or a field of it cannot be used.
    """
    if isinstance(value, RunResult | AgentOutput):
        kind = RunResult if isinstance(value, RunResult) else AgentOutput
        _check_returned(value, kind, name)
        if isinstance(value, AgentOutput):
            return value
        return AgentOutput.model_construct(text=value.output, usage=value.usage, parsed=value.parsed)
    calls = getattr(value, "tool_calls", None) or []
    whole = AgentOutput.model_construct(
        text=_text_of(value, name, fields),
        tool_calls=list(calls) if isinstance(calls, Iterable) else calls,
        usage=getattr(value, "usage", None) or NO_USAGE,
        parsed=getattr(value, "parsed", None),
    )
    _check_returned(whole, AgentOutput, name)
    return whole


def _check_returned(value: BaseModel, kind: type[BaseModel], name: str) -> None:
    if (wrong := wrong_field(kind, value)) is not None:
        raise _not_a_result(name, f"what cannot be used as its {kind.__name__}: {wrong}")


def _text_of(output: Any, name: str, fields: Sequence[str]) -> str:
    for text in (output, *(getattr(output, each, None) for each in fields)):
        if isinstance(text, str):
            return text
    raise _not_a_result(name, reprlib.repr(output))


def _not_a_result(name: str, what: str) -> AgentError:
    return AgentError(
        f"run() of agent '{name}' returned {what}", hint="It returns a text, an AgentOutput or a RunResult."
    )


def _arguments(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return text
