"""A team: a lead who delegates to a librarian and a bookkeeper, and answers from what they bring.

    orbiter-console run examples/helpdesk.py:swarm "What would returning 3 lamps at 19.90 cost us?"

It runs without a key, on the script in helpdesk.yaml, which answers this one question; ORBITER_MODEL=anthropic:…
(or openai:…) puts the team on a real model, which answers others too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from orbiter import Agent, Swarm, tool

HANDBOOK = {
    "returns": "Customers may return goods within 30 days. We pay the postage, 4.90 for each parcel.",
    "warranty": "Lamps have a warranty of two years; bulbs are excluded.",
    "opening hours": "The desk is open from 9 to 17 on working days.",
}


@tool(idempotent=True)
def look_up(topic: Literal["returns", "warranty", "opening hours"]) -> str:
    """Look a topic up in the handbook.

    Args:
        topic: One of the handbook's chapters.
    """
    return HANDBOOK[topic]


@tool(idempotent=True)
def total(prices: list[float], postage: float = 0.0) -> str:
    """Add prices and postage.

    Args:
        prices: One for each item.
        postage: For the whole parcel.
    """
    return f"{sum(prices) + postage:.2f}"


def _model(name: str) -> str:
    return os.environ.get("ORBITER_MODEL") or f"scripted:{Path(__file__).with_name('helpdesk.yaml')}#{name}"


lead = Agent(
    name="lead",
    model=_model("lead"),
    instructions="Answer the customer. Delegate what you do not know: rules to the librarian, sums to the bookkeeper.",
)
librarian = Agent(
    name="librarian",
    model=_model("librarian"),
    instructions="Answer from the handbook, which you look up. Quote it.",
    tools=[look_up],
)
bookkeeper = Agent(
    name="bookkeeper",
    model=_model("bookkeeper"),
    instructions="Do the sum that you are given with the tool, and answer with the figure alone.",
    tools=[total],
)

swarm = Swarm(agents=[lead, librarian, bookkeeper], mode="team")
