"""Messages, results, usage and events: names, defaults, frozen, and dumps that read as they always did."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from orbiter import types
from orbiter._internal.values.frozen import build_checked
from orbiter.errors import OrbiterError
from orbiter.types import (
    ActionModel,
    AgentInput,
    AgentOutput,
    AssistantMessage,
    ContentBlock,
    DocumentBlock,
    ErrorEvent,
    ImageDataBlock,
    ImageURLBlock,
    Message,
    ReasoningEvent,
    RunResult,
    StatusEvent,
    StepEvent,
    StreamEvent,
    SystemMessage,
    TextBlock,
    TextEvent,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolResultEvent,
    Usage,
    UsageEvent,
    UserMessage,
    content_text,
)

CALL = ToolCall(id="c1", name="search", arguments='{"q": 1}')

EVENTS: list[StreamEvent] = [
    TextEvent(text="t"),
    ToolCallEvent(tool_name="t", tool_call_id="c"),
    StepEvent(step_number=1, status="started"),
    ToolResultEvent(tool_name="t", tool_call_id="c"),
    ReasoningEvent(text="r"),
    ErrorEvent(error="e"),
    StatusEvent(status="starting"),
    UsageEvent(usage=Usage()),
]


def test_the_base_error_stands_here_too() -> None:
    assert types.OrbiterError is OrbiterError


@pytest.mark.parametrize(
    ("value", "dump"),
    [
        (UserMessage(content="hi"), {"role": "user", "content": "hi"}),
        (SystemMessage(content="be"), {"role": "system", "content": "be"}),
        (AssistantMessage(), {"role": "assistant", "content": "", "tool_calls": []}),
        (
            AssistantMessage(content="x", tool_calls=[CALL]),
            {
                "role": "assistant",
                "content": "x",
                "tool_calls": [{"id": "c1", "name": "search", "arguments": '{"q": 1}'}],
            },
        ),
        (
            ToolResult(tool_call_id="c", tool_name="t"),
            {"role": "tool", "tool_call_id": "c", "tool_name": "t", "content": "", "error": None},
        ),
        (ToolCall(id="c", name="n"), {"id": "c", "name": "n", "arguments": ""}),
        (ActionModel(tool_call_id="c", tool_name="n"), {"tool_call_id": "c", "tool_name": "n", "arguments": {}}),
        (Usage(), {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}),
        (AgentInput(query="q"), {"query": "q", "messages": []}),
        (
            AgentOutput(),
            {"text": "", "tool_calls": [], "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}},
        ),
        (
            RunResult(),
            {
                "output": "",
                "messages": [],
                "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
                "steps": 0,
            },
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_defaults_and_dumps(value: BaseModel, dump: dict[str, Any]) -> None:
    assert value.model_dump() == dump
    assert type(value).model_validate(dump) == value


@pytest.mark.parametrize("value", [UserMessage(content="x"), Usage(), RunResult(), AgentOutput(), CALL, *EVENTS])
def test_all_are_frozen(value: BaseModel) -> None:
    name = next(iter(type(value).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, name, getattr(value, name))


def test_what_must_be_given_must_be_given() -> None:
    for kind in (UserMessage, SystemMessage, ToolCall, ToolResult, ActionModel, AgentInput, TextEvent):
        with pytest.raises(ValidationError, match="Field required"):
            kind.model_validate({})
    with pytest.raises(ValidationError):
        RunResult(steps=-1)


def test_content_is_text_or_blocks() -> None:
    blocks: list[ContentBlock] = [
        TextBlock(text="look"),
        ImageURLBlock(url="https://example.org/a.png"),
        ImageDataBlock(data="AAAA", media_type="image/jpeg"),
        DocumentBlock(url="https://example.org/a.pdf"),
    ]
    message = UserMessage(content=blocks)
    assert message.content == blocks
    assert UserMessage.model_validate_json(message.model_dump_json()) == message
    assert UserMessage.model_validate({"content": [{"type": "text", "text": "x"}]}).content == [TextBlock(text="x")]
    assert content_text(message.content) == "look\n[image_url]\n[image_data]\n[document]"
    assert content_text("plain") == "plain"
    with pytest.raises(ValidationError):
        UserMessage.model_validate({"content": [{"type": "smell", "text": "x"}]})


def test_messages_are_told_apart_by_role() -> None:
    messages: list[Message] = [
        SystemMessage(content="s"),
        UserMessage(content="u"),
        AssistantMessage(tool_calls=[CALL]),
        ToolResult(tool_call_id="c1", tool_name="search", content="r"),
    ]
    result = RunResult(messages=messages)
    assert RunResult.model_validate_json(result.model_dump_json()).messages == messages
    assert all(before is after for before, after in zip(messages, result.messages, strict=True))


def test_usage_adds_up_field_by_field() -> None:
    one = Usage(input_tokens=1, output_tokens=2, total_tokens=3, cached_tokens=1, reasoning_tokens=1)
    two = Usage(input_tokens=10, output_tokens=20, total_tokens=30, cache_write_tokens=5)
    assert one + two == Usage(
        input_tokens=11,
        output_tokens=22,
        total_tokens=33,
        cached_tokens=1,
        cache_write_tokens=5,
        reasoning_tokens=1,
    )
    assert (one + two).model_dump()["cached_tokens"] == 1


counts = st.integers(min_value=0, max_value=10**9)
usages = st.builds(Usage, input_tokens=counts, output_tokens=counts, total_tokens=counts, cached_tokens=counts)


@given(usages, usages, usages)
def test_usage_is_a_monoid(one: Usage, two: Usage, three: Usage) -> None:
    assert (one + two) + three == one + (two + three)
    assert one + Usage() == one
    assert Usage.model_validate(one.model_dump()) == one


def test_events_are_told_apart_by_type_and_name_their_agent() -> None:
    adapter: TypeAdapter[StreamEvent] = TypeAdapter(StreamEvent)
    kinds = ["text", "tool_call", "step", "tool_result", "reasoning", "error", "status", "usage"]
    assert [event.type for event in EVENTS] == kinds
    for event in EVENTS:
        assert event.agent_name == ""
        assert adapter.validate_python(event.model_dump()) == event
    assert ToolResultEvent(tool_name="t", tool_call_id="c").success
    assert not ErrorEvent(error="e").recoverable
    with pytest.raises(ValidationError):
        StatusEvent(status="dancing")  # type: ignore[arg-type]


def test_a_parsed_answer_that_is_falsy_is_kept_in_a_dump() -> None:
    assert AgentOutput(parsed=0).model_dump()["parsed"] == 0
    assert "parsed" not in AgentOutput().model_dump()


def test_messages_may_share_the_set_of_their_field_names_and_a_copy_has_its_own() -> None:
    named = {"content"}
    made = build_checked(UserMessage, {"role": "user", "content": "a"}, named)
    assert made.model_fields_set is named
    for copied in (made.model_copy(update={"role": "user"}), made.model_copy(deep=True, update={"role": "user"})):
        assert copied.model_fields_set == {"role", "content"}
    assert made.model_fields_set == {"content"}
    assert made.model_dump(exclude_unset=True) == {"content": "a"}
