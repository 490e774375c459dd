"""One agent run with its record: state, transcript, summed usage, loop detection (seed 001, "Full Execution Trace").

The outermost try/except around an agent: what escapes from it is a `CallRunnerError`, and of the cause's class too.
"""

from __future__ import annotations

import builtins
import json
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from orbiter._internal.agent_run import AgentRun, prepared
from orbiter._internal.causes import sole
from orbiter._internal.failing import wrapped
from orbiter._internal.repeats import Repeats
from orbiter._internal.results import result_of, total
from orbiter._internal.sink import Sink, sink
from orbiter.agent import Agent
from orbiter.errors import CallRunnerError, LoopDetectedError
from orbiter.types import NO_USAGE, AgentOutput, AssistantMessage, Message, RunResult, TextEvent, Usage, UserMessage

if TYPE_CHECKING:
    from orbiter._internal.tool_calls import Peers
    from orbiter._internal.state import RunNode, RunState

__all__ = ["CallRunnerError", "call_runner"]

# What `Agent.run` is as long as nobody replaces it, in a subclass or on the class itself.
_PLAIN_RUN = Agent.run

_NOTHING: Mapping[str, Any] = {}

async def call_runner(
    agent: Any,
    input: str,
    *,
    state: RunState | None = None,
    messages: list[Message] | None = None,
    provider: Any = None,
    max_retries: int = 3,
    loop_threshold: int = 3,
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
    return await run_agent(
        agent,
        input,
        state=state,
        messages=messages,
        provider=provider,
        max_retries=max_retries,
        loop_threshold=loop_threshold,
    )


async def run_agent(
    agent: Any,
    input: str,
    *,
    state: RunState | None = None,
    messages: list[Message] | None = None,
    provider: Any = None,
    max_retries: int = 3,
    loop_threshold: int = 3,
    delegates: Mapping[str, Any] = _NOTHING,
    peers: Peers | None = None,
    resolve: Callable[[Any], Any] | None = None,
) -> RunResult:
    """As `call_runner`, with tools and peers for this run alone, and a way to build a missing provider."""
    node: RunNode | None = None
    if state is None:
        repeats = Repeats(loop_threshold)
    else:
        node = state.new_node(agent.name)
        state.start()
        node.start()
        repeats = _repeats(state, loop_threshold)
    try:
        if not isinstance(agent, Agent):
            if provider is None and resolve is not None:
                provider = resolve(agent)
            return await _run_foreign(agent, input, state, node, messages, provider, max_retries, repeats, delegates)
        target = sink.get()
        kind = AgentRun if target is None else partial(_streamed, target)
        run = kind(
            agent,
            history=messages,
            provider=provider,
            max_retries=max_retries,
            repeats=repeats,
            delegates=delegates,
            peers=peers,
            node=node,
            resolve=resolve,
        )
        if type(agent).run is _PLAIN_RUN and "run" not in vars(agent):
            output = await run.run(input)
        else:
            output = await _run_overridden(run, input, messages, max_retries)
            if not run.messages:
                return _foreign_result(agent, input, output, state, node, messages, repeats)
        if node is not None and repeats.signature is not None:
            node.metadata["tool_signature"] = repeats.signature
            node.metadata["tool_repeats"] = repeats.count
        usage, agent_runs = total(run.usage), 1
        if state is not None and node is not None:
            usage, agent_runs = _booked(output, run.messages, usage, state, node)
        return result_of(agent.name, output, run.messages, usage, run, agent_runs)
    except CancelledError:
        if state is not None:
            state.cancel()
        raise
    except LoopDetectedError as exc:
        _fail(state, node, exc, "Endless loop detected")
        raise
    except Exception as exc:
        _fail(state, node, exc)
        error = wrapped(agent.name, exc)
        if error is exc:
            raise
        raise error


async def _run_overridden(run: AgentRun, input: str, messages: list[Message] | None, max_retries: int) -> Any:
    """A subclass has a `run` of its own; when it calls `Agent.run`, that carries out `run`."""
    agent = run.agent
    provider = run.provider if run.provider is not None or run.resolve is None else run.resolve(agent)
    token = prepared.set(run)
    try:
        return await agent.run(input, messages=messages, provider=provider, max_retries=max_retries)
    finally:
        prepared.reset(token)


def _streamed(target: Sink, agent: Agent, **settings: Any) -> AgentRun:
    """A run that tells its events."""
    from orbiter._internal.stream_run import StreamedRun  # noqa: PLC0415 - only who streams pays for it

    return StreamedRun(agent, wanted=target.wanted, target=target, max_steps=target.max_steps, **settings)


async def _run_foreign(
    agent: Any,
    input: str,
    state: RunState | None,
    node: RunNode | None,
    messages: list[Message] | None,
    provider: Any,
    max_retries: int,
    repeats: Repeats,
    delegates: Mapping[str, Any],
) -> RunResult:
    """An agent that is not ours: its output is all we see of it. Tools of this run alone go into a copy of it."""
    if delegates:
        agent = copy(agent)
        agent.tools = {**agent.tools, **delegates}
    output = await agent.run(input, messages=messages, provider=provider, max_retries=max_retries)
    return _foreign_result(agent, input, output, state, node, messages, repeats)


def _foreign_result(
    agent: Any,
    input: str,
    output: Any,
    state: RunState | None,
    node: RunNode | None,
    messages: list[Message] | None,
    repeats: Repeats,
) -> RunResult:
    if isinstance(output, RunResult):
        usage, transcript = output.usage, list(output.messages)
        output = AgentOutput(text=output.output, usage=usage, parsed=output.parsed)
    else:
        usage = getattr(output, "usage", None) or NO_USAGE
        text = output if isinstance(output, str) else output.text
        calls = list(getattr(output, "tool_calls", None) or ())
        output = AgentOutput(text=text, tool_calls=calls, usage=usage)
        transcript = [
            *(messages or ()),
            UserMessage(content=input),
            AssistantMessage(content=text, tool_calls=calls),
        ]
    _check_last_calls(output, node, repeats)
    target = sink.get()
    if target is not None and output.text and "text" in target.wanted:
        target.put(TextEvent(text=output.text, agent_name=agent.name))
    agent_runs = 1
    if state is not None and node is not None:
        usage, agent_runs = _booked(output, transcript, usage, state, node)
    return result_of(agent.name, output, transcript, usage, None, agent_runs)


def _check_last_calls(output: AgentOutput, node: RunNode | None, repeats: Repeats) -> None:
    """Loop check over what an agent that is not ours leaves open: its last tool calls."""
    if not output.tool_calls:
        return
    loop = repeats.add_calls([(call.name, _arguments(call.arguments)) for call in output.tool_calls])
    if node is not None:
        node.metadata["tool_signature"] = repeats.signature
        node.metadata["tool_repeats"] = repeats.count
    if loop is not None:
        raise loop


def _arguments(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return text


def _booked(
    output: AgentOutput, transcript: list[Message], usage: Usage, state: RunState, node: RunNode
) -> tuple[Usage, int]:
    """Write what a run came to into its record. Returns the record's usage and agent runs."""
    node.tool_calls = [
        call for message in transcript if isinstance(message, AssistantMessage) for call in message.tool_calls
    ]
    node.succeed(usage)
    state.messages = list(transcript)
    state.record_usage(usage)
    state.succeed()
    return state.total_usage, len(state.nodes)


def _repeats(state: RunState, threshold: int) -> Repeats:
    """A counter that goes on from where the state's last node stands."""
    last: str | None = None
    count = 0
    for node in state.nodes[:-1]:
        said = node.metadata.get("tool_signature")
        if said is None or said != last:
            last, count = said, 0
        count += node.metadata.get("tool_repeats", 1) if said is not None else 0
    return Repeats(threshold, last=last, count=count)


def _fail(state: RunState | None, node: RunNode | None, exc: BaseException, text: str = "") -> None:
    if state is None or node is None:
        return
    cause = sole(exc)
    if isinstance(cause, builtins.TimeoutError):
        node.timeout(text or str(cause))
        state.timeout(text or str(cause))
    else:
        node.fail(text or str(cause))
        state.fail(text or str(cause))
