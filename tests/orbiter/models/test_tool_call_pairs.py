"""Each call of a conversation is sent with an id of its own and one result, whatever its history lacks."""

from __future__ import annotations

from itertools import chain, takewhile
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orbiter.models.tool_call_pairs import NO_RESULT, pair_tool_calls
from orbiter.types import AssistantMessage, ImageDataBlock, Message, ToolCall, ToolResult, UserMessage
from tests.orbiter.models.contract import HELLO, ask, provider, reply
from tests.orbiter.models.loopback import Loopback, Says

IDS = st.sampled_from(["", "c", "c_2", "call", "call_2", "other"])


def calling(*ids: str) -> AssistantMessage:
    return AssistantMessage(
        tool_calls=[ToolCall(id=each, name=f"t{at}", arguments="{}") for at, each in enumerate(ids)]
    )


def result(call_id: str, at: int = 0) -> ToolResult:
    return ToolResult(tool_call_id=call_id, tool_name=f"t{at}", content=str(at))


def turn(*ids: str) -> list[Message]:
    """A reply with so many calls, and their results."""
    return [calling(*ids), *(result(each, at) for at, each in enumerate(ids))]


HISTORIES = st.lists(
    st.one_of(
        st.lists(IDS, max_size=3).map(lambda ids: calling(*ids)),
        st.tuples(IDS, st.integers(0, 2)).map(lambda told: result(*told)),
        st.just(UserMessage(content="and?")),
    ),
    max_size=9,
)


@given(HISTORIES)
def test_whatever_was_cut_each_call_has_an_id_of_its_own_and_its_result_follows(said: list[Message]) -> None:
    sent = pair_tool_calls(said)
    ids = [call.id for each in sent if isinstance(each, AssistantMessage) for call in each.tool_calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    answers: list[str] = []
    for at, each in enumerate(sent):
        if isinstance(each, AssistantMessage):
            after = takewhile(lambda found: isinstance(found, ToolResult), sent[at + 1 :])
            answers += [found.tool_call_id for found in after if isinstance(found, ToolResult)]
    assert answers == ids
    assert len(answers) == sum(isinstance(each, ToolResult) for each in sent)
    assert pair_tool_calls(sent) == sent


@given(st.lists(st.lists(IDS, max_size=4), max_size=5), st.randoms())
def test_results_belong_to_their_calls_and_what_was_sent_stays(turns: list[list[str]], order: Random) -> None:
    said: list[list[Message]] = []
    for ids in turns:
        first, *results = turn(*ids)
        order.shuffle(results)
        said.append([first, *results])
    sent = pair_tool_calls(chain.from_iterable(said))
    names = [call.name for each in sent if isinstance(each, AssistantMessage) for call in each.tool_calls]
    assert [each.tool_name for each in sent if isinstance(each, ToolResult)] == names
    earlier = pair_tool_calls(chain.from_iterable(said[:-1]))
    assert earlier == sent[: len(earlier)]


def test_what_is_complete_is_left_as_it_is() -> None:
    said: list[Message] = [UserMessage(content="hi"), *turn("a", "b"), UserMessage(content="so?"), *turn("c")]
    assert all(one is other for one, other in zip(pair_tool_calls(said), said, strict=True))


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    asked = UserMessage(content="go on")
    assert pair_tool_calls([calling("a", "b"), result("b", 1), asked]) == [
        calling("a", "b"),
        ToolResult(tool_call_id="a", tool_name="t0", error=NO_RESULT),
        result("b", 1),
        asked,
    ]


def test_a_result_whose_call_was_cut_off_is_told_by_a_user() -> None:
    image = ImageDataBlock(data="aGk=")
    (sent,) = pair_tool_calls([ToolResult(tool_call_id="a", tool_name="shot", content=[image], error="half of it")])
    assert isinstance(sent, UserMessage)
    said: Any = sent.content
    assert said[0].text == "[Result of the tool shot, called earlier]\nError: half of it"
    assert said[1:] == [image]


def test_what_a_provider_put_in_by_the_id_of_a_call_follows_it() -> None:
    data = {"provider": "google", "message": {}, "calls": {"c": {"extra": 1}}}
    again = calling("c").model_copy(update={"provider_data": data})
    sent = pair_tool_calls([*turn("c"), again])[2]
    assert isinstance(sent, AssistantMessage)
    assert sent.provider_data == {**data, "calls": {"c_2": {"extra": 1}}}


async def test_a_server_that_gave_no_ids_is_followed_by_a_model_that_demands_them(says: Says, server: Loopback) -> None:
    server.answers = [reply(says, "complete", "Done")]
    cut = [result("gone"), *turn("", ""), calling("")]
    await ask(provider(says, server), "complete", [*HELLO, *cut, UserMessage(content="go on")])
    wire = server.asked[0].body["messages"]
    if says.name == "anthropic":
        blocks = [block for each in wire if isinstance(each["content"], list) for block in each["content"]]
        used = [block["id"] for block in blocks if block["type"] == "tool_use"]
        told = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    else:
        used = [call["id"] for each in wire for call in each.get("tool_calls", ())]
        told = [each["tool_call_id"] for each in wire if each["role"] == "tool"]
    assert (used, len(set(used))) == (told, 3)
