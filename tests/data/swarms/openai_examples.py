"""The shape of examples of the OpenAI Agents SDK, in words of ours; each says which example it follows. The models are
scripted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    FunctionToolResult,
    RunContextWrapper,
    ToolsToFinalOutputResult,
    function_tool,
    handoff,
)
from pydantic import BaseModel, ConfigDict

from orbiter.guests import guest
from tests.data.swarms.openai_guests import Scripted, call, effect, results

EXAMPLES = "https://github.com/openai/openai-agents-python/tree/main/examples"


# -- EXAMPLES/customer_service/main.py: a handoff and a tool change the context, which a later tool reads


class Journey(BaseModel):
    """The context. It has what cannot be recorded besides."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    train: str | None = None
    seat: str | None = None
    timetable: Path = Path("timetable")


async def find_train(context: RunContextWrapper[Journey]) -> None:
    """What is found differs each time it is looked for."""
    effect("note found a train")
    context.context.train = f"train {Path(context.context.timetable).name}"


@function_tool
def choose_seat(context: RunContextWrapper[Journey], seat: str) -> str:
    """Needs what the handoff found."""
    assert context.context.train is not None, "there is no train"
    context.context.seat = seat
    effect(f"note chose {seat}")
    return f"chose {seat}"


@function_tool(needs_approval=True)
def buy(context: RunContextWrapper[Journey]) -> str:
    """Needs what the other tool chose."""
    effect(f"note bought {context.context.train} {context.context.seat}")
    return f"bought {context.context.seat} in {context.context.train}"


seller = Agent(
    "seller",
    model=Scripted(
        "s",
        [call("choose_seat", "s.0.0", seat="12A")],
        [call("buy", "s.1.0")],
        lambda items: f"done: {results(items)}",
    ),
    tools=[choose_seat, buy],
)
desk = guest(
    Agent(
        "desk",
        model=Scripted("d", [call("transfer_to_seller", "d.0.0")]),
        handoffs=[handoff(seller, on_handoff=find_train)],
    ),
    context=Journey,
)


# -- EXAMPLES/agent_patterns/forcing_tool_use.py: what a tool gave is read as an object of its class


class Weather(BaseModel):
    """What a tool gives."""

    city: str
    sky: str


@dataclass
class Wind:
    """What another gives, in a list."""

    speed: int


@function_tool
def look_out(city: str) -> Weather:
    """Gives an object."""
    effect(f"note looked at {city}")
    return Weather(city=city, sky="clear")


@function_tool
def measure(city: str) -> list[Wind]:
    """Gives several."""
    return [Wind(speed=3)]


@function_tool(needs_approval=True)
def tell() -> str:
    """Waits for a person, so that what was given before is recalled."""
    return "told"


def conclude(context: RunContextWrapper[Any], given: list[FunctionToolResult]) -> ToolsToFinalOutputResult:
    """The agent's `tool_use_behavior`: the tools' own objects make the output."""
    weather, wind = given[0].output, given[1].output
    return ToolsToFinalOutputResult(
        is_final_output=True, final_output=f"{weather.city}: {weather.sky}, {wind[0].speed}"
    )


observer = Agent(
    "observer",
    model=Scripted(
        "m",
        [call("look_out", "m.0.0", city="Bern"), call("measure", "m.0.1", city="Bern"), call("tell", "m.0.2")],
    ),
    tools=[look_out, measure, tell],
    tool_use_behavior=conclude,
)


# -- EXAMPLES/tools/programmatic_tool_calling.py: the SDK checks what a tool gives by its `output_type`


@function_tool(output_type=Weather)
def checked(city: str) -> Weather:
    """Gives an object that the SDK checks."""
    return Weather(city=city, sky="clear")


checking = Agent(
    "checking",
    model=Scripted("m", [call("checked", "m.0.0", city="Bern")], lambda items: f"heard: {results(items)}"),
    tools=[checked],
)
