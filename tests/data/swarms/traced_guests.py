"""An agent of pydantic-ai and one of LangChain whose tool says in which trace it runs."""

from __future__ import annotations

from functools import partial

from langchain.agents import create_agent
from langchain_core.tools import tool
from opentelemetry.propagate import inject
from pydantic_ai import Agent

from orbiter.guests import guest
from tests.data.swarms import graphs, guests


def where() -> str:
    """Say in which trace it runs."""
    carrier: dict[str, str] = {}
    inject(carrier)
    return carrier.get("traceparent", "none")


of_pydantic_ai = guest(
    Agent(guests.scripted([guests.call("where", "c0")], guests.results), name="researcher", tools=[where])
)
of_langchain = guest(
    partial(
        create_agent,
        graphs.scripted([("where", "c0", {})], graphs.results),
        [tool(where)],
        name="researcher",
    )
)
