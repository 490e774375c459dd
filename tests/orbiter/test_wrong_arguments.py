"""A value of the wrong kind is refused where it is written, with what is right."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from pydantic import Field, ValidationError, model_validator

from orbiter import Agent, NeedsInput, ParallelGroup, SerialGroup, Swarm, is_granted, require_permission, run, tool
from orbiter._internal.conversation_check import read_conversation
from orbiter._internal.values.field_check import first_error
from orbiter.errors import AgentConfigurationError, AgentError, ConfigurationError, GroupError, SwarmError, ToolError
from orbiter.hooks import HookPoint
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Fault, Script
from orbiter.steps import Traits
from orbiter.types import (
    AgentOutput,
    AssistantMessage,
    ImageDataBlock,
    RunResult,
    TextBlock,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.orbiter import engine_fakes

AGENT: Any = Agent
SWARM: Any = Swarm
PARALLEL: Any = ParallelGroup
SERIAL: Any = SerialGroup
TOOL: Any = tool
NEEDS: Any = NeedsInput
FAULT: Any = Fault


def foreign(**odd: Any) -> Agent:
    """An agent with a tool of a class that is not ours."""
    made: Agent = AGENT(name="a", tools=[SimpleNamespace(**{"name": "t", "execute": len, **odd})])
    return made


def nested(levels: int) -> dict[str, Any]:
    return {"a": nested(levels - 1)} if levels else {}


def traits(**odd: Any) -> Agent:
    return foreign(traits=Traits(**odd))


class Signed(UserMessage):
    sender: str = Field(alias="from")

    @model_validator(mode="before")
    @classmethod
    def has_its_alias(cls, given: Any) -> Any:
        if "from" not in given:
            raise ValueError("who sends it?")
        return given


class Marked(UserMessage):
    mark: Any = None


MEMBER = Agent(name="a")
DECLARED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: AGENT(name=""), AgentConfigurationError, "Agent: name must be a text that is not empty, such as "),
    (lambda: AGENT(name=3), AgentConfigurationError, "such as 'researcher'; got 3"),
    (lambda: AGENT(name="a", instructions=3), AgentConfigurationError, "instructions must be a text or a function"),
    (lambda: AGENT(name="a", temperature="hot"), AgentConfigurationError, "temperature must be a number, such as 0.7"),
    (lambda: AGENT(name="a", temperature=True), AgentConfigurationError, "temperature must be a number"),
    (lambda: AGENT(name="a", max_tokens=0), AgentConfigurationError, "max_tokens must be a whole number of 1 or more"),
    (lambda: AGENT(name="a", max_steps=None), AgentConfigurationError, "max_steps must be a whole number, such as 10"),
    (lambda: AGENT(name="a", max_steps=2.5), AgentConfigurationError, "max_steps must be a whole number"),
    (lambda: AGENT(name="a", tools=len), AgentConfigurationError, r"tools must be a list, such as \[search\]; got"),
    (lambda: AGENT(name="a", handoffs=MEMBER), AgentConfigurationError, "handoffs must be a list"),
    (lambda: AGENT(name="a", hooks=3), AgentConfigurationError, "hooks must be a list"),
    (
        lambda: SWARM(agents=MEMBER),
        SwarmError,
        r"Swarm: agents must be a list, such as \[writer, .*got Agent",
    ),
    (lambda: SWARM(agents="a"), SwarmError, "agents must be a list"),
    (lambda: SWARM(agents=[MEMBER], flow=3), SwarmError, "flow must be a text, such as 'a >> b'; got 3"),
    (lambda: SWARM(agents=[MEMBER], max_handoffs=None), SwarmError, "max_handoffs must be a whole number"),
    (lambda: SWARM(agents=[SimpleNamespace(name=3)]), SwarmError, "A member of .*: name must be a text, .* got 3"),
    (lambda: PARALLEL(name="g", agents=[SimpleNamespace(name=None)]), GroupError, "name must be a text, .* got None"),
    (lambda: AGENT(name="a", handoffs=[SimpleNamespace(name=3)]), AgentConfigurationError, "name must be a text"),
    (lambda: foreign(name=3), ToolError, "A tool of agent 'a': name must be a text that is not empty"),
    (lambda: foreign(name=None), ToolError, "such as 'search'; got None"),
    (lambda: foreign(to_schema=lambda: "x").get_tool_schemas(), ToolError, r"'t': to_schema\(\) must be a mapping"),
    (lambda: foreign(to_schema=lambda: {"a": len}).get_tool_schemas(), ToolError, r"to_schema\(\) must be JSON"),
    (lambda: traits(permissions="fs.write:x"), ToolError, "permissions must be a sequence of names"),
    (lambda: traits(permissions=(3,)), ToolError, r"a permission must be a text, such as 'fs.write:notes/\*'; got 3"),
    (lambda: traits(idempotent="no"), ToolError, "Tool 't': idempotent must be True or False"),
    (lambda: traits(timeout="5"), ToolError, "timeout must be above 0 seconds, got '5'"),
    (lambda: traits(failure="nope"), ConfigurationError, "nope"),
    (lambda: FAULT("503"), TypeError, "Fault: status must be a status of HTTP, such as 503; got '503'"),
    (lambda: FAULT(-1), TypeError, "status must be a status of HTTP"),
    (lambda: FAULT(kind="zz"), TypeError, "kind must be one of response, stream, .*; got 'zz'"),
    (lambda: FAULT(429, headers={"retry-after": 5}), TypeError, "headers must be a mapping of texts, such as "),
    (lambda: FAULT(429, headers=[1]), TypeError, "headers must be a mapping of texts"),
    (lambda: FAULT(body=object()), TypeError, "body must be a text, or a mapping as JSON has it"),
    (lambda: FAULT(message=3), TypeError, "message must be a text; got 3"),
    (lambda: TOOL(name=3)(len), ToolError, "name must be a text, such as 'search'; got 3"),
    (lambda: TOOL(description=3)(len), ToolError, "A tool: description must be a text"),
    (
        lambda: TOOL(name="t", idempotent="no")(len),
        ToolError,
        "Tool 't': idempotent must be True or False, such as True",
    ),
    (lambda: TOOL(risk=3)(len), ToolError, "A tool: risk must be a text"),
    (lambda: TOOL(timeout="5")(len), ToolError, "Tool 'len': timeout must be above 0 seconds, got '5'"),
    (lambda: TOOL(classify_error=3)(len), ToolError, "classify_error must be a function"),
    (lambda: TOOL(retry_policy=3)(len), ToolError, "retry_policy must be a mapping or a function, got 3"),
    (
        lambda: TOOL(retry_policy={"max_atempts": 2})(len),
        ToolError,
        "unknown setting 'max_atempts'",
    ),
    (
        lambda: AGENT(name="a", classify_error=3),
        AgentConfigurationError,
        "classify_error must be a function",
    ),
    (lambda: SWARM(agents=[MEMBER], get_retry_policy={}), SwarmError, "Swarm: get_retry_policy must be a function"),
    (lambda: SWARM(agents=[MEMBER], fallbacks=3), SwarmError, "Swarm: fallbacks must be a mapping, such as "),
    (lambda: SWARM(agents=[MEMBER], budget=3), SwarmError, "Swarm: budget must be a mapping, such as "),
    (lambda: PARALLEL(name="", agents=[MEMBER]), GroupError, "ParallelGroup: name must be a text that is not empty"),
    (lambda: SERIAL(name=3, agents=[MEMBER]), GroupError, "SerialGroup: name must be a text that is not empty"),
    (
        lambda: run.stream(MEMBER, "q", event_types="text"),
        ConfigurationError,
        "event_types must be a list, such as ",
    ),
    (lambda: run.stream(MEMBER, "q", max_steps=0), TypeError, "max_steps must be a whole number of 1 or more"),
    (lambda: NEEDS(3), TypeError, "A question: question must be a text, such as 'Which account\\?'; got 3"),
    (lambda: NEEDS("q", [1]), TypeError, "A question: schema must be a mapping"),
    (lambda: NEEDS("q", {"enum": [object()]}), TypeError, "schema must be JSON, such as"),
    (lambda: NEEDS("q", nested(400)), TypeError, "schema must be JSON, .* nested deeper than 100 levels"),
    (lambda: traits(schema=nested(400)), ToolError, "Tool 't': schema must be JSON, .* nested deeper"),
    (lambda: NEEDS("q", url=3), TypeError, "A question: url must be a text"),
    (lambda: Script(3), TypeError, "Script takes a list of turns"),  # type: ignore[arg-type]
    (lambda: script(3, ["a"]), TypeError, "script takes a name and then what is said"),  # type: ignore[call-overload]
]


@pytest.mark.parametrize(("declare", "error", "said"), DECLARED)
def test_what_a_declaration_does_not_take(declare: Callable[[], object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        declare()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_retries": None}, r"run\(\): max_retries must be a whole number, such as 3; got None"),
        (
            {"loop_threshold": "3"},
            r"run\(\): loop_threshold must be a whole number, .* 0 for no check; got '3'",
        ),
        (
            {"provider": "openai:gpt-4o"},
            r"run\(\): provider must be an object with 'async comp.*; got 'openai:gpt-4o'",
        ),
    ],
)
async def test_options_that_a_run_does_not_take(options: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        await run(MEMBER, "q", **options)
    with pytest.raises(TypeError, match=said.replace("run", "run.stream", 1)):
        run.stream(MEMBER, "q", **options)


@pytest.mark.parametrize("asked", [None, 3, b"q", ["q"]])
async def test_input_that_is_not_a_text(asked: Any) -> None:
    provider = engine_fakes.Script(engine_fakes.text("never"))
    with pytest.raises(AgentError, match="Agent 'a': the input must be a text, got "):
        await run(MEMBER, asked, provider=provider)
    with pytest.raises(AgentError, match="Agent 'a': the input must be a text, got "):
        await run(Swarm(agents=[MEMBER]), asked, provider=provider)


@pytest.mark.parametrize("wrong", [{"role": "user", "content": "q"}, "q", None])
async def test_a_conversation_of_something_else_than_messages(wrong: Any) -> None:
    provider = engine_fakes.Script(engine_fakes.text("never"))
    given: Any = [UserMessage(content="before"), wrong]
    said = r"Agent 'a': messages\[1\]: must be a message of orbiter\.types; got "
    for runs in (partial(run, MEMBER), MEMBER.run, SWARM(agents=[MEMBER]).run):
        with pytest.raises(AgentError, match=said) as caught:
            await runs("q", messages=given, provider=provider)
        assert "[UserMessage(" in (caught.value.suggestion or "")
    with pytest.raises(AgentError, match=said):
        [_ async for _ in run.stream(MEMBER, "q", messages=given, provider=provider)]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (engine_fakes.unchecked(UserMessage, content=5), r"\.content: Input should be a valid string; got 5"),
        (engine_fakes.unchecked(UserMessage, content=[{"type": "text"}]), r"\.content\[0\]\.text: Field required"),
        (
            engine_fakes.unchecked(UserMessage, content=[{"type": "text", "text": "q"}]),
            r"\.content\[0\]: must be TextBlock; got dict",
        ),
        (
            UserMessage(content=[TextBlock(text="q"), engine_fakes.unchecked(TextBlock, text=7)]),
            r"\.content\[1\]\.text: Input should be a valid string; got 7",
        ),
        (engine_fakes.unchecked(UserMessage), r"\.content: Field required"),
        (engine_fakes.unchecked(UserMessage, content=["hi"]), r"\.content\[0\]: "),
        (engine_fakes.unchecked(AssistantMessage, tool_calls=[{"id": "1"}]), r"\.tool_calls\[0\]\.name: Field"),
        (AssistantMessage(tool_calls=[engine_fakes.unchecked(ToolCall, id="1")]), r"\.tool_calls\[0\]\.name: Field"),
        (AssistantMessage(provider_data={"raw": object()}), r"\.provider_data: must be JSON"),
        (Marked(content="q", mark=object()), ": cannot be written as JSON"),
        (Mock(spec=UserMessage), r"\.content: Field required"),
    ],
)
async def test_a_field_of_a_given_message_is_named_before_a_model_is_asked(wrong: Any, said: str) -> None:
    provider = engine_fakes.Script(engine_fakes.text("never"))
    with pytest.raises(AgentError, match=rf"Agent 'a': messages\[0\]{said}"):
        await SWARM(agents=[MEMBER]).run("q", messages=[wrong], provider=provider)
    assert not provider.seen


@pytest.mark.parametrize("given", ["hello", 7, {"role": "user"}, iter([UserMessage(content="q")])])
async def test_a_conversation_that_is_no_list(given: Any) -> None:
    with pytest.raises(AgentError, match=r"Agent 'a': messages must be a list; got "):
        await run(MEMBER, "q", messages=given, provider=engine_fakes.Script(engine_fakes.text("never")))


@pytest.mark.parametrize(
    "given",
    [
        [Signed.model_validate({"content": "before", "from": "a person"})],
        [Mock(spec=UserMessage, role="user", content="before")],
        (UserMessage(content="before"),),
        {1: UserMessage(content="before")}.values(),
    ],
    ids=["alias and validator", "mock", "tuple", "view"],
)
async def test_a_conversation_of_more_than_our_classes_and_lists(given: Any) -> None:
    provider = engine_fakes.Script(engine_fakes.text("done"))
    assert (await run(MEMBER, "q", messages=given, provider=provider)).output == "done"
    assert provider.seen[0][0].content == "before"


@pytest.mark.parametrize(
    ("half", "whole"),
    [
        (UserMessage(content="a\ud83d"), UserMessage(content="a\ufffd")),
        (UserMessage(content=[TextBlock(text="a\ud83d")]), UserMessage(content=[TextBlock(text="a\ufffd")])),
        (
            AssistantMessage(
                tool_calls=[ToolCall(id="1", name="t", arguments='{"a": "\ud83d"}')],
                provider_data={"\ud83d": ["\ud83d"]},
            ),
            AssistantMessage(
                tool_calls=[ToolCall(id="1", name="t", arguments='{"a": "\ufffd"}')],
                provider_data={"\ufffd": ["\ufffd"]},
            ),
        ),
        (
            ToolResult(tool_call_id="1", tool_name="t", error="\ud83d"),
            ToolResult(tool_call_id="1", tool_name="t", error="\ufffd"),
        ),
        (Marked(content="q", mark=["\ud83d"]), Marked(content="q", mark=["\ufffd"])),
    ],
)
async def test_half_a_character_in_a_conversation_is_replaced_as_in_the_input(half: Any, whole: Any) -> None:
    async def hook(messages: list[Any], **_: Any) -> None:
        messages.append(half)

    agent = Agent(name="a", hooks=[(HookPoint.PRE_LLM_CALL, hook)])
    sound = UserMessage(content="\U0001f600")
    provider = engine_fakes.Script(engine_fakes.text("done"))
    await run(agent, "q\ud83d", messages=[sound, half], provider=provider)
    seen = provider.seen[0]
    assert seen == [sound, whole, UserMessage(content="q\ufffd"), whole]
    assert seen[0] is sound, "what is sound is not copied"


def test_what_a_validator_of_a_whole_model_says_has_no_empty_field_before_it() -> None:
    with pytest.raises(ValidationError) as caught:
        Signed.model_validate({})
    assert first_error(caught.value) == "Value error, who sends it?; got {}"
    assert first_error(caught.value, "messages[3].") == "messages[3]: Value error, who sends it?; got {}"


def test_a_picture_is_not_copied_to_be_checked() -> None:
    picture = ImageDataBlock(data="A" * 1_000_000)
    given = [UserMessage(content=[picture])]
    tracemalloc.start()
    try:
        assert read_conversation("a", given) == given
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "odd",
    [
        None,
        3,
        {"output": "x"},
        SimpleNamespace(output=3),
        SimpleNamespace(text="x", usage=7),
        SimpleNamespace(text="x", tool_calls=7),
        engine_fakes.unchecked(AgentOutput, text=7),
        engine_fakes.unchecked(AgentOutput, text="x", usage=object),
        engine_fakes.unchecked(AgentOutput, text="x", tool_calls=[{"id": "1", "name": "add"}]),
        engine_fakes.unchecked(RunResult, output="x", messages=[engine_fakes.unchecked(UserMessage, content=5)]),
    ],
    ids=str,
)
@pytest.mark.parametrize("many", [False, True])
async def test_an_agent_that_is_not_ours_and_returns_something_else_is_named(odd: Any, many: bool) -> None:
    class Other:
        name = "other"

        async def run(self, *args: Any, **more: Any) -> Any:
            return odd

    runnable = PARALLEL(name="g", agents=[Other(), MEMBER]) if many else SWARM(agents=[Other()])
    with pytest.raises(Exception, match=r"run\(\) of agent 'other' returned .*"):
        await run(runnable, "go")


@pytest.mark.parametrize("asked", [is_granted, require_permission])
async def test_a_permission_that_is_not_a_text_is_named(asked: Any) -> None:
    with pytest.raises(TypeError, match=r"permission must be a text, such as 'fs\.write:/srv/report\.md'; got 3"):
        await asked(3)
