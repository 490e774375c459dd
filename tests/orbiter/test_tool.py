"""Tools: all forms of the decorator, errors for the model, context, results, what an operator must know."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from functools import partial, wraps
from typing import Any

import pytest
from pydantic import BaseModel

from orbiter.errors import ConfigurationError, OrbiterError
from orbiter.tool import (
    FunctionTool,
    Tool,
    ToolCallError,
    ToolContext,
    ToolError,
    ToolExecutionError,
    current_tool_context,
    result_content,
    tool,
    tool_context,
)
from orbiter.types import TextBlock
from tests.orbiter.engine_fakes import unchecked

_tenant: ContextVar[str] = ContextVar("tenant", default="none")


def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Args:
        a: The first.
    """
    return a + b


class Point(BaseModel):
    x: int
    y: int = 0


# --- forms ---------------------------------------------------------------------------------------------------------


def test_the_forms_of_the_decorator() -> None:
    plain, called = tool(add), tool()(add)
    named = tool(name="plus", description="Adds.")(add)
    direct = FunctionTool(add, name="sum")
    assert [made.name for made in (plain, called, named, direct)] == ["add", "add", "plus", "sum"]
    assert [made.description for made in (plain, named)] == ["Add two numbers.", "Adds."]
    assert all(isinstance(made, FunctionTool) for made in (plain, called, named, direct))
    assert issubclass(FunctionTool, Tool)
    assert plain(1) == 3


def test_the_schema_in_function_calling_form() -> None:
    assert tool(add).to_schema() == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "description": "The first."},
                    "b": {"type": "integer", "default": 2},
                },
                "required": ["a"],
            },
        },
    }


def test_what_an_operator_must_know() -> None:
    def classify(exc: Exception, context: dict[str, Any]) -> str:
        return "retriable"

    made = tool(
        permissions=("files:write",),
        idempotent=True,
        timeout=2.5,
        risk="deletes files",
        failure="degrade",
        composite=True,
        classify_error=classify,
        retry_policy={"max_attempts": 2},
    )(add)
    traits = made.traits
    assert (traits.permissions, traits.idempotent, traits.timeout) == (("files:write",), True, 2.5)
    assert (traits.risk, traits.failure, made.composite) == ("deletes files", "degrade", True)
    assert traits.classify_error is classify
    assert traits.retry_policy is not None
    assert traits.retry_policy() == {"max_attempts": 2}
    assert traits.schema == made.parameters
    assert (tool(add).traits.failure, tool(add).traits.idempotent, tool(add).composite) == ("", False, False)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"permissions": "files"}, "permissions must be a sequence of names"),
        ({"timeout": 0}, "timeout must be above 0 seconds, got 0"),
        ({"timeout": float("nan")}, "timeout must be above 0 seconds"),
        ({"failure": "contniue"}, "Unknown failure policy for tool 'add': 'contniue'"),
    ],
)
def test_a_mistake_in_the_settings_is_named(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(OrbiterError, match=text) as caught:
        FunctionTool(add, **settings)
    assert isinstance(caught.value, (ToolError, ConfigurationError))
    assert caught.value.hint


def test_what_is_no_function_is_refused() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    with pytest.raises(ToolError, match="needs a function, got 3"):
        FunctionTool(3)  # type: ignore[arg-type]
    with pytest.raises(ToolError, match="Tool 'numbers' is a generator"):
        tool(numbers)
    with pytest.raises(ToolError, match=r"signature of .* cannot be read"):
        tool(max)


# --- running -------------------------------------------------------------------------------------------------------


async def test_async_and_plain_functions() -> None:
    @tool
    async def shout(text: str) -> str:
        return text.upper()

    @tool
    def where() -> str:
        return threading.current_thread().name + ":" + _tenant.get()

    _tenant.set("acme")
    assert await shout.execute(text="a") == "A"
    assert await where.execute() == "orbiter-tool:acme"


async def test_other_callables() -> None:
    class Counter:
        """Counts."""

        def __call__(self, step: int) -> int:
            return step + 1

    class Fetch:
        async def __call__(self, url: str) -> str:
            return f"<{url}>"

    @wraps(add)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return add(*args, **kwargs)

    @wraps(add)
    def late(*args: Any, **kwargs: Any) -> Any:
        async def run() -> int:
            return add(*args, **kwargs)

        return run()

    def positional(a: int, /, b: int) -> int:
        return a - b

    assert await FunctionTool(Counter()).execute(step=1) == 2
    assert FunctionTool(Counter()).name == "Counter"
    assert await FunctionTool(Fetch()).execute(url="u") == "<u>"
    assert await tool(wrapped).execute(a=1) == 3
    assert await tool(late).execute(a=1) == 3
    assert await FunctionTool(partial(add, b=5), name="add5").execute(a=1) == 6
    assert await tool(positional).execute(a=5, b=2) == 3


async def test_errors_are_wrapped_with_the_tools_name_and_chained() -> None:
    @tool
    def broken(x: int) -> None:
        raise ValueError("no net")

    @tool
    async def leaving() -> None:
        raise SystemExit(2)

    @tool
    async def own() -> None:
        raise ToolError("Database query failed: gone")

    with pytest.raises(ToolError) as caught:
        await broken.execute(x=1)
    assert str(caught.value) == "Tool 'broken' failed: no net"
    assert isinstance(caught.value, ToolExecutionError)
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(ToolError, match="Tool 'leaving' failed: 2"):
        await leaving.execute()
    with pytest.raises(ToolError) as passed:
        await own.execute()
    assert str(passed.value) == "Database query failed: gone"


async def test_a_cancelled_tool_is_no_failed_tool() -> None:
    started = asyncio.Event()

    @tool
    async def slow() -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(slow.execute())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_abandoned_plain_function_hands_its_late_result_over() -> None:
    loop = asyncio.get_running_loop()
    begun, release = threading.Event(), threading.Event()
    late: asyncio.Future[Any] = loop.create_future()

    def slow() -> str:
        begun.set()
        release.wait(10)
        return "late"

    made = tool(on_late=lambda value, error: late.set_result(value))(slow)
    task = asyncio.create_task(made.execute())
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    assert await late == "late"


# --- arguments -----------------------------------------------------------------------------------------------------


async def test_arguments_are_checked_before_the_tool_runs() -> None:
    ran: list[Any] = []

    @tool
    async def move(point: Point, speed: float = 1.0) -> str:
        ran.append(point)
        return "moved"

    # The original let the call through: the model saw Python's TypeError, or the tool got a dict.
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "'point' is required"),
        ({"point": {"y": 1}}, "'point.x' is required"),
        ({"point": {"x": "far"}}, "'point.x': input should be a valid integer"),
        ({"point": {"x": 1}, "spede": 2}, "'spede' is not a parameter"),
        ({"point": {"x": 1}, "speed": "fast"}, "(got 'fast')"),
    ]
    for arguments, problem in cases:
        with pytest.raises(ToolError) as caught:
            await move.execute(**arguments)
        assert str(caught.value).startswith("Tool 'move' failed: invalid arguments: ")
        assert problem in str(caught.value)
        assert isinstance(caught.value, ToolCallError)
        assert caught.value.recoverable
    assert ran == []
    assert await move.invoke({"point": {"x": "1"}, "speed": "2"}) == "moved"
    assert ran == [Point(x=1)]
    assert move.validate({"point": {"x": 1}}) == {"point": Point(x=1)}


