"""One run of one agent: the tool loop of seed 001, said to the seam.

Everything that changes while an agent runs stands here and nothing of it in the agent, so that one agent can be run a
thousand times at once. The body is deterministic: done again, it says the same steps under the same places.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from orbiter import steps
from orbiter._internal.composite import call_composite
from orbiter._internal.concurrent import side_by_side
from orbiter._internal.failing import is_context_length_error, is_hopeless
from orbiter._internal.message_builder import build_messages
from orbiter._internal.model_step import LLM_CODEC, ModelCall, Reply, complete, stream
from orbiter._internal.output_parser import OutputParseError, parse_structured_output, parse_tool_call
from orbiter._internal.repeats import Repeats
from orbiter._internal.structured import format_instructions
from orbiter._internal.tool_step import REFUSED_TRAITS, TOOL_CODEC, ToolInvocation, as_text, invoke, traits_of
from orbiter._internal.value_step import hook_once, record_value
from orbiter.errors import AgentError
from orbiter.hooks import HookPoint
from orbiter.steps import Place, Scope, Skipped, Step
from orbiter.types import AgentOutput, AssistantMessage, Message, SystemMessage, ToolCall, ToolResult, UserMessage

if TYPE_CHECKING:
    from orbiter._internal.state import RunNode
    from orbiter.agent import Agent

logger = logging.getLogger("orbiter")

_NO_TOOLS: Mapping[str, Any] = {}

Peers = Callable[[str], str | None]


class AgentRun:
    """What one run of an agent needs and collects.

    Args:
        agent: Who runs.
        history: The conversation before.
        provider: Who answers.
        resolve: Builds a provider from the agent's model where none was given; inside the agent's node, so that a
            missing key is a fault of this agent that can be healed.
        max_retries: Attempts for a model call, and replies that a model may spoil in a row. 0 counts as 1.
        repeats: Counts equal tool calls in a row; None: nobody looks.
        delegates: Tools of this run alone, by name: a team's delegate tools.
        peers: Gives for another agent's name what the model should do to reach it; None for strangers.
        node: The run's node in a `RunState`, to which each model call is added as a child.
    """

    __slots__ = (
        "agent",
        "delegates",
        "exhausted",
        "fresh",
        "history",
        "hook_error",
        "max_steps",
        "messages",
        "node",
        "peers",
        "provider",
        "repeats",
        "reply",
        "resolve",
        "schemas",
        "scope",
        "spent",
        "spoiled",
        "tries",
        "turn",
        "usage",
        "warnings",
    )

    def __init__(
        self,
        agent: Agent,
        *,
        history: list[Message] | None,
        provider: Any,
        max_retries: int,
        repeats: Repeats | None = None,
        delegates: Mapping[str, Any] = _NO_TOOLS,
        peers: Peers | None = None,
        node: RunNode | None = None,
        resolve: Callable[[Any], Any] | None = None,
    ) -> None:
        self.agent = agent
        self.history = history
        self.provider = provider
        self.tries = max_retries if max_retries > 0 else 1
        self.repeats = repeats
        self.delegates = delegates
        self.peers = peers
        self.node = node
        self.resolve = resolve
        self.max_steps = agent.max_steps
        self.scope: Scope = steps.DIRECT
        self.hook_error: BaseException | None = None
        self.reply: Reply | None = None
        self._reset()

    def restart(self) -> None:
        """Back to the beginning, if the body was begun before: done again it counts anew."""
        if not self.messages:
            return
        self._reset()
        if self.repeats is not None:
            self.repeats.rewind()
        if self.node is not None:
            self.node.children.clear()

    def _reset(self) -> None:
        self.messages: list[Message] = []
        self.schemas: list[dict[str, Any]] | None = None
        self.usage: list[Any] = []
        self.warnings: list[str] = []
        self.turn = 0
        self.spent = 0
        self.spoiled = 0
        self.fresh = 0
        self.exhausted = False

    async def run(self, input: str) -> AgentOutput:
        """The agent's last reply.

        Raises:
            AgentError: No provider, attempts spent, or the conversation is too long.
            OutputParseError: The model spoiled arguments or structured output `max_retries` times in a row.
            LoopDetectedError: The same tool calls too often in a row, where somebody counts.
        """
        if not steps.inside():
            return await self._attempts(input)
        agent = self.agent
        async with steps.opening("agent", agent.name, {"task": as_text(input), "model": agent.model}) as scope:
            self.scope = scope
            output = await self._attempts(input)
            scope.outcome(output.text)
            return output

    async def _attempts(self, input: str) -> AgentOutput:
        while True:
            try:
                try:
                    return await self._body(input)
                except Exception as exc:
                    input = await self._failed(exc, input)
            except Skipped as skipped:  # a step of it, or, as the answer to its own fault, the whole of it
                return AgentOutput(text=as_text(skipped.value))

    async def _failed(self, exc: Exception, input: str) -> str:
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
            await hooks.run(HookPoint.ERROR, agent=self.agent, error=exc)
        except Exception as second:
            logger.warning("An ERROR hook of agent '%s' failed", self.agent.name, exc_info=second)
            exc.add_note(f"An ERROR hook failed too: {type(second).__name__}: {second}")

    async def _body(self, input: str) -> AgentOutput:
        self.restart()
        await self.begin(input)
        while True:
            await self.scope.turn(self.turn, self.messages)
            output = await self.ask()
            final = await self.use(output)
            if final is not None:
                return await self.finish(final)

    # --- beginning and end --------------------------------------------------------------------------------------------

    async def begin(self, input: str) -> None:
        """Hooks, instructions, messages and tools, before the first question."""
        agent = self.agent
        if self.provider is None and self.resolve is not None:
            self.provider = self.resolve(agent)
        if self.provider is None:
            raise self.no_provider()
        if agent.hook_manager.has_hooks(HookPoint.START):
            await self._fire(HookPoint.START, "start", 0, {"input": as_text(input)}, input=input)
        instructions = agent.instructions
        if not isinstance(instructions, str):
            instructions = await record_value(
                self.scope, "instructions", Place(0), _instructions, {"_agent": agent}, agent=agent.name
            )
        if agent.output_type is not None and not getattr(type(self.provider), "structured", False):
            instructions = format_instructions(instructions, agent.output_type)
        self.messages = build_messages(instructions, self._history_without(instructions))
        self.messages.append(UserMessage(content=input))
        self.schemas = agent.get_tool_schemas()
        if self.delegates:
            self.schemas = [*self.schemas, *(tool.to_schema() for tool in self.delegates.values())]
        self.schemas = self.schemas or None

    def no_provider(self) -> AgentError:
        """The error for a run without a provider."""
        return AgentError(
            f"Agent '{self.agent.name}' requires a provider for run()",
            suggestion="Use run(agent, …), which builds one from the model string, or pass provider=.",
        )

    def _history_without(self, instructions: str) -> list[Message]:
        """The history, less this agent's own instructions from an earlier run: they would stand there twice."""
        history = self.history
        if not history:
            return []
        return [m for m in history if not (isinstance(m, SystemMessage) and m.content == instructions)]

    async def finish(self, output: AgentOutput) -> AgentOutput:
        """FINISHED hooks, after the last reply."""
        if self.agent.hook_manager.has_hooks(HookPoint.FINISHED):
            await self._fire(HookPoint.FINISHED, "finished", self.turn, {}, output=output.text)
        return output

    async def _fire(self, point: HookPoint, name: str, seq: int, recorded: dict[str, Any], **data: Any) -> None:
        fire = partial(self.agent.hook_manager.run, point, agent=self.agent, **data)
        if self.scope is steps.DIRECT:
            await fire()
        else:
            await hook_once(self.scope, name, Place(seq), fire, recorded, agent=self.agent.name)

    # --- asking the model ---------------------------------------------------------------------------------------------

    def call(self) -> ModelCall:
        """The question of this turn."""
        agent = self.agent
        call = ModelCall(
            self.provider,
            agent.model,
            self.messages,
            self.schemas,
            agent.temperature,
            agent.max_tokens,
            agent.output_type,
            fresh=self.fresh,
            agent_name=agent.name,
        )
        if agent.output_type is not None and getattr(type(self.provider), "structured", False):
            call.extras = {"output_type": agent.output_type}
        return call

    async def ask(self) -> AgentOutput:
        """One LLM step."""
        agent = self.agent
        hooks = agent.hook_manager
        call = self.call()
        step = Step(
            "llm",
            agent.model,
            agent.name,
            Place(self.turn),
            call,
            complete,
            LLM_CODEC,
            agent.traits,
            self.before_llm if hooks.has_hooks(HookPoint.PRE_LLM_CALL) else None,
            self.after_llm if hooks.has_hooks(HookPoint.POST_LLM_CALL) else None,
            stream if getattr(type(self.provider), "streams", False) else None,
            self.tries,
            is_hopeless,
        )
        if self.node is not None:
            self.node.new_child().start()
        try:
            reply = await self.scope.step(step)
        except steps.Aborted:
            raise
        except Exception as exc:
            if exc is self.hook_error:
                raise
            if self.node is not None:
                self.node.children[-1].fail(str(exc))
            raise self.model_failed(exc, call.attempts) from exc
        return self.take(reply)

    async def asking(self, call: ModelCall) -> None:
        """What comes before a question that is streamed and so is no step: PRE hooks."""
        if self.node is not None:
            self.node.new_child().start()
        if self.agent.hook_manager.has_hooks(HookPoint.PRE_LLM_CALL):
            await self.before_llm(call)

    async def answered(self, call: ModelCall, reply: Reply) -> AgentOutput:
        """What comes after it: POST hooks."""
        if self.agent.hook_manager.has_hooks(HookPoint.POST_LLM_CALL):
            await self.after_llm(call, reply)
        return self.take(reply)

    def take(self, reply: Reply) -> AgentOutput:
        """Book a reply."""
        self.reply = reply
        self.turn += 1
        output = reply.output
        self.usage.append(output.usage)
        if self.node is not None:
            child = self.node.children[-1]
            child.tool_calls = output.tool_calls
            child.metadata["model"] = reply.model or self.agent.model
            child.succeed(output.usage)
        return output

    def model_failed(self, exc: Exception, attempts: int) -> AgentError:
        """A model call's failure in the words of seed 000."""
        name = self.agent.name
        if is_context_length_error(exc):
            return AgentError(f"Context length exceeded on agent '{name}': {exc}")
        return AgentError(f"Agent '{name}' failed after {max(1, attempts)} retries: {exc}")

    async def before_llm(self, call: ModelCall) -> None:
        """PRE_LLM_CALL hooks get the live list and may edit it."""
        try:
            await self.agent.hook_manager.run(HookPoint.PRE_LLM_CALL, agent=self.agent, messages=call.messages)
        except Exception as exc:
            self.hook_error = exc
            raise

    async def after_llm(self, call: ModelCall, reply: Reply) -> None:
        """POST_LLM_CALL hooks get what the provider returned."""
        response = reply.output if reply.raw is None else reply.raw
        try:
            await self.agent.hook_manager.run(HookPoint.POST_LLM_CALL, agent=self.agent, response=response)
        except Exception as exc:
            self.hook_error = exc
            raise

    # --- using the reply ----------------------------------------------------------------------------------------------

    async def use(self, output: AgentOutput) -> AgentOutput | None:
        """Act on a reply. Returns the agent's output, or None if the model is to be asked again."""
        self.keep(output)
        if not output.tool_calls:
            return await self.settle(output)
        invocations = self.prepare(output)
        said = await self.check(output, invocations)
        results = await self.act(invocations)
        return self.after_tools(output, results, said)

    def keep(self, output: AgentOutput) -> None:
        """The reply as a message of the conversation."""
        data = self.reply.provider_data if self.reply is not None else None
        if data is None:
            message = AssistantMessage(content=output.text, tool_calls=output.tool_calls)
        else:
            message = AssistantMessage(content=output.text, tool_calls=output.tool_calls, provider_data=data)
        self.messages.append(message)
        self.fresh = len(self.messages)

    def prepare(self, output: AgentOutput) -> list[ToolInvocation]:
        """The calls of a reply, ready to be made or to be refused."""
        return [self._prepare(call) for call in output.tool_calls]

    async def check(self, output: AgentOutput, invocations: list[ToolInvocation]) -> str | None:
        """Stop what goes round in a circle or is spoiled too often. Returns what an operator says to the model instead."""
        at = self.turn - 1
        said: str | None = None
        if self.repeats is not None:
            loop = self.repeats.add(invocations)
            if loop is not None:
                said = await self._in_place(loop, at)
                self.repeats.start_anew()
        bad = next((invocation for invocation in invocations if invocation.malformed), None)
        if bad is None:
            self.spoiled = 0
        else:
            self.spoiled += 1
            if self.spoiled >= self.tries:
                said = await self._in_place(OutputParseError(bad.problem or "", raw=output.text), at) or said
                self.spoiled = 0
        return said

    async def _in_place(self, exc: Exception, turn: int) -> str | None:
        """Fault at a turn. Returns an operator's words for the model, None to simply go on."""
        answer = await self.scope.fault(exc, at=turn)
        if answer.option == "input":
            return as_text(answer.value)
        if answer.option != "retry":
            raise exc
        return None

    def after_tools(
        self, output: AgentOutput, results: list[ToolResult], said: str | None
    ) -> AgentOutput | None:
        """Book the results. Returns the agent's output if its steps are spent."""
        self.messages.extend(results)
        if said is not None:
            self.messages.append(UserMessage(content=said))
        if not self.spoiled:
            self.spent += 1
            if self.spent >= self.max_steps:
                return self._exhaust(output)
        return None

    def _exhaust(self, output: AgentOutput) -> AgentOutput:
        """`max_steps` are spent: the last output stands as it is (seed 001), but somebody should know."""
        text = f"Agent '{self.agent.name}' stopped after max_steps={self.max_steps} with tool calls still open"
        self.exhausted = True
        self.warnings.append(text)
        self.scope.warn(text)
        logger.warning(text)
        return output

    async def settle(self, output: AgentOutput) -> AgentOutput | None:
        """An answer without tool calls. Structured output that does not fit goes back to the model, within `max_retries`."""
        expected = self.agent.output_type
        if expected is None:
            return output
        try:
            return output.model_copy(update={"parsed": parse_structured_output(output.text, expected)})
        except OutputParseError as exc:
            error = exc
        self.spoiled += 1
        if self.spoiled < self.tries:
            self.messages.append(UserMessage(content=_correction(error)))
            return None
        answer = await self.scope.fault(error, at=self.turn - 1)
        self.spoiled = 0
        if answer.option == "result":
            text = as_text(answer.value)
            return AgentOutput(text=text, usage=output.usage, parsed=parse_structured_output(text, expected))
        if answer.option not in ("input", "retry"):
            raise error
        said = as_text(answer.value) if answer.option == "input" else _correction(error)
        self.messages.append(UserMessage(content=said))
        return None

    # --- tools --------------------------------------------------------------------------------------------------------

    def _prepare(self, call: ToolCall) -> ToolInvocation:
        name = call.name
        tool = self.delegates.get(name) or self.agent.tools.get(name)
        problem = None if tool is not None else self._unknown(name)
        try:
            arguments = from_json(call.arguments)
        except ValueError:
            arguments = None
        if type(arguments) is not dict:
            # Slower, and with the words of seed 000 for what is wrong.
            try:
                arguments = parse_tool_call(call).arguments
            except OutputParseError as exc:
                return ToolInvocation(tool, name, {}, call.id, self.agent, problem or str(exc), problem is None)
        return ToolInvocation(tool, name, arguments, call.id, self.agent, problem)

    def _unknown(self, name: str) -> str:
        """What to say to a model that calls a tool that is not there; an agent's name gets what to do instead (seed 003)."""
        text = f"Unknown tool '{name}'"
        pattern = self.peers(name) if self.peers is not None else None
        if pattern is None and name in self.agent.handoffs:
            pattern = handoff_pattern(name)
        if pattern is not None:
            return f"{text}: '{name}' is an agent, not a tool. {pattern}"
        known = [*self.agent.tools, *self.delegates]
        return f"{text}. Available tools: {', '.join(known)}" if known else f"{text}. You have no tools; answer in text."

    async def act(self, invocations: list[ToolInvocation]) -> list[ToolResult]:
        """Run the calls of one reply, side by side if there are several."""
        if len(invocations) == 1:
            return [await self.call_tool(0, invocations[0])]
        return await side_by_side([self.call_tool(index, each) for index, each in enumerate(invocations)])

    def call_tool(self, index: int, invocation: ToolInvocation) -> Coroutine[Any, Any, ToolResult]:
        """One call: a step, or a node of its own if the tool only runs agents."""
        tool = invocation.tool
        hooks = self.agent.hook_manager
        place = Place(self.turn - 1, index)
        before = after = None
        if not invocation.malformed:
            if hooks.has_hooks(HookPoint.PRE_TOOL_CALL):
                before = self._before_tool
            if hooks.has_hooks(HookPoint.POST_TOOL_CALL):
                after = self._after_tool
        if invocation.problem is None and getattr(tool, "composite", False) is True:
            return call_composite(self.scope, place, invocation, before, after)
        return self.scope.step(
            Step(
                "tool",
                invocation.tool_name,
                self.agent.name,
                place,
                invocation,
                invoke,
                TOOL_CODEC,
                traits_of(tool) if invocation.problem is None else REFUSED_TRAITS,
                before,
                after,
            )
        )

    async def _before_tool(self, invocation: ToolInvocation) -> None:
        await self.agent.hook_manager.run(
            HookPoint.PRE_TOOL_CALL,
            agent=self.agent,
            tool_name=invocation.tool_name,
            arguments=invocation.arguments,
            tool_call_id=invocation.tool_call_id,
        )

    async def _after_tool(self, invocation: ToolInvocation, result: ToolResult) -> None:
        await self.agent.hook_manager.run(
            HookPoint.POST_TOOL_CALL,
            agent=self.agent,
            tool_name=invocation.tool_name,
            result=result,
            tool_call_id=invocation.tool_call_id,
        )


async def _instructions(arguments: dict[str, Any]) -> str:
    """Callable instructions get the agent's name (seed 001); async ones are awaited."""
    agent = arguments["_agent"]
    value = agent.instructions(agent.name)
    if isawaitable(value):
        value = await value
    return str(value)


def _correction(error: OutputParseError) -> str:
    return f"{error}\nReply again with only the corrected JSON."


def handoff_pattern(name: str) -> str:
    """How a model hands over in handoff mode, in words for it."""
    return f"To hand the conversation over to it, reply with exactly its name and nothing else, without a tool call: {name}"


def delegate_pattern(name: str) -> str:
    """How a lead reaches a worker in team mode, in words for it."""
    return f"""Call the tool 'delegate_to_{name}' instead, with arguments {{"task": "what {name} should do"}}."""


prepared: ContextVar[AgentRun | None] = ContextVar("orbiter_prepared_run", default=None)
"""The run that a subclass's own `run` shall carry out when it calls `Agent.run`. Unset unless there is such a subclass."""
