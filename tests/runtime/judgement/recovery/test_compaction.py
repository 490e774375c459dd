"""Making a conversation smaller after a provider refused it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.types import (
    AssistantMessage,
    ImageDataBlock,
    Message,
    SystemMessage,
    TextBlock,
    ToolCall,
    ToolResult,
    UserMessage,
)
from runtime.judgement.recovery.compaction import compact_messages, size_in_bytes
from tests.present import present


def _round(number: int, chars: int = 50) -> list[Message]:
    call = ToolCall(id=f"c{number}", name="look", arguments="{}")
    return [
        AssistantMessage(content=f"step {number}", tool_calls=[call]),
        ToolResult(tool_call_id=call.id, tool_name="look", content="x" * chars),
    ]


def _talk(rounds: int, chars: int = 50) -> list[Message]:
    talk: list[Message] = [SystemMessage(content="Be brief."), UserMessage(content="Count the birds.")]
    for number in range(rounds):
        talk += _round(number, chars)
    return talk


def _paired(messages: list[Message]) -> bool:
    """Every result has its call before it, and every call its result, as providers demand."""
    calls = [call.id for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls]
    results = [m.tool_call_id for m in messages if isinstance(m, ToolResult)]
    return calls == results


def test_long_old_results_lose_their_middle_the_last_round_stays() -> None:
    talk = _talk(3, 20_000)
    found = present(compact_messages(talk, 1))
    assert found.bytes_after == size_in_bytes(found.messages) < found.bytes_before == size_in_bytes(talk)
    assert "characters removed" in str(found.messages[3].content)
    assert found.messages[-1] == talk[-1]
    assert [(cut.number, cut.what) for cut in found.cuts] == [(2, "long texts shortened")]


def test_the_second_round_cuts_inside_what_must_stay() -> None:
    talk = _talk(1, 100_000)
    assert compact_messages(talk, 1) is None
    found = present(compact_messages(talk, 2))
    assert found.bytes_after < 3_000
    assert _paired(found.messages)


def test_the_middle_of_a_long_conversation_goes_and_says_so() -> None:
    found = present(compact_messages(_talk(30), 1))
    assert isinstance(found.messages[0], SystemMessage)
    assert str(found.messages[1].content).startswith("Count the birds.")
    assert "earlier messages were removed" in str(found.messages[1].content)
    assert found.messages[-2:] == _round(29)
    assert _paired(found.messages)


def test_the_newest_images_stay() -> None:
    image = ImageDataBlock(data="i" * 10_000)
    talk: list[Message] = [UserMessage(content=[TextBlock(text=f"{n}"), image]) for n in range(8)]
    found = present(compact_messages(talk, 1))
    kept = [b for m in found.messages if isinstance(m.content, list) for b in m.content if b.type == "image_data"]
    assert len(kept) <= 5
    assert isinstance(found.messages[-1].content, list)
    assert found.messages[-1].content[1] == image


def test_what_cannot_get_smaller_is_left_to_a_person() -> None:
    assert compact_messages([SystemMessage(content="s" * 100_000), UserMessage(content="hello")], 2) is None
    assert compact_messages([], 1) is None


def test_there_is_no_third_round() -> None:
    with pytest.raises(ValueError, match="there are 2"):
        compact_messages(_talk(1), 3)


@given(st.integers(0, 12), st.integers(0, 6_000), st.sampled_from([1, 2]), st.booleans())
def test_calls_and_results_stay_together_and_bytes_shrink(rounds: int, chars: int, round_: int, asked: bool) -> None:
    talk = _talk(rounds, chars) + ([UserMessage(content="And the fish?")] if asked else [])
    found = compact_messages(talk, round_)
    if found is not None:
        assert found.bytes_after < found.bytes_before
        assert _paired(found.messages)
        assert found.cuts
        questions = [str(m.content).split("\n")[0] for m in found.messages if isinstance(m, UserMessage)]
        assert questions == [str(m.content) for m in talk if isinstance(m, UserMessage)]
