"""Graphs of LangGraph and agents of LangChain without a runtime, and our checkpointer by LangGraph's own tests."""

from __future__ import annotations

import json
import operator
import typing
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolMessage
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from orbiter import run
from orbiter.errors import AgentError
from orbiter.guests import guest
from orbiter.guests.frameworks import framework_of
from orbiter.guests.langgraph import checkpointer, durable, durable_middleware
from orbiter.guests.langgraph.approval import ApprovalAsk, by_decision, by_human_response
from orbiter.guests.langgraph.messages import dump_message, load_message, to_ours, to_theirs
from orbiter.guests.langgraph.middleware import DURABLE_CHANNEL
from orbiter.guests.langgraph.model_call import MODEL_CALL
from orbiter.guests.langgraph.saver import JournalSaver
from orbiter.guests.langgraph.structured_output import dump_structured, load_structured
from orbiter.guests.langgraph.tool_call import TOOL_CALL, Asked, Done, Told
from orbiter.types import AssistantMessage, Message, ToolCall, ToolResult, UserMessage


class State(TypedDict):
    """A state without messages."""

    text: str
    notes: Annotated[list[str], operator.add]


def said(*texts: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(each) for each in texts]))


def graph_of(node: Any, *, schema: Any = State, saver: Any = None) -> Any:
    graph = StateGraph(schema)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(checkpointer=saver)


async def test_without_a_runtime_it_is_the_framework_alone() -> None:
    found = guest(create_agent(said("hello"), name="greeter"))
    assert (found.name, found.framework) == ("greeter", "langgraph")
    result = await found.run("hi")
    assert (result.output, result.agent) == ("hello", "greeter")
    assert (await run(guest(create_agent(said("hello")), name="a"), "hi")).output == "hello"


async def test_the_middleware_does_nothing_without_a_runtime() -> None:
    agent: Any = create_agent(said("hello", "again"), middleware=[durable_middleware()])
    given = {"messages": [("user", "hi")]}
    assert (await agent.ainvoke(given))["messages"][-1].text == "hello"
    assert agent.invoke(given)["messages"][-1].text == "again"


async def test_a_factory_that_takes_middleware_is_given_ours() -> None:
    marked = [
        guest(make, name="a")._take_agent()
        for make in (
            partial(create_agent, said("x")),
            lambda middleware: create_agent(said("x"), middleware=middleware),
        )
    ]
    assert [DURABLE_CHANNEL in each.channels for each in marked] == [True, True]
    assert DURABLE_CHANNEL not in create_agent(said("x")).channels


def test_recognising_needs_the_class_alone() -> None:
    for agent in (create_agent(said("x")), graph_of(lambda state: {})):
        found = framework_of(agent)
        assert found is not None
        assert found.name == "langgraph"
    assert framework_of(StateGraph(State)) is None
    assert guest(graph_of(lambda state: {})).name == ""


@pytest.mark.parametrize(
    ("text", "output"),
    [("go", "go!"), ('{"text": "as JSON", "notes": ["n"]}', "as JSON!")],
)
async def test_the_input_is_the_one_text_that_a_graph_takes_or_its_fields_as_json(text: str, output: str) -> None:
    graph = graph_of(lambda state: {"notes": [f"{state['text']}!"]})
    result = await guest(graph, name="g").run(text)
    assert result.parsed is not None
    assert result.parsed["notes"][-1] == output


async def test_a_graph_that_takes_several_fields_says_so() -> None:
    class Two(TypedDict):
        first: str
        second: str

    with pytest.raises(AgentError, match=r"takes 'first', 'second': write the input as a JSON object"):
        await guest(graph_of(lambda state: {}, schema=Two), name="g").run("go")


async def test_the_input_of_a_typed_dict_of_pythons_own_is_read_on_every_python() -> None:
    plain = typing.TypedDict("plain", {"text": str})  # noqa: UP013
    builder = StateGraph(plain).add_node("shout", lambda state: {"text": f"{state['text']}!"}).add_edge(START, "shout")
    assert (await guest(builder.compile(), name="g").run("go")).parsed == {"text": "go!"}


async def test_a_users_own_checkpointer_works_without_a_runtime() -> None:
    for saver in (InMemorySaver(), checkpointer()):
        graph = graph_of(lambda state: {"messages": [("ai", "yes")]}, schema=MessagesState, saver=saver)
        found = guest(graph, name="g", config={"configurable": {"thread_id": "mine"}})
        assert (await found.run("one")).output == "yes"
        assert len((await found.run("two")).messages) == 4


async def test_an_interrupt_without_a_runtime_is_the_frameworks() -> None:
    graph = graph_of(lambda state: {"notes": [interrupt("which?")]}, saver=checkpointer())
    with pytest.raises(GraphInterrupt, match="which"):
        await guest(graph, name="g").run("go")
    where: Any = {"configurable": {"thread_id": "t"}}
    assert (await graph.ainvoke({"text": "go", "notes": []}, where, version="v2")).interrupts
    assert (await graph.ainvoke(Command(resume="this"), where))["notes"] == ["this"]


async def test_durable_does_nothing_without_a_runtime() -> None:
    @durable
    async def one(number: int) -> int:
        return number + 1

    @durable
    def two(number: int) -> int:
        return number + 2

    assert (await one(1), two(1), one.__name__) == (2, 3, "one")
    assert durable(_three, idempotent=True)(1) == 4


def _three(number: int) -> int:
    return number + 3


