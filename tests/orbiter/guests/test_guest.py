"""Guests without a runtime: what is recognised, what is refused, and that the framework behaves as it does alone."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.durable_exec import JSON_CODEC, CallToolResult
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelMessage,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage, UsageLimits

from orbiter import Swarm, run
from orbiter.errors import AgentConfigurationError, AgentError, ConfigurationError
from orbiter.guests import guest
from orbiter.guests.frameworks import FRAMEWORKS, check_version, framework_of
from orbiter.guests.pydantic_ai.model_request import MODEL_REQUEST
from orbiter.guests.pydantic_ai.tool_call import TOOL_CALL, ToolAsk
from orbiter.guests.tool_settings import read_tool_settings
from orbiter.types import AssistantMessage, ToolResult, UserMessage
from tests.present import present

ROOT = Path(__file__).parents[3]


class City(BaseModel):
    """A structured output."""

    name: str
    people: int


def answering(text: str) -> FunctionModel:
    return FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(text)]))


async def test_without_a_runtime_it_is_the_framework_alone() -> None:
    agent = Agent(answering("hello"), name="greeter")
    found = guest(agent)
    assert (found.name, found.framework) == ("greeter", "pydantic-ai")
    result = await found.run("hi")
    assert (result.output, result.agent, result.usage.output_tokens > 0) == ("hello", "greeter", True)
    assert (await run(found, "hi")).output == "hello"


async def test_structured_output_and_dependencies() -> None:
    agent = Agent(TestModel(custom_output_args={"name": "Bern", "people": 7}), output_type=City, deps_type=int)
    seen: list[int] = []

    @agent.tool
    def count(ctx: RunContext[int]) -> int:
        seen.append(ctx.deps)
        return ctx.deps

    result = await guest(agent, name="geo", deps=lambda: 7).run("how many?")
    assert result.parsed == City(name="Bern", people=7)
    assert result.output == '{"name": "Bern", "people": 7}'
    assert seen == [7]


async def test_an_agent_without_a_name_has_none_after_a_run() -> None:
    agent = Agent(answering("x"))
    await guest(agent, name="given").run("hi")
    assert agent.name is None


async def test_the_frameworks_own_exceptions_pass() -> None:
    found = guest(Agent(answering("x")), name="a", run_options={"usage_limits": UsageLimits(request_limit=0)})
    with pytest.raises(UsageLimitExceeded):
        await found.run("hi")


async def test_a_conversation_goes_there_and_back() -> None:
    heard: list[list[ModelMessage]] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        heard.append(messages)
        if len(heard) == 1:
            return ModelResponse(parts=[TextPart("let me look"), ToolCallPart("look", {"x": 1}, tool_call_id="c")])
        return ModelResponse(parts=[TextPart("two")])

    agent = Agent(FunctionModel(reply))
    agent.tool_plain(name="look")(_double)
    found = guest(agent, name="a")
    first = await found.run("one?", messages=[UserMessage(content="before"), AssistantMessage(content="yes")])
    assert [type(each).__name__ for each in first.messages] == [
        "UserMessage", "AssistantMessage", "UserMessage", "AssistantMessage", "ToolResult", "AssistantMessage",
    ]  # fmt: skip
    tool = first.messages[4]
    assert isinstance(tool, ToolResult)
    assert (tool.tool_name, tool.content) == ("look", "2")
    await found.run("again?", messages=first.messages)
    assert len(heard[-1]) == len(first.messages) + 1


def _double(x: int) -> int:
    return 2 * x


async def test_a_factory_makes_the_agent_for_every_run() -> None:
    made: list[Agent] = []

    def make() -> Agent:
        made.append(Agent(answering(f"run {len(made)}")))
        return made[-1]

    found = guest(make, name="fresh")
    assert [(await found.run("x")).output for _ in range(3)] == ["run 0", "run 1", "run 2"]
    assert len(made) == 3


@pytest.mark.parametrize("value", [object(), "an agent", lambda: 3])
def test_what_is_not_an_agent_is_refused(value: object) -> None:
    with pytest.raises(AgentError, match=r"guest\(\) takes an agent of pydantic-ai"):
        guest(value)


def test_recognising_needs_the_class_alone() -> None:
    found = present(framework_of(Agent(answering("x"))))
    assert found.name == "pydantic-ai"
    assert framework_of(TestModel()) is None
    assert framework_of(type("Agent", (), {})()) is None


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.67.3", "2.67.3 is installed; this program runs 2.68 or newer"),
        ("3.0.0", "3.0.0 is installed"),
        ("", "not installed"),
    ],
)
def test_a_version_that_was_not_tried_is_refused_with_the_command(
    version: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(name: str) -> str:
        if not version:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", told)
    with pytest.raises(ConfigurationError, match=said) as caught:
        check_version(FRAMEWORKS[0])
    assert "pip install 'orbiter-console[pydantic-ai]'" in str(caught.value)


def test_a_framework_is_imported_only_when_an_agent_of_it_is_named() -> None:
    script = (
        "import sys; import orbiter, orbiter.guests, orbiter.guests.frameworks, runtime.swarms.loader;"
        "print([each for each in ('pydantic_ai', 'langgraph', 'agents') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_a_tool_declares_is_checked_and_an_operator_goes_over_it() -> None:
    found = read_tool_settings("t", {"idempotent": False, "risk": "high"}, {"idempotent": True})
    assert (found.idempotent, found.risk) == (True, "high")
    traits = found.traits("approval.t")
    assert (traits.idempotent, traits.permissions) == (True, ("approval.t",))
    with pytest.raises(ConfigurationError, match="the tool 't' declares 'idempotnt' wrongly"):
        read_tool_settings("t", {"idempotnt": True}, {})
    with pytest.raises(ConfigurationError, match="write a table"):
        read_tool_settings("t", "yes", {})


@pytest.mark.parametrize(
    "parts",
    [
        [TextPart("one")],
        [TextPart(""), TextPart("two\nlines"), ThinkingPart("hm", signature="s"), TextPart("three")],
        [ToolCallPart("a", {"x": [1, None]}, tool_call_id="1"), ToolCallPart("b", '{"y": 2', tool_call_id="2")],
        [ToolCallPart("c", None, tool_call_id="3"), FilePart(BinaryContent(b"png", media_type="image/png"))],
        [NativeToolCallPart("web_search", {"q": "x"}, tool_call_id="4", provider_name="openai"),
         NativeToolReturnPart("web_search", 0, tool_call_id="4", provider_name="openai"), TextPart("found")],
        [],
    ],
)  # fmt: skip
def test_a_reply_is_recorded_whole_and_its_text_once(parts: list[Any]) -> None:
    usage = RequestUsage(input_tokens=3, output_tokens=4, cache_read_tokens=1, details={"x": 1})
    reply = ModelResponse(parts=parts, usage=usage, model_name="m", finish_reason="stop", provider_details={"a": None})
    payload = JSON_CODEC.dump(ModelResponse, reply)
    written = json.loads(json.dumps(MODEL_REQUEST.dump(payload)))
    assert JSON_CODEC.load(ModelResponse, MODEL_REQUEST.load(written)) == JSON_CODEC.load(ModelResponse, payload)
    for part in parts:
        if isinstance(part, TextPart) and part.content:
            assert json.dumps(written).count(json.dumps(part.content)[1:-1]) == 1
    used = present(MODEL_REQUEST.usage(payload))
    assert (used.total_tokens, used.cached_tokens) == (7, 1)


@pytest.mark.parametrize("value", ["text", "", 3, None, [1], {"a": 1}, {"kind": "tool-return", "x": 1}])
def test_a_tools_result_is_recorded_and_read_back(value: Any) -> None:
    ask = ToolAsk("t", "id", {})
    result = TOOL_CALL.by_hand(ask, value)
    written = json.loads(json.dumps(TOOL_CALL.dump(result)))
    assert TOOL_CALL.load(written) == result
    assert (written["tool_name"], written["tool_call_id"]) == ("t", "id")
    JSON_CODEC.load(CallToolResult, result["outcome"])


async def test_a_guest_cannot_lead_a_team() -> None:
    team = Swarm(
        agents=[guest(Agent(answering("x")), name="lead"), guest(Agent(answering("y")), name="worker")], mode="team"
    )
    with pytest.raises(AgentConfigurationError, match="the guest 'lead' cannot lead a team"):
        await run(team, "go")