async def test_arguments_may_have_any_name() -> None:
    @tool
    async def odd(schema: str, model_config: int, copy: bool, json: str = "", _hidden: int = 0, self: str = "") -> str:
        return f"{schema}{model_config}{copy}{json}{_hidden}"

    assert await odd.invoke({"schema": "s", "model_config": 1, "copy": True, "_hidden": 2, "self": "me"}) == "s1True2"
    names = ["schema", "model_config", "copy", "json", "_hidden", "self"]
    assert list(odd.parameters["properties"]) == names


async def test_a_method_is_a_tool_of_its_instance() -> None:
    class Shop:
        def __init__(self, prices: dict[str, int]) -> None:
            self.prices = prices

        @tool(permissions=("shop",))
        async def price(self, item: str) -> str:
            """What it costs."""
            return str(self.prices[item])

    one, other = Shop({"pen": 1}), Shop({"pen": 2})
    assert list(one.price.parameters["properties"]) == ["item"]
    assert [await one.price.invoke({"item": "pen"}), await other.price.invoke({"item": "pen"})] == ["1", "2"]
    assert one.price is one.price
    assert (one.price.traits.permissions, one.price.traits.schema) == (("shop",), one.price.parameters)
    assert isinstance(Shop.price, FunctionTool)


async def test_open_keywords_pass_through() -> None:
    @tool
    async def log(event: str, **fields: Any) -> Any:
        return {"event": event, **fields}

    assert await log.invoke({"event": "e", "user": 3}) == {"event": "e", "user": 3}
    assert list(log.parameters["properties"]) == ["event"]


async def test_a_tool_with_a_schema_of_its_own_is_checked_against_it() -> None:
    class Search(Tool):
        name = "search"
        description = "Search."

        def __init__(self) -> None:
            self.parameters = {
                "type": "object",
                "properties": {
                    "q": {"type": "string"},
                    "top": {"type": ["integer", "null"]},
                    "sort": {"enum": ["new", "old"]},
                    "by": {"$ref": "#/$defs/by"},
                },
                "required": ["q"],
                "additionalProperties": False,
                "$defs": {"by": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}},
            }

        async def execute(self, **kwargs: Any) -> str:
            return json.dumps(kwargs)

    search = Search()
    good = {"q": "x", "top": None, "sort": "new", "by": ["a"]}
    assert json.loads(await search.invoke(good)) == good
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "'q' is required"),
        ({"q": 1}, "'q': should be of type string, got 1"),
        ({"q": "x", "top": "3"}, "'top': should be of type integer or null, got '3'"),
        ({"q": "x", "top": True}, "'top': should be of type integer or null, got True"),
        ({"q": "x", "sort": "best"}, "'sort': should be one of 'new', 'old', got 'best'"),
        ({"q": "x", "by": [1]}, "'by': fits none of the 2 forms allowed, got [1]"),
        ({"q": "x", "z": 1}, "'z' is not a parameter"),
    ]
    for bad, problem in cases:
        with pytest.raises(ToolCallError) as caught:
            await search.invoke(bad)
        assert str(caught.value) == f"Tool 'search' failed: invalid arguments: {problem}"


