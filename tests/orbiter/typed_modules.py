"""The modules beside `orbiter` that a user's program imports, checked by the type checkers (`test_typing.py`), never
run: guests, MCP, hooks, models, errors, events, registries, helpers of error handling, the fixture of failure tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_type

from orbiter import Agent, ErrorHandlingConfig, HookPoint, RunResult, Swarm, ToolContext, Usage, run
from orbiter.compat.recovery_handlers import (
    CircuitBreaker,
    FallbackHandler,
    RetryHandler,
    Topology,
    UserRecoveryHandler,
)
from orbiter.config import AgentConfig, ModelConfig, RunConfig, TaskConfig, parse_model_string
from orbiter.errors import (
    AgentError,
    CallRunnerError,
    JoinError,
    ModelAPIError,
    ModelRateLimitError,
    RateLimitError,
    SwarmError,
    cause_of,
    causes,
)
from orbiter.events import EventBus, EventHandler
from orbiter.guests import Guest, guest
from orbiter.guests.langgraph import checkpointer, durable, durable_middleware
from orbiter.hooks import Hook, HookError, HookManager, run_hooks
from orbiter.human import ConsoleHandler, HumanInputHandler
from orbiter.mcp import mcp_tools
from orbiter.models import (
    Call,
    Fault,
    FinishReason,
    ModelError,
    ModelProvider,
    ModelResponse,
    Reply,
    Script,
    StreamAssembly,
    StreamChunk,
    ToolCallDelta,
    get_provider,
    model_registry,
    script,
)
from orbiter.policy import ProviderErrorSettings, fallback_chain
from orbiter.registry import Registry, RegistryError, agent_registry, tool_registry
from orbiter.severity import ErrorClassification, ErrorSeverity
from orbiter.tool import ToolError, ToolExecutionError, current_tool_context
from orbiter.types import AgentInput, ContentBlock, ImageURLBlock, TextBlock, UserMessage, content_text
from runtime.testing.pytest_plugin import ReplayFailure


class OtherAgent:
    """An agent of another framework."""


async def guests(other: OtherAgent) -> None:
    """A guest is run as our own agents are, and stands in a swarm."""
    adopted = guest(other, name="clerk", models={"large": object()})
    assert_type(adopted, Guest)
    assert_type(await run(adopted, "go"), RunResult[Any])
    Swarm(agents=[adopted, Agent(name="reader", tools=[*mcp_tools("files", only=["read_file"])])])
    worker = Agent(name="worker", tools=mcp_tools("tracker"))
    await worker.run("go", provider=get_provider("openai:gpt-5-mini"))


def charge(cents: int) -> str:
    """A function that must not be called twice."""
    return f"{cents} charged"


def langgraph() -> None:
    """What a program of LangChain or LangGraph takes from us: a function keeps its type."""
    assert_type(durable(charge, idempotent=True)(5), str)
    print(durable_middleware().name, checkpointer())


async def on_call(agent: Agent, tool_name: str, arguments: dict[str, Any]) -> None:
    """A hook with the keywords of its point."""


async def hooks() -> None:
    """Hooks outside of an agent."""
    hook: Hook = on_call
    manager = HookManager()
    manager.add(HookPoint.PRE_TOOL_CALL, hook)
    assert_type(manager.has_hooks(HookPoint.PRE_TOOL_CALL), bool)
    try:
        await run_hooks(manager, HookPoint.PRE_TOOL_CALL, agent="a", tool_name="t", arguments={})
    except HookError as error:
        print(error.suggestion)
    manager.remove(HookPoint.PRE_TOOL_CALL, hook)


async def models() -> None:
    """Providers and scripts."""
    provider = get_provider("openai:gpt-5-mini", api_key="k", silence_timeout=30)
    assert_type(provider, ModelProvider)
    assert_type(await provider.complete([UserMessage(content="hi")]), ModelResponse)
    assembly = StreamAssembly()
    async for chunk in provider.stream([UserMessage(content="hi")]):
        assert_type(chunk, StreamChunk)
        assert_type(chunk.finish_reason, FinishReason | None)
        assert_type(chunk.tool_call_deltas, list[ToolCallDelta])
        assembly.add(chunk)
    assert_type(assembly.response(), ModelResponse)
    assert_type(parse_model_string("openai:gpt-5-mini"), tuple[str, str])
    script("down", Script([Reply("ok", calls=[Call("add", {"a": 1})]), [Fault(503), Reply("ok", usage=Usage())]]))
    model_registry.register("parrot", type(provider))
    try:
        provider.check()
    except ModelError as error:
        print(error.status, error.retry_after, error.where)


async def errors(agent: Agent) -> str:
    """Errors by family, each with what a program reads of it."""
    try:
        await run(agent, "go")
    except ModelRateLimitError as error:
        assert_type(error.retry_after, float | None)
        return error.message
    except ModelAPIError as error:
        return str(error.status_code)
    except RateLimitError as error:
        return error.suggestion or ""
    except (JoinError, SwarmError) as error:
        return error.error_code
    except CallRunnerError as error:
        assert_type(cause_of(error), BaseException | None)
        return ", ".join(str(each) for each in causes(error))
    except AgentError as error:
        assert_type(error.context, dict[str, Any])
        return error.hint or ""
    raise ToolExecutionError("no result")


async def helpers(agent: Agent) -> None:
    """Retry, breaker, fallback and a person, around a call of one's own."""

    async def call(text: str) -> int:
        return len(text)

    assert_type(await RetryHandler(max_retries=2).execute_with_retry(call, "a"), int)
    assert_type(await CircuitBreaker(failure_threshold=2).call(call, "a"), int)
    await FallbackHandler({"a": ["b"]}, {"a": agent}).execute_with_fallback("a", "go")


