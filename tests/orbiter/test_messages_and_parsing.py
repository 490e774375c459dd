"""Message lists and the output parser."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from orbiter._internal.message_builder import (
    build_messages,
    extract_last_assistant_tool_calls,
    merge_usage,
    validate_message_order,
)
from orbiter._internal.output_parser import (
    OutputParseError,
    parse_response,
    parse_structured_output,
    parse_tool_arguments,
)
from orbiter.types import (
    ActionModel,
    AgentOutput,
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)


def call(id_: str, arguments: str = "") -> ToolCall:
    return ToolCall(id=id_, name="search", arguments=arguments)


def answer(id_: str) -> ToolResult:
    return ToolResult(tool_call_id=id_, tool_name="search", content="r")


USER = UserMessage(content="q")


def test_build_messages() -> None:
    history: list[Message] = [USER, AssistantMessage(tool_calls=[call("1")])]
    built = build_messages("be brief", history, tool_results=[answer("1")])
    assert built == [SystemMessage(content="be brief"), *history, answer("1")]
    assert build_messages("", history) == history
    assert build_messages("", history) is not history


def test_equal_instructions_are_one_frozen_message_in_lists_of_their_own() -> None:
    first, second = build_messages("be brief", []), build_messages("be brief", [])
    assert first is not second
    assert first[0] is second[0]
    assert build_messages("be long", [])[0].content == "be long"


def test_dangling_tool_calls_are_named_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    messages: list[Message] = [USER, AssistantMessage(tool_calls=[call("1"), call("2"), call("3")]), answer("2")]
    with caplog.at_level(logging.WARNING):
        assert validate_message_order(messages) == ["1", "3"]
    assert "Dangling tool calls without results: 1, 3" in caplog.text


def test_a_result_before_its_call_answers_nothing_and_ids_may_come_again() -> None:
    again = AssistantMessage(tool_calls=[call("1")])
    assert validate_message_order([answer("1"), again]) == ["1"]
    assert validate_message_order([again, answer("1"), again]) == ["1"]
    assert validate_message_order([again, answer("1"), again, answer("1")]) == []


def test_the_last_calls_that_wait_for_an_answer() -> None:
    asked = AssistantMessage(tool_calls=[call("1"), call("2")])
    assert extract_last_assistant_tool_calls([USER, asked]) == ["1", "2"]
    assert extract_last_assistant_tool_calls([USER, asked, answer("1")]) == ["2"]
    assert extract_last_assistant_tool_calls([USER, asked, answer("1"), answer("2")]) == []
    assert extract_last_assistant_tool_calls([asked, AssistantMessage(content="done")]) == []
    assert extract_last_assistant_tool_calls([]) == []


def test_merge_usage() -> None:
    assert merge_usage(1, 2, 10, 20) == (11, 22, 33)


ids = st.lists(st.text(alphabet="abc123", min_size=1, max_size=3), unique=True, max_size=6)


@given(ids, st.randoms(use_true_random=False))
def test_exactly_the_unanswered_calls_dangle(all_ids: list[str], random: Any) -> None:
    answered = [id_ for id_ in all_ids if random.random() < 0.5]
    shuffled = random.sample(answered, len(answered))
    messages: list[Message] = [AssistantMessage(tool_calls=[call(id_) for id_ in all_ids]), *map(answer, shuffled)]
    expected = [id_ for id_ in all_ids if id_ not in answered]
    assert validate_message_order(messages) == expected
    assert extract_last_assistant_tool_calls(messages) == expected


# --- output parser -----------------------------------------------------------------------------------------------


def test_parse_response() -> None:
    usage = Usage(input_tokens=1, output_tokens=2, total_tokens=3)
    assert parse_response(content="c", tool_calls=[call("1")], usage=usage) == AgentOutput(
        text="c", tool_calls=[call("1")], usage=usage
    )


def test_a_reply_may_leave_its_fields_empty() -> None:
    assert parse_response(content=None, tool_calls=None, usage=None) == AgentOutput()


def test_parse_tool_arguments() -> None:
    assert parse_tool_arguments([call("1", '{"q": [1, null]}'), call("2"), call("3", "  \n")]) == [
        ActionModel(tool_call_id="1", tool_name="search", arguments={"q": [1, None]}),
        ActionModel(tool_call_id="2", tool_name="search"),
        ActionModel(tool_call_id="3", tool_name="search"),
    ]


def test_half_an_emoji_is_replaced_so_that_later_requests_can_be_sent() -> None:
    escaped, raw = call("1", '{"q": "\\ud83d", "\\ude00": ["\\ud83d\\ude00"]}'), call("2", '{"q": "\ud83d"}')
    found = parse_response(content="ah \ud83d", tool_calls=[escaped, raw], usage=None)
    assert found.text == "ah \ufffd"
    assert [each.arguments for each in parse_tool_arguments(found.tool_calls)] == [
        {"q": "\ufffd", "\ufffd": ["\U0001f600"]},
        {"q": "\ufffd"},
    ]
    found.model_dump_json()
    named = parse_response(content="", tool_calls=[ToolCall(id="\udc80", name="say\ud83d")], usage=None).tool_calls[0]
    assert (named.id, named.name) == ("\ufffd", "say\ufffd")


def test_the_text_of_seed_000() -> None:
    with pytest.raises(OutputParseError) as caught:
        parse_tool_arguments([call("1", "nope")])
    assert str(caught.value) == (
        "Invalid JSON in arguments for tool 'search': Expecting value: line 1 column 1 (char 0)"
    )
    assert isinstance(caught.value.__cause__, json.JSONDecodeError)
    assert caught.value.raw == "nope"


@pytest.mark.parametrize(("text", "kind"), [("[1]", "list"), ("3", "int"), ('"a"', "str"), ("null", "NoneType")])
def test_arguments_must_be_an_object(text: str, kind: str) -> None:
    with pytest.raises(OutputParseError, match=rf"^Tool 'search' arguments must be a JSON object, got {kind}$"):
        parse_tool_arguments([call("1", text)])


def test_arguments_nested_past_all_measure_are_refused_and_not_a_crash() -> None:
    with pytest.raises(OutputParseError, match="Invalid JSON in arguments for tool 'search'"):
        parse_tool_arguments([call("1", '{"a":' * 100_000)])


@given(st.text(max_size=30))
def test_any_arguments_are_parsed_or_refused(text: str) -> None:
    try:
        (action,) = parse_tool_arguments([call("1", text)])
    except OutputParseError:
        return
    assert action.arguments == (json.loads(text) if text.strip() else {})


class Report(BaseModel):
    model_config = ConfigDict(strict=True)

    title: str
    day: date
    tags: tuple[str, ...] = ()


@dataclass
class Point:
    x: int


REPORT = '{"title": "t", "day": "2026-11-21", "tags": ["a"]}'


@pytest.mark.parametrize("text", [REPORT, f"```json\n{REPORT}\n```", f" \n```\n{REPORT}\n```\n", f"\n{REPORT}\n"])
def test_structured_output(text: str) -> None:
    assert parse_structured_output(text, Report) == Report(title="t", day=date(2026, 11, 21), tags=("a",))


def test_structured_output_of_other_types() -> None:
    assert parse_structured_output('{"x": 1}', Point) == Point(1)
    assert parse_structured_output("[1, 2]", list[int]) == [1, 2]


def test_structured_output_that_is_no_json() -> None:
    with pytest.raises(OutputParseError) as caught:
        parse_structured_output("not json", Report)
    assert str(caught.value) == "Structured output is not valid JSON: Expecting value: line 1 column 1 (char 0)"


def test_structured_output_that_breaks_its_type() -> None:
    with pytest.raises(OutputParseError) as caught:
        parse_structured_output('{"title": "t"}', Report)
    assert str(caught.value).startswith("Structured output failed Report validation: 1 validation error for Report")
    assert caught.value.__cause__ is not None