# --- context -------------------------------------------------------------------------------------------------------


async def test_a_context_argument_is_filled_in_and_unknown_to_the_model() -> None:
    @tool
    async def whoami(greeting: str, context: ToolContext) -> str:
        return f"{greeting} {context.agent} {context.tool_call_id}"

    @tool
    def in_a_thread(where: ToolContext | None = None) -> str:
        return (where.agent if where else "") + "/" + current_tool_context().agent

    assert list(whoami.parameters["properties"]) == ["greeting"]
    assert in_a_thread.parameters["properties"] == {}
    with tool_context(ToolContext(agent="a", tool_call_id="c1")):
        assert await whoami.invoke({"greeting": "hi"}) == "hi a c1"
        assert await in_a_thread.invoke({}) == "a/a"
    assert await whoami.execute(greeting="hi", context=ToolContext(agent="given")) == "hi given "
    assert current_tool_context() == ToolContext()
    with pytest.raises(ToolCallError, match="'context' is not a parameter"):
        await whoami.invoke({"greeting": "hi", "context": {"agent": "root"}})


# --- results -------------------------------------------------------------------------------------------------------


class Colour(Enum):
    RED = "red"


@dataclass
class Pair:
    left: int
    right: Colour


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        (3, "3"),
        (True, "True"),
        (None, "None"),
        ({"a": "ä", "b": [1, None]}, '{"a": "ä", "b": [1, null]}'),
        ([1, 2], "[1, 2]"),
        ((1, "b"), '[1, "b"]'),
        (Point(x=1), '{"x": 1, "y": 0}'),
        ({"p": Point(x=1), "c": Colour.RED}, '{"p": {"x": 1, "y": 0}, "c": "red"}'),
        (Pair(1, Colour.RED), '{"left": 1, "right": "red"}'),
        ({1: ValueError("odd")}, '{"1": "odd"}'),
        ({"x": float("nan"), "y": [float("-inf"), 1.5]}, '{"x": "NaN", "y": ["-Infinity", 1.5]}'),
    ],
    ids=str,
)
def test_results_as_content(value: Any, content: str) -> None:
    # The original wrote str(dict), which is Python and no JSON.
    assert result_content(value) == content


def test_content_blocks_stay_blocks() -> None:
    blocks = [TextBlock(text="a")]
    assert result_content(blocks) == blocks
    assert result_content([]) == "[]"


@pytest.mark.parametrize(
    "odd",
    [unchecked(TextBlock), unchecked(TextBlock, text=7), unchecked(TextBlock, type="x", text="")],
)
def test_a_content_block_that_cannot_be_used_is_an_error(odd: TextBlock) -> None:
    with pytest.raises(ToolError, match="The tool returned a TextBlock that cannot be used: t"):
        result_content([TextBlock(text="a"), odd])


def test_a_result_that_contains_itself_is_an_error() -> None:
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(ToolError, match="cannot be written as JSON"):
        result_content(value)


def test_a_tool_must_say_how_it_runs() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Tool()  # type: ignore[abstract]


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class _Ending(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class _Detached:
    def __repr__(self) -> str:
        raise RuntimeError("it is detached")


class _Odd(BaseException):
    """What some libraries raise past every `except Exception`."""


@pytest.mark.parametrize(
    "error",
    [
        _Mute("a", 1),
        _Ending("a", 1),
        _Odd("a 1"),
        GeneratorExit("a 1"),
        ValueError("a 1", _Detached()),
        OSError("a 1", 10**5000),
    ],
)
async def test_whatever_a_tool_raises_ends_its_call_and_nothing_else(error: BaseException) -> None:
    def raises() -> None:
        """Raise."""
        raise error

    with pytest.raises(ToolError, match=r"^Tool 'raises' failed: .*a'?,? 1"):
        await tool(raises).execute()


@pytest.mark.parametrize("error", [TimeoutError(), AssertionError(), MemoryError(), StopAsyncIteration()])
async def test_an_exception_without_words_is_told_by_its_class(error: BaseException) -> None:
    async def raises() -> None:
        """Raise."""
        raise error

    told = f"Tool 'raises' failed: {type(error).__name__}"
    with pytest.raises(ToolError) as caught:
        await tool(raises).execute()
    assert str(caught.value) == told
    assert caught.value.context["execution_error"] == type(error).__name__
    assert str(ToolExecutionError("raises", error)) == told
