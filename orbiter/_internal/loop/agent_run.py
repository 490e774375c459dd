"""The tool loop of one agent run (seed 001), carried out through the seam.

The body is deterministic: done again, it says the same steps under the same places.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final

from orbiter import steps
from orbiter._internal.loop.agent_run_data import AgentRunData
from orbiter._internal.loop.corrections import ask_about, find_mistake, validate_output
from orbiter._internal.loop.first_messages import called_instructions, first_messages
from orbiter._internal.loop.model_calls import ask_model
from orbiter._internal.loop.model_step import ModelReply, tool_name
from orbiter._internal.loop.tool_calls import (
    call_tool,
    call_tools,
    failure_policy,
    hook_location,
    open_toolsets,
    prepare_call,
)
from orbiter._internal.loop.tool_step import ToolInvocation, as_text
from orbiter._internal.loop.value_step import run_hook_once
from orbiter._internal.values.frozen import build_checked
from orbiter._internal.wall_time import WallTimeExceeded, wall_time
from orbiter.errors import AgentError
from orbiter.hooks import HookPoint
from orbiter.steps import DIRECT, HandedBack, Place, Skipped
from orbiter.types import AgentOutput, AssistantMessage, ToolResult, UserMessage

logger = logging.getLogger("orbiter")

_SAID: Final = {"content", "tool_calls"}
_SAID_WITH_DATA: Final = {*_SAID, "provider_data"}


class AgentRun(AgentRunData):
    """One run of an agent, over its data."""

    ENTRY = ("run()", "run(agent, …)")
    """What is called, and what builds a provider by itself."""
    __slots__ = ()

    def run(self, input: str) -> Coroutine[Any, Any, AgentOutput]:
        """The agent's last reply. To be awaited at once.

        Raises:
            AgentError: No provider, attempts spent, or the conversation is too long.
            OutputParseError: The model spoiled arguments or structured output `max_retries` times in a row.
            LoopDetectedError: The same tool calls too often in a row, where there is a loop detector.
        """
        if steps.inside():
            return self._run_as_node(input)
        limit = self.agent.max_wall_time_s
        return self._run_with_recovery(input) if limit is None else self._run_within_wall_time(input, limit)

    async def _run_as_node(self, input: str) -> AgentOutput:
        """Under a runtime: a node of the run."""
        agent = self.agent
        info: dict[str, Any] = {"task": as_text(input), "model": agent.model, "tools": agent.describe()["tools"]}
        if agent.max_wall_time_s is not None:
            info["budget"] = {"max_wall_time_s": agent.max_wall_time_s}  # the runtime's to enforce
        async with steps.opening("agent", agent.name, info) as scope:
            self.scope = scope
            corrected = scope.corrected_input()
            with steps.asked_of(agent.classify_error, agent.get_retry_policy):
                output = await self._run_with_recovery(input if corrected is None else as_text(corrected))
            scope.outcome(output.text, state="degraded" if self.degraded else "succeeded", note=self.degraded)
            return output

    async def _run_within_wall_time(self, input: str, limit_s: float) -> AgentOutput:
        """Without a runtime: what is under way when the agent's time is over is cancelled."""
        try:
            async with wall_time(f"Subagent '{self.agent.name}'", limit_s):
                return await self._run_with_recovery(input)
        except WallTimeExceeded as exc:
            await self.report_error(exc)
            raise

    async def _run_with_recovery(self, input: str) -> AgentOutput:
        while True:
            try:
                try:
                    return await self._run_turns(input)
                except Exception as exc:
                    if self._can_degrade(exc):
                        return self._degrade(exc)
                    input = await self._recover(exc, input)
            except Skipped as skipped:  # a step of it or, as the answer to its own fault, the whole of it
                return AgentOutput(text=as_text(skipped.value))

    def _can_degrade(self, exc: Exception) -> bool:
        """Whether this is the model's failure for good, and the policy for it ``degrade``."""
        if isinstance(exc, HandedBack):
            return exc.remedy == "degrade" and exc.scope == self.scope.node_id
        return exc is self.failure and self.scope is DIRECT and self.agent.failure.model == "degrade"

    def _degrade(self, exc: Exception) -> AgentOutput:
        """The model failed for good under the policy ``degrade``: what the agent has said so far stands."""
        logger.warning("Agent '%s' goes on without its model: %s", self.agent.name, exc)
        self.degraded = str(exc)
        self.warnings.append(str(exc))
        texts = [message.content for message in self.messages if isinstance(message, AssistantMessage)]
        return AgentOutput(text=next((as_text(text) for text in reversed(texts) if text), ""))

    async def _recover(self, exc: Exception, input: str) -> str:
        """The input with which to do the body again; raises what is not to be healed."""
        try:
            answer = await self.scope.fault(exc)
            if answer.option == "input":
                return as_text(answer.value)
            if answer.option != "retry":
                raise exc
        except Exception as final:
            await self.report_error(final)
            raise
        return input

    async def report_error(self, exc: Exception) -> None:
        """Fire ERROR hooks. One that raises itself must not hide what it was told of."""
        hooks = self.agent.hook_manager
        if not hooks.has_hooks(HookPoint.ERROR):
            return
        try:
            await hooks.run(HookPoint.ERROR, agent=self.agent, error=exc, **hook_location(self.scope, self.turn))
        except Exception as second:
            logger.warning("An ERROR hook of agent '%s' failed", self.agent.name, exc_info=second)
            exc.add_note(f"An ERROR hook failed too: {type(second).__name__}: {second}")

    async def _run_turns(self, input: str) -> AgentOutput:
        self.restart()
        await self.begin(input)
        typed, direct = self.agent.output_type is not None, self.scope is DIRECT
        while True:
            if not direct:  # plain `run` has no breakpoints and no injected messages
                await self.scope.turn(self.turn, self.messages)
            output = self.record_reply(await ask_model(self))
            if output.tool_calls:
                final = await self._use_tools(output)
            elif typed:
                final = await validate_output(self, output)
            else:
                final = output
            if final is not None:
                if HookPoint.FINISHED in self.agent.hook_manager.registered:
                    await self.finish(final)
                return final

    # --- beginning and end --------------------------------------------------------------------------------------------

    async def begin(self, input: str) -> None:
        """Hooks, instructions, messages and tools, before the first question."""
        agent = self.agent
        if self.provider is None:
            self.provider = self._build_provider()
        if HookPoint.START in agent.hook_manager.registered:
            await self._fire(HookPoint.START, "start", 0, {"input": as_text(input)}, input=input)
        instructions = agent.instructions
        if not isinstance(instructions, str):
            instructions = await called_instructions(agent, self.scope)
        self.messages = first_messages(agent, self.provider, self.history, input, instructions)
        if agent.toolsets:
            await open_toolsets(self)
        schemas = agent.get_tool_schemas()
        if self.extra_tools:
            schemas = [*schemas, *(tool.to_schema() for tool in self.extra_tools.values())]
        self.schemas = schemas or None
        if self.scope is not DIRECT:
            self.tool_names = [tool_name(schema) for schema in schemas]

    def _build_provider(self) -> Any:
        provider = None
        if self.resolve is not None:
            # A reply that is recorded needs no key; a later call that is not asks for it.
            recorded = self.scope.recorded("llm", Place(0)) is not None
            provider = self.resolve(self.agent, check=not recorded)
        if provider is None:
            called, building = self.ENTRY
            raise AgentError(
                f"Agent '{self.agent.name}' requires a provider for {called}",
                suggestion=f"Use {building}, which builds one from the model string, or pass provider=.",
            )
        return provider

    async def finish(self, output: AgentOutput) -> None:
        """FINISHED hooks, after the last reply."""
        await self._fire(HookPoint.FINISHED, "finished", self.turn, {}, output=output.text)

    async def _fire(self, point: HookPoint, name: str, seq: int, recorded: dict[str, Any], **data: Any) -> None:
        place = hook_location(self.scope, seq)
        fire = partial(self.agent.hook_manager.run, point, agent=self.agent, **data, **place)
        await run_hook_once(self.scope, name, Place(seq), fire, recorded, agent=self.agent.name)

    # --- one turn -----------------------------------------------------------------------------------------------------

    def record_reply(self, reply: ModelReply) -> AgentOutput:
        """Book a reply, and put it into the conversation."""
        self.reply = reply
        reply.raw = None  # it was for the hooks, which have run; what the agent works with is not held twice
        self.turn += 1
        output, data = reply.output, reply.provider_data
        self.usage.append(output.usage)
        said = {
            "role": "assistant",
            "content": output.text,
            "tool_calls": list(output.tool_calls),
            "provider_data": data,
        }
        self.messages.append(build_checked(AssistantMessage, said, _SAID if data is None else _SAID_WITH_DATA))
        self.new_from = len(self.messages)
        if self.node is not None:
            child = self.node.children[-1]
            child.tool_calls = list(output.tool_calls)
            child.metadata["model"] = reply.model or self.agent.model
            child.succeed(output.usage)
        return output

    async def _use_tools(self, output: AgentOutput) -> AgentOutput | None:
        invocations = self.prepare_calls(output)
        mistake = find_mistake(self, output, invocations)
        instead = None if mistake is None else await ask_about(self, mistake)
        turn = self.turn - 1
        if len(invocations) == 1:
            results = [await call_tool(self, Place(turn, 0), invocations[0])]
        else:
            results = await call_tools(self, turn, invocations)
        return self.record_results(output, invocations, results, instead)

    def prepare_calls(self, output: AgentOutput) -> list[ToolInvocation]:
        """The calls of a reply, ready to be made or to be refused."""
        return [prepare_call(self, call) for call in output.tool_calls]

    def record_results(
        self, output: AgentOutput, invocations: list[ToolInvocation], results: list[ToolResult], instead: str | None
    ) -> AgentOutput | None:
        """Book the results. Returns the agent's output if its steps are spent."""
        self.messages.extend(results)
        for invocation, result in zip(invocations, results, strict=True):
            if result.error is not None and failure_policy(self.agent, invocation) == "degrade":
                self.degraded = f"Tool '{invocation.tool_name}' failed: {result.error}"
                self.warnings.append(self.degraded)
        if instead is not None:
            self.messages.append(UserMessage(content=instead))
        # A reply that was only spoiled is corrected, which costs none of the agent's steps.
        if not self.invalid_replies:
            self.steps_used += 1
            if self.steps_used >= self.max_steps:
                return self._exhaust(output)
        return None

    def _exhaust(self, output: AgentOutput) -> AgentOutput:
        """`max_steps` are spent: the last output stands as it is (seed 001), with a warning."""
        text = f"Agent '{self.agent.name}' stopped after max_steps={self.max_steps} without a final answer"
        self.exhausted = True
        self.warnings.append(text)
        self.scope.warn(text)
        logger.warning(text)
        return output