async def ask_a_person(topology: Topology) -> None:
    """What a program does with an error that only a person can answer."""
    await UserRecoveryHandler().handle_error_with_user(AgentError("stuck"), {}, topology)


class Desk(HumanInputHandler):
    """Answers of another place than the terminal."""

    async def get_input(self, prompt: str, choices: Sequence[str] | None = None) -> str:
        return choices[0] if choices else await ConsoleHandler().get_input(prompt)


def classify(error: Exception, context: dict[str, Any]) -> ErrorClassification | None:
    """What an author says about the failures of a tool."""
    if isinstance(error, ToolError):
        return ErrorClassification(severity=ErrorSeverity.RETRIABLE)
    return None


def configuration() -> ErrorHandlingConfig:
    """Settings of a run, and what a program reads of them."""
    assert_type(fallback_chain("openai:a, openai:b"), tuple[str, ...])
    print(AgentConfig(name="a").max_steps, RunConfig().timeout, TaskConfig(name="t").description)
    print(ModelConfig(model_name="m").model_name)
    return ErrorHandlingConfig(provider_settings={"openai": ProviderErrorSettings(max_retries=2)})


async def events_and_registries(handler: EventHandler) -> None:
    """A bus of one's own, and things by name."""
    bus = EventBus()
    bus.on("done", handler)
    await bus.emit("done", count=1)
    lamps = Registry[int]("lamps")
    lamps.register("red", 1)
    try:
        assert_type(lamps.get("red"), int)
        print(agent_registry.list_all(), tool_registry.list_all())
    except RegistryError as error:
        print(error.message)


def content() -> str:
    """A message with a picture."""
    blocks: list[ContentBlock] = [TextBlock(text="What is this?"), ImageURLBlock(url="https://example.com/a.png")]
    asked = AgentInput(query="go", messages=[UserMessage(content=blocks)])
    assert_type(current_tool_context(), ToolContext)
    return content_text(blocks) + asked.query


def test_a_failure(replay_failure: ReplayFailure) -> None:
    """What `orbiter-console export RUN --test` writes."""
    replay_failure("run.jsonl", step="swarm~0/agent~0/tool~0", live=["tool"], replies={"a": "b"}, limit_s=5)
