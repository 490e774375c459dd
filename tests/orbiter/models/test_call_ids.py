"""Each call of a conversation has an id of its own when it is sent, and its result has the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orbiter.models.call_ids import give_each_call_an_id
from orbiter.types import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from tests.orbiter.models.contract import HELLO, ask, provider, reply
from tests.orbiter.models.loopback import Loopback, Says

IDS = st.sampled_from(["", "c", "c_2", "call", "call_2", "other"])


def turn(ids: list[str]) -> list[Message]:
    """A reply with so many calls, and their results."""
    calls = [ToolCall(id=each, name=f"t{at}", arguments="{}") for at, each in enumerate(ids)]
    return [
        AssistantMessage(tool_calls=calls),
        *(ToolResult(tool_call_id=each, tool_name=f"t{at}", content=str(at)) for at, each in enumerate(ids)),
    ]


@given(st.lists(st.lists(IDS, max_size=4), max_size=5))
def test_ids_are_distinct_and_results_belong_to_their_calls(turns: list[list[str]]) -> None:
    said = [message for ids in turns for message in turn(ids)]
    sent = give_each_call_an_id(said)
    calls = [call for each in sent if isinstance(each, AssistantMessage) for call in each.tool_calls]
    results = [each for each in sent if isinstance(each, ToolResult)]
    assert len({call.id for call in calls}) == len(calls)
    assert all(call.id for call in calls)
    assert [(each.tool_call_id, each.tool_name) for each in results] == [(call.id, call.name) for call in calls]
    assert give_each_call_an_id(sent) == sent
    assert give_each_call_an_id(said[: len(said) // 2]) == sent[: len(said) // 2]


def test_what_has_an_id_of_its_own_is_left_as_it_is() -> None:
    said: list[Message] = [UserMessage(content="hi"), *turn(["a", "b"]), *turn(["c"])]
    assert all(one is other for one, other in zip(give_each_call_an_id(said), said, strict=True))


def test_a_result_answers_the_reply_before_it_where_an_earlier_call_has_none() -> None:
    unanswered, *_ = turn(["c"])
    sent = give_each_call_an_id([unanswered, *turn(["c"])])
    assert isinstance(sent[2], ToolResult)
    assert sent[2].tool_call_id == "c_2"


def test_what_a_provider_put_in_by_the_id_of_a_call_follows_it() -> None:
    data = {"provider": "google", "message": {}, "calls": {"c": {"extra": 1}}}
    again = AssistantMessage(tool_calls=[ToolCall(id="c", name="t", arguments="{}")], provider_data=data)
    *_, sent = give_each_call_an_id([*turn(["c"]), again])
    assert isinstance(sent, AssistantMessage)
    assert sent.provider_data == {**data, "calls": {"c_2": {"extra": 1}}}


async def test_a_server_that_gave_no_ids_is_followed_by_a_model_that_demands_them(says: Says, server: Loopback) -> None:
    server.answers = [reply(says, "complete", "Done")]
    await ask(provider(says, server), "complete", [*HELLO, *turn(["", ""]), *turn([""])])
    wire = server.asked[0].body["messages"]
    if says.name == "anthropic":
        blocks = [block for each in wire if isinstance(each["content"], list) for block in each["content"]]
        used = [block["id"] for block in blocks if block["type"] == "tool_use"]
        told = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    else:
        used = [call["id"] for each in wire for call in each.get("tool_calls", ())]
        told = [each["tool_call_id"] for each in wire if each["role"] == "tool"]
    assert (used, len(set(used))) == (told, 3)
