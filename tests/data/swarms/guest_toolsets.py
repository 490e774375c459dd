"""Agents whose tools are made, changed or named at run time, and whose tools take and give what is not JSON. Before its
last reply each model is out of reach, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents import Agent as OpenAIAgent
from agents import RunContextWrapper, function_tool
from langchain.agents import create_agent
from langchain_core.tools import tool
from pydantic_ai import Agent, BinaryContent, RunContext, ToolReturn
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import DynamicToolset, FunctionToolset, WrapperToolset

from orbiter.guests import guest
from tests.data.swarms import graphs, openai_guests
from tests.data.swarms.guest_shapes import book, find, heard, there, told
from tests.data.swarms.guests import call, effect, results, scripted

RAW = b"\xff\xfe raw"


class Array:
    """As an array of numpy: it compares each of its elements, and has no truth value of its own."""

    def __init__(self, *values: int) -> None:
        self.values = values

    def __eq__(self, other: object) -> Any:
        return Array(*(value == other for value in self.values))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")

    def __repr__(self) -> str:
        return f"Array{self.values}"


@dataclass
class Point:
    """A place."""

    x: int
    y: int


# -- pydantic-ai: sets of tools -----------------------------------------------------------------------------------

at_run_time = guest(
    Agent(scripted([call("book", "a", row=1), call("find", "b", row=2)], told)),
    name="at_run_time",
    run_options={"toolsets": [FunctionToolset([book]), DynamicToolset(lambda ctx: FunctionToolset([find]))]},
)

decorated: Agent[None, str] = Agent(scripted([call("book", "a", row=1)], [call("find", "b", row=2)], told))


@decorated.toolset
def of_the_step(ctx: RunContext[None]) -> FunctionToolset[None]:
    """Other tools in each step."""
    return FunctionToolset([book] if ctx.run_step == 1 else [find])


class Counting(WrapperToolset[object]):
    """A tool set around another one."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: Any) -> Any:
        """Say that it was called."""
        return f"counted {await super().call_tool(name, tool_args, ctx, tool)}"


def _not_find(ctx: RunContext[object], definition: ToolDefinition) -> bool:
    return definition.name != "find"


_two = FunctionToolset([book, find])
named = Agent(
    scripted(
        [
            call("a_book", "a", row=1),
            call("b_book", "b", row=2),
            call("reserve", "c", row=3),
            call("book", "d", row=4),
            call("c_book", "e", row=5),
        ],
        told,
    ),
    toolsets=[
        FunctionToolset([book]).prefixed("a"),
        FunctionToolset([book]).prefixed("b"),
        FunctionToolset([book]).renamed({"reserve": "book"}),
        _two.filtered(_not_find),
        Counting(FunctionToolset([book])).prefixed("c"),
    ],
)


async def _of_the_step(ctx: RunContext[object], definitions: list[ToolDefinition]) -> list[ToolDefinition]:
    return [each for each in definitions if each.name == ("book" if ctx.run_step == 1 else "find")]


prepared = Agent(
    scripted([call("book", "a", row=1)], [call("find", "b", row=2)], told), toolsets=[_two.prepared(_of_the_step)]
)
searched = Agent(
    scripted([call("search_tools", "a", queries=["seat"])], [call("find", "b", row=1), call("book", "c", row=2)], told),
    toolsets=[_two.defer_loading(["find"])],
)


def push(ctx: RunContext[object]) -> str:
    """Put something into the conversation."""
    ctx.enqueue("by the way")
    return "pushed"


enqueuing = Agent(scripted([call("push", "a")], told), tools=[push])
same_names = Agent(scripted([call("book", "a", row=1)], results), toolsets=[FunctionToolset([book]), _two])

# -- pydantic-ai: values ------------------------------------------------------------------------------------------


def photo() -> BinaryContent:
    """Take a photo."""
    effect("note photo")
    return BinaryContent(data=RAW, media_type="image/png")


def scan() -> ToolReturn:
    """Scan."""
    effect("note scan")
    return ToolReturn("scanned", content=["page", BinaryContent(data=RAW, media_type="image/png")], metadata={"n": 1})


def where() -> Point:
    """Tell the place."""
    effect("note where")
    return Point(1, 2)


def load(raw: bytes) -> str:
    """Take bytes."""
    effect(f"note load {raw!r}")
    return str(len(raw))


def seen(messages: list[ModelMessage]) -> str:
    """What the tools gave, by class and bytes."""
    there()
    found: list[Any] = []
    for part in messages[-1].parts:
        content = part.content if isinstance(part, ToolReturnPart) else getattr(part, "content", None)
        found += content if isinstance(content, list | tuple) else [content]
    return "; ".join(f"raw {each.data == RAW}" if isinstance(each, BinaryContent) else repr(each) for each in found)


binary = Agent(
    scripted([call("photo", "a"), call("scan", "b"), call("where", "c"), call("load", "d", raw="abc")], seen),
    tools=[photo, scan, where, load],
)

# -- LangChain ----------------------------------------------------------------------------------------------------


@tool(response_format="content_and_artifact")
def measure(number: int) -> tuple[str, Any]:
    """Measure."""
    effect(f"note measured {number}")
    return f"measured {number}", [Point(1, 2), (3, "x")]


@tool(response_format="content_and_artifact")
def fetch(number: int) -> tuple[str, Any]:
    """Fetch bytes."""
    effect(f"note fetched {number}")
    return f"fetched {number}", RAW


@tool
def point(number: int) -> Any:
    """Tell a place, which is an array."""
    effect(f"note point {number}")
    return Array(number, 2)


def artifacts(messages: Sequence[Any]) -> str:
    """What the tools gave, with the artifacts that no model is shown."""
    return f"{heard(messages)}; {[each.artifact for each in messages[-3:]]}"


def values(middleware: Sequence[Any]) -> Any:
    """What its tools give is not JSON."""
    calls = [(name, name, {"number": 1}) for name in ("measure", "fetch", "point")]
    return create_agent(graphs.scripted(calls, artifacts), [measure, fetch, point], middleware=middleware)


# -- OpenAI Agents ------------------------------------------------------------------------------------------------


def _is_on(ctx: RunContextWrapper[Any], agent: Any) -> bool:
    return bool(ctx.context["on"])


@function_tool(failure_error_function=None)
def switch(ctx: RunContextWrapper[Any]) -> bytes:
    """Make another tool known."""
    effect("note switched")
    ctx.context["on"] = True
    ctx.context["array"] = Array(1, 2)
    return RAW


@function_tool(is_enabled=_is_on, failure_error_function=None)
def hidden(ctx: RunContextWrapper[Any]) -> Any:
    """A tool that is not always there."""
    effect("note hidden")
    return Array(1, 2)


def spoken(items: list[Any]) -> str:
    """What the tools of an agent of the SDK gave."""
    there()
    return openai_guests.results(items)


_shown = OpenAIAgent(
    "enabled",
    model=openai_guests.Scripted(
        "m", [openai_guests.call("switch", "m.0.0")], [openai_guests.call("hidden", "m.1.0")], spoken
    ),
    tools=[switch, hidden],
)
enabled = guest(_shown, context=lambda: {"on": False, "array": Array(3, 4)})
