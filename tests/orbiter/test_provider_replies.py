"""What a provider of a user's own returns: used where it can be, else refused with what is right."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from orbiter._internal.loop.model_step import ModelCall, ModelReply, call_model, stream_model
from orbiter.agent import Agent
from orbiter.errors import CallRunnerError, ModelError, causes
from orbiter.models import ModelResponse, StreamChunk, get_provider, model_registry
from orbiter.runner import run
from orbiter.types import ToolCall, Usage

CALL = {"id": "c1", "name": "add", "arguments": "{}"}


class Returns:
    """A provider that returns the same each time; a list is streamed."""

    def __init__(self, value: Any) -> None:
        self.value = value

    async def complete(self, messages: Any, **told: Any) -> Any:
        return self.value

    async def stream(self, messages: Any, **told: Any) -> Any:
        for each in self.value:
            yield each


class Waits(Returns):
    """Its `complete` is an ordinary function."""

    def complete(self, messages: Any, **told: Any) -> Any:
        return self.value


def reply(**odd: Any) -> ModelResponse:
    usual = {name: field.get_default(call_default_factory=True) for name, field in ModelResponse.model_fields.items()}
    return ModelResponse.model_construct(**{**usual, **odd})


def call(**odd: Any) -> list[ToolCall]:
    return [ToolCall.model_construct(**{**CALL, **odd})]


def count(**odd: Any) -> Usage:
    return Usage.model_construct(**odd)


def nested(levels: int) -> dict[str, Any]:
    return {"a": nested(levels - 1)} if levels else {}


def question(provider: Any) -> ModelCall:
    return ModelCall(Agent(name="bird", model="odd:m"), provider, "odd:m", [], None)


async def came_of(value: Any) -> ModelReply:
    return await call_model(question(Returns(value)))


REFUSED: list[tuple[Any, str]] = [
    (None, "None has no content; return ModelResponse"),
    ({"content": "x"}, "has no content; return ModelResponse"),
    (reply(content=["x"]), "content must be a text; got"),
    (reply(content=b"x"), "content must be a text; got b'x'"),
    (reply(tool_calls=3), "not iterable"),
    (reply(tool_calls=[CALL]), "tool_calls must be orbiter.ToolCall objects; got {"),
    (reply(tool_calls=call(name=None)), "name of a tool call must be a text; got None"),
    (reply(tool_calls=call(id=7)), "id of a tool call must be a text; got 7"),
    (reply(tool_calls=call(arguments={"a": 1})), "arguments of a tool call must be a JSON text; got {'a': 1}"),
    (reply(usage=SimpleNamespace(input_tokens=1)), "usage must be an orbiter.Usage; got"),
    (reply(usage=count(input_tokens=None)), "input_tokens: Input should be a valid integer; got None"),
    (reply(usage=count(input_tokens=1.5)), "input_tokens: .* got 1.5"),
    (reply(usage=count(output_tokens=math.nan)), "output_tokens: .* got nan"),
    (reply(provider_data={1: 2}), r"keys of its provider_data must be texts; got \[1\]"),
    (reply(provider_data={"a": object()}), "provider_data must be JSON"),
    (reply(provider_data=nested(300)), "provider_data must be JSON: it is nested deeper than 100 levels"),
]


@pytest.mark.parametrize(("value", "said"), REFUSED, ids=[said[:30] for _, said in REFUSED])
async def test_a_reply_that_cannot_be_used_says_what_is_wrong(value: Any, said: str) -> None:
    with pytest.raises(ModelError, match=f"reply cannot be used: .*{said}") as refused:
        await came_of(value)
    assert (refused.value.code, refused.value.provider, refused.value.model) == ("unusable_reply", "odd", "odd:m")


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (None, (0, 0)),
        ({"input_tokens": 3}, (3, 0)),
        (count(input_tokens="10", output_tokens=2.0), (10, 2)),
        (Usage(input_tokens=-5, output_tokens=4), (0, 4)),
        (count(input_tokens=True), (1, 0)),
    ],
)
async def test_tokens_are_whole_numbers_and_not_negative(usage: Any, counted: tuple[int, int]) -> None:
    used = (await came_of(reply(usage=usage))).output.usage
    assert (used.input_tokens, used.output_tokens) == counted
    assert type(used.input_tokens) is int


async def test_tool_calls_may_be_an_iterator() -> None:
    found = await came_of(SimpleNamespace(content="", tool_calls=iter([*call()]), usage=None))
    assert [each.name for each in found.output.tool_calls] == [each.name for each in call()]


async def test_what_a_reply_may_leave_out_is_empty() -> None:
    came = await came_of(SimpleNamespace(content=None, tool_calls=None, usage=None))
    assert (came.output.text, came.output.tool_calls, came.provider_data) == ("", [], None)


async def test_complete_that_is_no_coroutine_is_named() -> None:
    with pytest.raises(ModelError, match=r"complete\(\) must be 'async def'"):
        await call_model(question(Waits(reply())))


ODD_PIECES = [
    [None],
    ["text"],
    [SimpleNamespace(delta=5)],
    [SimpleNamespace(delta=b"abc")],
    [SimpleNamespace(delta="a", reasoning_content=["x"])],
    [StreamChunk(delta="a"), SimpleNamespace(delta="", usage="12")],
    [SimpleNamespace(delta="a", finish_reason=7)],
    [SimpleNamespace(delta="", tool_call_deltas=[{"index": 0}])],
    [SimpleNamespace(delta="", tool_call_deltas=[SimpleNamespace(index=0, name="add", arguments={"a": 1})])],
    [StreamChunk.model_construct(**{**vars(StreamChunk()), "delta": 5})],
    [StreamChunk(delta="a"), StreamChunk.model_construct(**{**vars(StreamChunk()), "usage": "12"})],
]


@pytest.mark.parametrize("pieces", ODD_PIECES, ids=str)
async def test_a_stream_with_an_odd_piece_is_refused(pieces: list[Any]) -> None:
    said: list[str] = []
    with pytest.raises(ModelError, match="reply cannot be used"):
        await stream_model(question(Returns(pieces)), lambda _, text: said.append(text))
    assert all(isinstance(each, str) for each in said)


@pytest.mark.parametrize("pieces", ODD_PIECES, ids=str)
async def test_a_stream_with_an_odd_piece_is_refused_without_a_runtime_too(pieces: list[Any]) -> None:
    stream = run.stream(Agent(name="bird", model="odd:m"), "q", provider=Returns(pieces), max_retries=1)
    with pytest.raises(CallRunnerError, match="reply cannot be used") as refused:
        async for _ in stream:
            pass
    assert any(isinstance(link, ModelError) and link.code == "unusable_reply" for link in causes(refused.value))


async def test_a_stream_may_be_awaited_for() -> None:
    class Later(Returns):
        async def stream(self, messages: Any, **told: Any) -> Any:
            return Returns(self.value).stream(messages)

    came = await stream_model(question(Later([StreamChunk(delta="a")])), lambda _, text: None)
    assert came.output.text == "a"


def test_what_makes_no_provider_is_named() -> None:
    if "makes-none" not in model_registry:
        model_registry.register("makes-none", lambda config: 3)
    with pytest.raises(ModelError, match="registered as provider 'makes-none' made 3, which has no complete"):
        get_provider("makes-none:m")