def test_conversations_go_there_and_back() -> None:
    ours: list[Message] = [
        UserMessage(content="hi"),
        AssistantMessage(content="wait", tool_calls=[ToolCall(id="1", name="look", arguments='{"x": 1}')]),
        ToolResult(tool_call_id="1", tool_name="look", content="seen"),
        ToolResult(tool_call_id="2", tool_name="look", error="gone"),
    ]
    assert to_ours(to_theirs(ours)) == ours


@pytest.mark.parametrize("odd", ["{broken", '{"x": NaN}', "[1]", '{"x": ' + "[" * 150 + "]" * 150 + "}"])
def test_arguments_that_are_not_an_object_of_json_are_kept_as_text(odd: str) -> None:
    said = AssistantMessage(content="wait", tool_calls=[ToolCall(id="1", name="look", arguments=odd)])
    (theirs,) = to_theirs([said])
    assert isinstance(theirs, AIMessage)
    assert theirs.tool_calls[0]["args"] == {"invalid_json": odd}


INVALID: Literal["invalid_tool_call"] = "invalid_tool_call"


@dataclass
class Point:
    """A structured response."""

    x: int


class City(BaseModel):
    """Another."""

    name: str


class Place(BaseModel):
    """One with the same fields as another."""

    name: str


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (Point(1), ToolStrategy(Point)),
        (City(name="Bern"), ToolStrategy(City)),
        (Place(name="Bern"), ToolStrategy(City | Place)),
        ({"a": 1}, {"type": "object", "title": "A"}),
        (None, None),
    ],
)
def test_a_structured_response_keeps_its_type(value: Any, declared: Any) -> None:
    found = load_structured(dump_structured(value), declared)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "messages",
    [
        [AIMessage("one", usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}, id="m")],
        [AIMessage([{"type": "text", "text": "one"}, {"type": "image", "url": "x"}])],
        [
            AIMessage("", tool_calls=[{"name": "a", "args": {"x": [1, None]}, "id": "1"}]),
            ToolMessage("given", tool_call_id="1", name="a"),
        ],
        [AIMessage("", invalid_tool_calls=[InvalidToolCall(name="a", args="{", id="1", error="", type=INVALID)])],
        [],
    ],
)  # fmt: skip
def test_a_reply_is_recorded_whole(messages: Sequence[BaseMessage]) -> None:
    result = {"messages": list(messages), "structured": None, "command": None}
    assert MODEL_CALL.load(_stored(MODEL_CALL.dump(result))) == result


def _stored(value: Any) -> Any:
    return json.loads(json.dumps(value))


@pytest.mark.parametrize(
    "outcome",
    [
        ToolMessage("fine", tool_call_id="c", name="t", artifact={"a": 1}),
        ToolMessage("broken", tool_call_id="c", name="t", status="error"),
        ToolMessage([{"type": "text", "text": "x"}], tool_call_id="c", name="t"),
        Command(update={"messages": [ToolMessage("fine", tool_call_id="c", name="t")]}, goto="x"),
        [ToolMessage("fine", tool_call_id="c", name="t"), Command(update={"n": 1}, goto="x")],
    ],
)
def test_a_tools_result_is_recorded_whole(outcome: Any) -> None:
    told = Done("t", "c", Told(outcome))
    written = _stored(TOOL_CALL.dump(told))
    assert TOOL_CALL.load(written) == told
    assert (written["tool_name"], written["tool_call_id"]) == ("t", "c")


def test_what_a_tool_asked_is_recorded() -> None:
    asked = Done("t", "c", Asked((("which?", None), ({"a": [1]}, {"type": "string"}))))
    assert TOOL_CALL.load(_stored(TOOL_CALL.dump(asked))) == asked


def test_a_message_of_a_users_own_class_comes_back_as_its_base() -> None:
    class Mine(AIMessage):
        """A class that a later process may not know."""

    assert load_message(dump_message(Mine(content="x"))) == AIMessage("x")


@pytest.mark.parametrize(
    ("kind", "decision", "response"),
    [
        ("approve", {"type": "approve"}, {"type": "accept", "args": None}),
        (
            "edit",
            {"type": "edit", "edited_action": {"name": "pay", "args": {"n": 1}}},
            {"type": "edit", "args": {"action": "pay", "args": {"n": 1}}},
        ),
        ("reject", {"type": "reject", "message": "no"}, {"type": "response", "args": "no"}),
        ("respond", {"type": "respond", "message": "no"}, {"type": "response", "args": "no"}),
    ],
)
def test_a_decision_is_said_in_the_words_of_either_schema(kind: str, decision: Any, response: Any) -> None:
    asked = ApprovalAsk("pay", {"n": 1}, ("approve", "edit", "reject", "respond"))
    assert by_decision(asked, kind, "no") == decision
    assert by_human_response(asked, kind, "no") == response
    ignored = ApprovalAsk("pay", {"n": 1}, ("approve", "reject"))
    assert by_human_response(ignored, "reject", "no") == {"type": "ignore", "args": None}


async def test_langgraphs_own_tests_of_a_checkpointer_pass() -> None:
    @checkpointer_test(name="orbiter")
    async def made() -> AsyncIterator[JournalSaver]:
        yield checkpointer()

    report = await validate(made)
    assert report.passed_all()
    assert [name for name, each in report.results.items() if each.passed] == [
        "put", "put_writes", "get_tuple", "list", "delete_thread",
    ]  # fmt: skip
