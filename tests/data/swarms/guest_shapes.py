"""Agents in shapes that their frameworks' users write. Before its last reply each model is out of reach, once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.toolsets import FunctionToolset

from orbiter.guests import guest
from tests.data.swarms import graphs
from tests.data.swarms.guests import call, effect, results, scripted


def there() -> None:
    """The model is reached the second time only."""
    mark = Path(os.environ["ORBITER_TEST_EFFECTS"]).with_name("reached")
    if not mark.exists():
        mark.touch()
        raise RuntimeError("out of reach")


def told(messages: list[ModelMessage]) -> str:
    """What the tools of a pydantic-ai agent gave."""
    there()
    return results(messages)


class Seat(BaseModel):
    """What a tool gives."""

    row: int


def find(row: int) -> Seat:
    """Find a seat."""
    effect(f"note found {row}")
    return Seat(row=row)


def find_all(row: int) -> list[Seat]:
    """Find two seats."""
    effect(f"note found all {row}")
    return [Seat(row=row), Seat(row=row + 1)]


def book(row: int) -> str:
    """Book a seat."""
    effect(f"note booked {row}")
    return f"booked {row}"


def of_today(ctx: RunContext[object]) -> FunctionToolset[object]:
    """The tools of today."""
    return FunctionToolset([book])


def types_of(messages: list[ModelMessage]) -> str:
    """The rows that the tools gave, as a history processor or a hook reads them."""
    there()
    one, two = (part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart))
    assert isinstance(one, Seat)
    assert isinstance(two, list)
    assert isinstance(two[1], Seat)
    return f"{one.row}, {two[1].row}"


toolsets = Agent(
    scripted([call("find", "a", row=1), call("x_book", "b", row=2), call("book", "c", row=3)], told),
    toolsets=[FunctionToolset([find]), FunctionToolset([book]).prefixed("x"), of_today],
)
typed = Agent(scripted([call("find", "a", row=1), call("find_all", "b", row=2)], types_of), tools=[find, find_all])
modelless: Agent[None, str] = Agent(tools=[book])
given_a_model = guest(
    modelless, name="given", run_options={"model": scripted([call("book", "a", row=4)], told), "capabilities": []}
)


@tool
def count(number: int) -> str:
    """Count."""
    effect(f"note counted {number}")
    return f"counted {number}"


def heard(messages: Sequence[Any]) -> str:
    """What the tools of a LangChain agent gave."""
    there()
    return graphs.results(list(messages))


def wrong_arguments(middleware: Sequence[Any]) -> Any:
    """The model's mistake is told to it."""
    model = graphs.scripted([("count", "a", {"number": "many"})], [("count", "b", {"number": 2})], heard)
    return create_agent(model, [count], middleware=middleware)
