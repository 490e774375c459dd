from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from orbiter.models import StreamAssembly, StreamChunk, ToolCallDelta, get_provider
from orbiter.models.types import FinishReason, ModelResponse
from orbiter.types import Usage, UserMessage
from tests.orbiter.models.loopback import Answer, AnthropicSays, Loopback, OpenAISays, Says


def cut(text: str, at: list[int]) -> list[str]:
    """`text` in pieces, cut at the places given (taken modulo its length)."""
    places = sorted({place % (len(text) + 1) for place in at})
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


CALLS = st.lists(
    st.tuples(
        st.text("abcdef0123456789", min_size=1, max_size=8),
        st.text(min_size=1, max_size=5),
        st.text(max_size=20),
        st.lists(st.integers(0, 20), max_size=4),
    ),
    max_size=4,
    unique_by=lambda call: call[0],
)


@given(st.text(max_size=40), st.lists(st.integers(0, 40), max_size=6), CALLS, st.text(max_size=20), st.randoms())
def test_pieces_add_up_however_they_were_cut(
    text: str, cuts: list[int], calls: list[tuple[str, str, str, list[int]]], thoughts: str, order: Any
) -> None:
    lanes: list[list[StreamChunk]] = [
        [StreamChunk(delta=piece) for piece in cut(text, cuts)],
        [StreamChunk(reasoning_content=piece) for piece in cut(thoughts, cuts)],
    ]
    opened: list[StreamChunk] = []
    for index, (call_id, name, arguments, places) in enumerate(calls):
        opened.append(StreamChunk(tool_call_deltas=[ToolCallDelta(index=index, id=call_id, name=name)]))
        lanes.append(
            [
                StreamChunk(tool_call_deltas=[ToolCallDelta(index=index, arguments=piece)])
                for piece in cut(arguments, places)
            ]
        )
    assembly = StreamAssembly()
    for chunk in opened:
        assembly.add(chunk)
    while any(lanes):
        assembly.add(order.choice([lane for lane in lanes if lane]).pop(0))
    reason: FinishReason = "tool_calls" if calls else "stop"
    assembly.add(StreamChunk(finish_reason=reason, usage=Usage(input_tokens=1, output_tokens=2, total_tokens=3)))
    reply = assembly.response()
    assert (reply.content, reply.reasoning_content, reply.finish_reason) == (text, thoughts, reason)
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [call[:3] for call in calls]
    assert reply.usage.total_tokens == 3


def test_calls_without_an_id_get_one_each() -> None:
    assembly = StreamAssembly()
    for index in (0, 1):
        assembly.add(StreamChunk(tool_call_deltas=[ToolCallDelta(index=index, name="f", arguments="{}")]))
    calls = assembly.response().tool_calls
    assert [call.name for call in calls] == ["f", "f"]
    assert all(call.id for call in calls)
    assert calls[0].id != calls[1].id


def test_another_id_under_the_same_index_is_another_call() -> None:
    assembly = StreamAssembly()
    for call_id in ("a", "b"):
        assembly.add(StreamChunk(tool_call_deltas=[ToolCallDelta(id=call_id, name="f", arguments="{}")]))
    assert [call.id for call in assembly.response().tool_calls] == ["a", "b"]


def test_chunks_of_a_caller_s_own_making_may_lack_fields() -> None:
    assembly = StreamAssembly()
    for chunk in (SimpleNamespace(delta="Hi"), SimpleNamespace(delta="", tool_call_deltas=None, usage=None)):
        assembly.add(cast("StreamChunk", chunk))
    assert assembly.response() == ModelResponse(content="Hi")


@hypothesis_settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([AnthropicSays(), OpenAISays()]),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30),
    st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=8), min_size=1, max_size=2), max_size=2),
    st.lists(st.integers(0, 10_000), max_size=12),
)
async def test_bytes_cut_anywhere_give_the_same_reply_through_the_real_sdks(
    says: Says, text: str, arguments: list[dict[str, str]], cuts: list[int]
) -> None:
    calls = [(f"call_{number}", "f", json.dumps(each)) for number, each in enumerate(arguments)]
    whole = b"".join(says.stream(text, calls))
    places = sorted({place % (len(whole) + 1) for place in cuts})
    pieces = [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True) if a < b]
    async with Loopback() as server:
        server.answers = [Answer(pieces=pieces)]
        model = get_provider(f"{says.name}:{says.model}", api_key="sk-test-123456", base_url=says.base(server.url))
        assembly = StreamAssembly()
        async for chunk in model.stream([UserMessage(content="x")]):
            assembly.add(chunk)
    reply = assembly.response()
    assert reply.content == text
    assert [(call.id, call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        (call_id, name, json.loads(given_arguments)) for call_id, name, given_arguments in calls
    ]
    assert reply.finish_reason == ("tool_calls" if calls else "stop")
