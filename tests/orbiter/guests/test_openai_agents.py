"""Agents of the OpenAI Agents SDK without a runtime, what is recorded of their replies and results, and where the
adapter meets the SDK's own parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    LocalShellTool,
    MaxTurnsExceeded,
    ModelResponse,
    ModelSettings,
    ModelTracing,
    MultiProvider,
    RunContextWrapper,
    ShellTool,
    SQLiteSession,
    ToolOutputImage,
    ToolOutputText,
    Usage,
    function_tool,
    input_guardrail,
    set_tracing_disabled,
)
from agents.run import get_default_agent_runner
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseFunctionWebSearch,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_function_web_search import ActionSearch
from openai.types.responses.response_usage import InputTokensDetails
from pydantic import BaseModel

from orbiter import run
from orbiter.errors import AgentError, ToolCallError
from orbiter.guests import guest
from orbiter.guests.frameworks import FRAMEWORKS, framework_of
from orbiter.guests.openai_agents import approvals, sdk
from orbiter.guests.openai_agents.clones import Clones
from orbiter.guests.openai_agents.context_changes import change_again, changed_fields, fields_of
from orbiter.guests.openai_agents.messages import to_ours, to_theirs
from orbiter.guests.openai_agents.model_request import MODEL_REQUEST, ModelAsk, ModelRequest, ask_model, stream_model
from orbiter.guests.openai_agents.runner import StepRunner
from orbiter.guests.openai_agents.tool_call import TOOL_CALL, ToolAsk, returned, value_of
from orbiter.types import AssistantMessage, SystemMessage, ToolResult, UserMessage
from tests.present import present


@pytest.fixture(autouse=True)
def _no_tracing() -> Iterator[None]:
    """The SDK alone sends traces where there is a key."""
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


class City(BaseModel):
    """A structured output."""

    name: str
    people: int


async def test_without_a_runtime_it_is_the_sdk_alone() -> None:
    model = ScriptedModel([[assistant_message("hello")], [assistant_message("hello")]])
    found = guest(Agent("greeter", model=model))
    assert (found.name, found.framework) == ("greeter", "openai-agents")
    result = await found.run("hi")
    assert (result.output, result.agent) == ("hello", "greeter")
    assert (await run(found, "hi")).output == "hello"
    assert model.calls[0].input == [{"content": "hi", "role": "user"}]


async def test_structured_output_context_and_session() -> None:
    seen: list[int] = []

    @function_tool
    def count(ctx: RunContextWrapper[int]) -> int:
        seen.append(ctx.context)
        return ctx.context

    model = ScriptedModel(
        [[function_call("count", {}, call_id="c")], [assistant_message('{"name": "Bern", "people": 7}')]]
    )
    kept = SQLiteSession("kept")
    agent = Agent[int]("geo", model=model, tools=[count], output_type=City)
    result = await guest(agent, context=lambda: 7, session=kept).run("how many?")
    assert (result.parsed, result.output, seen) == (
        City(name="Bern", people=7), '{"name": "Bern", "people": 7}', [7],
    )  # fmt: skip
    assert len(await kept.get_items()) == 4
    kept.close()


async def test_the_sdks_own_exceptions_pass() -> None:
    model = ScriptedModel([[function_call("look", {}, call_id="c")]])
    look = function_tool(lambda: "x", name_override="look", description_override="looks")
    found = guest(Agent("a", model=model, tools=[look]), run_options={"max_turns": 1})
    with pytest.raises(MaxTurnsExceeded):
        await found.run("hi")


async def test_a_conversation_goes_there_and_back() -> None:
    @function_tool
    def double(x: int) -> int:
        return 2 * x

    model = ScriptedModel(
        [
            [assistant_message("let me look"), function_call("double", {"x": 1}, call_id="c")],
            [assistant_message("two")],
            [assistant_message("still two")],
        ]
    )
    found = guest(Agent("a", model=model, tools=[double]))
    first = await found.run("one?", messages=[UserMessage(content="before"), AssistantMessage(content="yes")])
    assert [type(each).__name__ for each in first.messages] == [
        "UserMessage", "AssistantMessage", "UserMessage", "AssistantMessage", "ToolResult", "AssistantMessage",
    ]  # fmt: skip
    reply, told = first.messages[3:5]
    assert isinstance(reply, AssistantMessage)
    assert isinstance(told, ToolResult)
    assert (reply.content, reply.tool_calls[0].name) == ("let me look", "double")
    assert (told.tool_name, told.content) == ("double", "2")
    await found.run("again?", messages=first.messages)
    last = present(model.last_call)
    assert to_ours(last.input)[:-1] == first.messages


def test_what_has_no_counterpart_is_left_out_and_instructions_are_not_handed_on() -> None:
    items = [
        {"role": "developer", "content": "be kind"},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "a"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "see"}, {"type": "input_image", "file_id": "f"}]},
    ]
    system, reply, told, said = to_ours(items)
    assert isinstance(system, SystemMessage)
    assert isinstance(reply, AssistantMessage)
    assert [(each.name, each.arguments) for each in reply.tool_calls] == [("shell", '{"commands": ["ls"]}')]
    assert isinstance(told, ToolResult)
    assert (told.tool_name, told.content) == ("shell", '{"stdout": "a"}')
    assert said.content == 'see\n{"type": "input_image", "file_id": "f"}'
    assert "be kind" not in json.dumps(to_theirs([system, said]))


def test_recognising_needs_the_class_alone() -> None:
    found = present(framework_of(Agent("x")))
    assert found.name == "openai-agents"
    assert framework_of(ScriptedModel()) is None
    (framework,) = (each for each in FRAMEWORKS if each.name == "openai-agents")
    assert framework.install == "pip install 'orbiter-console[openai-agents]'"


def message(*texts: str, **more: Any) -> ResponseOutputMessage:
    parts = [ResponseOutputText(text=text, type="output_text", annotations=[]) for text in texts]
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=list(parts), **more
    )


@pytest.mark.parametrize(
    "output",
    [
        [message("one")],
        [message("", "two\nlines"), ResponseReasoningItem(id="r", type="reasoning", summary=[]), message("three")],
        [
            ResponseFunctionToolCall(type="function_call", call_id="1", name="a", arguments='{"x": [1, null]}'),
            ResponseFunctionToolCall(type="function_call", call_id="2", name="b", arguments='{"y": 2', id="i"),
        ],
        [
            ResponseFunctionWebSearch(
                id="w", type="web_search_call", status="completed", action=ActionSearch(type="search", query="x")
            ),
            message("found"),
        ],
        [],
    ],
)
def test_a_reply_is_recorded_whole_and_its_text_once(output: list[Any]) -> None:
    details = InputTokensDetails(cached_tokens=1, cache_write_tokens=0)
    usage = Usage(requests=1, input_tokens=3, output_tokens=4, total_tokens=7, input_tokens_details=details)
    reply = ModelResponse(output=output, usage=usage, response_id="r", request_id=None)
    payload = sdk.dump_response(reply)
    written = json.loads(json.dumps(MODEL_REQUEST.dump(payload)))
    again = sdk.load_response(MODEL_REQUEST.load(written))
    assert again == reply
    # What is set of an item, and so what the SDK sends back to the model, is the same.
    assert again.to_input_items() == reply.to_input_items()
    for item in output:
        if isinstance(item, ResponseOutputMessage):
            for part in item.content:
                if isinstance(part, ResponseOutputText) and part.text:
                    assert json.dumps(written).count(json.dumps(part.text)[1:-1]) == 1
    used = present(MODEL_REQUEST.usage(payload))
    assert (used.total_tokens, used.cached_tokens) == (7, 1)
    assert sdk.response_of_events(sdk.events_of_response(reply, "m")).output == reply.output


def test_what_an_operator_says_in_place_of_the_model_is_a_reply() -> None:
    ask: Any = None
    reply = sdk.load_response(MODEL_REQUEST.by_hand(ask, {"a": 1}))
    (item,) = reply.output
    assert isinstance(item, ResponseOutputMessage)
    assert isinstance(item.content[0], ResponseOutputText)
    assert json.loads(item.content[0].text) == {"a": 1}


async def _nothing(_: Any) -> Any:
    return None


@pytest.mark.parametrize(
    ("value", "given"),
    [
        ("text", "text"),
        ("", ""),
        (3, 3),
        (None, None),
        ([1], [1]),
        ({"a": 1}, {"a": 1}),
        ((1, 2), (1, 2)),
        ({1: 2}, "{1: 2}"),
        (City(name="x", people=1), City(name="x", people=1)),
        ({"a": [City(name="x", people=1), (True, None)]}, {"a": [City(name="x", people=1), (True, None)]}),
        ([{1}], "[{1}]"),
        (ToolOutputText(text="t"), ToolOutputText(text="t")),
        ([ToolOutputImage(image_url="data:x")], [ToolOutputImage(image_url="data:x")]),
    ],
)
def test_a_tools_result_is_recorded_and_read_back(value: Any, given: Any) -> None:
    result = returned(ToolAsk("t", "id", {}, _nothing, _nothing), value)
    written = json.loads(json.dumps(TOOL_CALL.dump(result)))
    assert TOOL_CALL.load(written) == result
    assert value_of(result) == given
    assert (written["tool_name"], written["tool_call_id"]) == ("t", "id")


def test_of_an_object_whose_class_is_not_loaded_the_text_is_left() -> None:
    class Mine(BaseModel):
        x: int

    result = returned(ToolAsk("t", "id", {}, _nothing, _nothing), Mine(x=1))
    assert value_of(result) == "x=1"
    result = returned(ToolAsk("t", "id", {}, _nothing, _nothing), City(name="x", people=1))
    result["packed"][1] = "tests.gone:City"
    assert value_of(result) == "name='x' people=1"


class _Plain:
    def __init__(self) -> None:
        self.count = 1
        self.connection = object()


@dataclass
class _Fields:
    count: int = 1


@pytest.mark.parametrize("make", [_Plain, _Fields, lambda: {"count": 1, "gone": 2}])
def test_what_changed_of_a_context_is_changed_again(make: Callable[[], Any]) -> None:
    changed, again = make(), make()
    before = fields_of(changed)
    if isinstance(changed, dict):
        changed["count"] = [City(name="x", people=1)]
        del changed["gone"]
    else:
        changed.count = [City(name="x", people=1)]
    fields = json.loads(json.dumps(changed_fields(before, changed)))
    change_again(again, fields)
    assert fields_of(again) == fields_of(changed)
    assert changed_fields(fields_of(again), again) == {}


def test_a_refusal_is_told_and_other_failures_as_the_sdk_does() -> None:
    ask = ToolAsk("t", "id", {}, _nothing, _nothing)
    assert TOOL_CALL.absorb(ask, ValueError("x")) is None
    refused = present(TOOL_CALL.absorb(ask, ToolCallError("no", tool_name="t")))
    assert value_of(json.loads(json.dumps(TOOL_CALL.dump(refused)))) == "no"
    ask.late = "too late"
    assert value_of(TOOL_CALL.absorb(ask, TimeoutError()) or {}) == "too late"
    ask.failure = "continue"
    assert value_of(TOOL_CALL.absorb(ask, ValueError("x")) or {}) == "x"


def test_our_runner_stands_before_the_sdks_own_once() -> None:
    guest(Agent("a", model=ScriptedModel()))
    guest(Agent("b", model=ScriptedModel()))
    found = get_default_agent_runner()
    assert isinstance(found, StepRunner)
    assert not isinstance(found.runner, StepRunner)


def test_a_clone_leaves_the_users_agent_as_it_was() -> None:
    @function_tool(timeout=5)
    async def look() -> str:
        return "x"

    @input_guardrail
    def check(ctx: RunContextWrapper[Any], agent: Any, input: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, tripwire_triggered=False)

    other = Agent("other", model=ScriptedModel())
    agent = Agent(
        "a", model=ScriptedModel(), tools=[look], handoffs=[other], input_guardrails=[check],
        model_settings=ModelSettings(timeout=3, temperature=1),
    )  # fmt: skip
    before = dict(vars(agent))
    clones = Clones(MultiProvider())
    clone = clones.of(agent)
    assert vars(agent) == before
    assert clones.of(agent) is clone
    assert clones.of(clone) is clone
    assert (clone.name, clone.model_settings.timeout, clone.model_settings.temperature) == ("a", None, 1)
    assert clone.tools[0] is not look
    assert look.timeout_seconds == 5


@pytest.mark.parametrize("tool", [LocalShellTool(executor=str), ShellTool(executor=str)])
def test_a_tool_whose_effects_cannot_be_recorded_is_refused(tool: Any) -> None:
    with pytest.raises(AgentError, match="whose effects cannot be recorded"):
        Clones(MultiProvider()).of(Agent("a", tools=[tool]))


class _Silent(ScriptedModel):
    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(("kind", "pieces"), [(ScriptedModel, True), (_Silent, False)])
async def test_a_reply_that_streams_is_the_same_and_a_model_that_cannot_is_asked_without(
    kind: type[ScriptedModel], pieces: bool
) -> None:
    model = kind([[assistant_message("hello")], [assistant_message("hello")]])
    request = ModelRequest(None, [], ModelSettings(), [], None, [], ModelTracing.DISABLED, None, None, None)
    ask = ModelAsk(request, "m", lambda name: model)
    seen: list[tuple[str, str]] = []
    streamed = await stream_model(ask, lambda what, piece: seen.append((what, piece)))
    assert streamed["output"] == (await ask_model(ask))["output"]
    assert seen == ([("text", "hello")] if pieces else [])


def test_models_have_the_names_that_ours_have() -> None:
    assert sdk.name_of(None, "gpt-5") == "openai:gpt-5"
    assert sdk.name_of(None, "litellm/anthropic/claude") == "anthropic:claude"
    assert sdk.name_of(None, None).startswith("openai:")
    assert sdk.name_of(ScriptedModel(), None) == "ScriptedModel"


@pytest.mark.parametrize(
    ("text", "recorded"),
    [
        ("[1]", {"input": [1]}),
        ("5", {"input": 5}),
        ("run it", {"input": "run it"}),
        ("[NaN]", {"input": "[NaN]"}),
        ('{"a":' * 150 + "1" + "}" * 150, json.loads('{"a":' * 150 + "1" + "}" * 150)),
        ('{"a":' * 250 + "1" + "}" * 250, {"input": '{"a":' * 250 + "1" + "}" * 250}),
        ("[" * 100_000, {"input": "[" * 100_000}),
    ],
)
def test_arguments_that_are_no_object_are_recorded_as_in_earlier_versions(text: str, recorded: dict[str, Any]) -> None:
    assert approvals.unread_input(text) == recorded
