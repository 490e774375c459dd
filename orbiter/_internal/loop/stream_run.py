"""The streamed run of one agent: the loop of `AgentRun` as a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from inspect import isawaitable
from time import perf_counter, time
from typing import Any

from orbiter import steps
from orbiter._internal.concurrency import cancel_and_wait
from orbiter._internal.loop.agent_run import AgentRun
from orbiter._internal.loop.corrections import ask_about, find_mistake, validate_output
from orbiter._internal.loop.error_wrapping import is_context_length_error, is_not_retryable, wrap_run_error
from orbiter._internal.loop.event_sink import EventSink, current_sink
from orbiter._internal.loop.model_calls import (
    ask_model,
    build_call,
    record_failure,
    run_post_hooks,
    run_pre_hooks,
    switch_model,
)
from orbiter._internal.loop.model_step import ModelCall, parse_reply
from orbiter._internal.loop.run_results import StreamNotFinishedError, result_of, sum_usage
from orbiter._internal.loop.streamed_reply import StreamedReply
from orbiter._internal.loop.tool_calls import call_tool
from orbiter._internal.loop.tool_step import ToolInvocation
from orbiter.errors import text_of
from orbiter.hooks import HookPoint
from orbiter.steps import Place
from orbiter.types import (
    AgentOutput,
    ErrorEvent,
    ReasoningEvent,
    RunResult,
    StatusEvent,
    StepEvent,
    StreamEvent,
    TextEvent,
    ToolCallEvent,
    ToolResult,
    ToolResultEvent,
    UsageEvent,
    content_text,
)


class StreamedRun(AgentRun):
    """An `AgentRun` that tells what happens.

    `events` is a generator and sets no context variable: its body shares its caller's context. `run`, as in `AgentRun`,
    drives it and hands the events to the sink.
    """

    ENTRY = ("stream()", "run.stream(agent, …)")
    __slots__ = ("output", "results", "streaming", "target", "wanted")

    def __init__(
        self,
        *args: Any,
        wanted: frozenset[str],
        target: EventSink | None = None,
        max_steps: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.wanted = wanted
        self.target = target
        self.output: AgentOutput | None = None
        self.results: dict[int, ToolResult] = {}
        self.streaming = False
        if max_steps is not None:
            self.max_steps = max_steps

    def result(self) -> RunResult:
        """What the run came to.

        Raises:
            StreamNotFinishedError: It has not come to its end, or failed.
        """
        if self.output is None:
            raise StreamNotFinishedError("The stream has no result: it did not come to its end")
        return result_of(self.agent.name, self.output, self.messages, sum_usage(self.usage), self)

    async def _run_turns(self, input: str) -> AgentOutput:
        assert self.target is not None
        put = self.target.put
        async for event in self.events(input):
            put(event)
        assert self.output is not None
        return self.output

    def _streams(self) -> bool:
        """Whether the reply comes in pieces. Under a runtime it is a step like any other, and comes whole."""
        if self.scope is not steps.DIRECT or getattr(self.provider, "stream", None) is None:
            return False
        # Who works for another agent has always been asked for whole replies; only a provider that says so streams.
        worker = self.target is not None and self.target.inner
        return not worker or getattr(type(self.provider), "streams", False) is True

    async def events(  # noqa: PLR0912, PLR0915 - one loop, told in one piece
        self, input: str
    ) -> AsyncGenerator[StreamEvent, None]:
        """All events of this run that are wanted. Ends with `output` set, or raises.

        Without a sink it is the whole of a run: what fails is told as events and raised as a `CallRunnerError`.
        """
        wanted, name, hooks = self.wanted, self.agent.name, self.agent.hook_manager.registered
        number = 0
        try:
            if "status" in wanted:
                yield StatusEvent(status="starting", agent_name=name)
            self.restart()
            await self.begin(input)
            self.streaming = self._streams()
            while True:
                number = self.turn + 1
                await self.scope.turn(self.turn, self.messages)
                began = time()
                if "step" in wanted:
                    yield StepEvent(step_number=number, agent_name=name, status="started", started_at=began)
                if self.streaming:
                    # Written out here and not in a generator of its own: each level costs every token.
                    call = build_call(self)
                    if HookPoint.PRE_LLM_CALL in hooks:
                        await run_pre_hooks(self, call)
                    parts, chunks = StreamedReply(call.model), None
                    try:
                        while True:
                            try:
                                if chunks is None:
                                    chunks = await self._open(call)
                                chunk = parts.add(await chunks.__anext__())
                            except StopAsyncIteration:
                                break
                            except Exception as exc:
                                await _close(chunks)
                                call = await self._retry_or_raise(exc, call, parts.said)
                                parts, chunks = StreamedReply(call.model), None
                                continue
                            if chunk.reasoning_content and "reasoning" in wanted:
                                yield ReasoningEvent(text=chunk.reasoning_content, agent_name=name)
                            if chunk.delta and "text" in wanted:
                                yield TextEvent(text=chunk.delta, agent_name=name)
                    finally:
                        await _close(chunks)
                    steps.log_success(call.attempts - 1)
                    reply = parse_reply(parts.response(), call.model)
                    if HookPoint.POST_LLM_CALL in hooks:
                        await run_post_hooks(self, call, reply)
                    output = self.record_reply(reply)
                else:
                    output = self.record_reply(await ask_model(self))
                    if self.reply is not None and self.reply.reasoning and "reasoning" in wanted:
                        yield ReasoningEvent(text=self.reply.reasoning, agent_name=name)
                    if output.text and "text" in wanted:
                        yield TextEvent(text=output.text, agent_name=name)
                if "usage" in wanted:
                    model = (self.reply.model if self.reply is not None else "") or self.agent.model
                    yield UsageEvent(usage=output.usage, step_number=number, agent_name=name, model=model)
                if output.tool_calls:
                    invocations = self.prepare_calls(output)
                    if "tool_call" in wanted:
                        for each in invocations:
                            yield ToolCallEvent(
                                tool_name=each.tool_name, tool_call_id=each.tool_call_id, agent_name=name
                            )
                    mistake = find_mistake(self, output, invocations)
                    instead = None if mistake is None else await ask_about(self, mistake)
                    self.results.clear()
                    if len(invocations) == 1:
                        came = await self._call_timed(0, invocations[0])
                        if "tool_result" in wanted:
                            yield came
                    else:
                        tasks = [asyncio.create_task(self._call_timed(at, each)) for at, each in enumerate(invocations)]
                        try:
                            for done in asyncio.as_completed(tasks):
                                came = await done
                                if "tool_result" in wanted:
                                    yield came
                        finally:
                            await cancel_and_wait(tasks)
                    results = [self.results[at] for at in range(len(invocations))]
                    final = self.record_results(output, invocations, results, instead)
                else:
                    final = await validate_output(self, output)
                if "step" in wanted:
                    yield StepEvent(
                        step_number=number,
                        agent_name=name,
                        status="completed",
                        started_at=began,
                        completed_at=time(),
                        usage=output.usage,
                    )
                if final is not None:
                    break
            if HookPoint.FINISHED in hooks:
                await self.finish(final)
            self.output = final
            if "status" in wanted:
                yield StatusEvent(status="completed", agent_name=name, message="; ".join(self.warnings))
        except Exception as exc:
            if self.target is not None:
                raise
            error = wrap_run_error(name, exc)
            await self.report_error(exc)
            for event in failure_events(error, name, number, wanted):
                yield event
            if error is exc:
                raise
            raise error from error.__cause__

    async def _open(self, call: ModelCall) -> Any:
        """Begin to stream a reply."""
        call.attempts += 1
        chunks = call.provider.stream(list(call.messages), **call.settings)
        if isawaitable(chunks):
            chunks = await chunks
        return aiter(chunks)

    async def _retry_or_raise(self, exc: Exception, call: ModelCall, said: bool) -> ModelCall:
        """Wait before the next attempt, or ask the next model, or raise: what was said cannot be unsaid."""
        retried = not said and not is_not_retryable(exc)
        delay = steps.plain_retry_delay(exc, call.attempts, self.tries) if retried else None
        if delay is not None:
            await steps.back_off(delay, exc, call.model, call.attempts, self.tries)
            return call
        failure = record_failure(self, exc, call.attempts)
        if not said and not is_context_length_error(exc):
            for model in self._fallbacks_after(call.model):
                other = switch_model(self, call, model, failure)
                if other is not None:
                    return other
        if self.node is not None:
            self.node.children[-1].fail(str(exc))
        raise failure from exc

    def _fallbacks_after(self, model: str) -> tuple[str, ...]:
        chain = self.agent.fallbacks
        return chain[chain.index(model) + 1 :] if model in chain else chain

    async def _call_timed(self, index: int, invocation: ToolInvocation) -> ToolResultEvent:
        """One tool call, in a task of its own: its result goes to its place among the results."""
        token = current_sink.set(self.target.for_tools()) if self.target is not None else None
        began = perf_counter()
        try:
            result = await call_tool(self, Place(self.turn - 1, index), invocation)
        finally:
            if token is not None:
                current_sink.reset(token)
        self.results[index] = result
        return ToolResultEvent(
            tool_name=invocation.tool_name,
            tool_call_id=invocation.tool_call_id,
            arguments=invocation.arguments,
            result=content_text(result.content),
            error=result.error,
            success=result.error is None,
            duration_ms=(perf_counter() - began) * 1000.0,
            agent_name=self.agent.name,
        )


def failure_events(exc: BaseException, name: str, step: int, wanted: frozenset[str]) -> list[StreamEvent]:
    """A failure as the events that end a stream."""
    cause = exc.__cause__ if text_of(exc).startswith("Call runner failed") and exc.__cause__ is not None else exc
    events: list[StreamEvent] = [
        ErrorEvent(error=text_of(cause), error_type=type(cause).__name__, agent_name=name, step_number=step or None)
    ]
    if "status" in wanted:
        events.append(StatusEvent(status="error", agent_name=name, message=text_of(cause)))
    return events


async def _close(chunks: Any) -> None:
    """Let a provider's generator end its request; other iterators have nothing to close."""
    aclose = getattr(chunks, "aclose", None)
    closing = aclose() if callable(aclose) else None
    if isawaitable(closing):
        await closing
