"""Agents of LangChain and graphs of LangGraph: their calls and their checkpoints, mapped to our steps.

An agent that has our middleware runs fine: each model and tool call is a step (`middleware`, `model_call`,
`tool_call`). Every other graph runs coarse: each superstep is recorded (`saver`), and a failed one is done again.
`interrupts` and `approval` ask people, `life` counts places, `messages` translates conversations, and `graph_input` a
user's message.

Imports `orbiter`, `orbiter.guests`, `orbiter._internal.concurrency`, `orbiter._internal.keywords`,
`orbiter._internal.loop.value_step`, `orbiter._internal.output_parser`, `orbiter.parsing`, `pydantic`, `pydantic_core`,
`langchain`, `langchain_core` and `langgraph`.
"""

from __future__ import annotations

from orbiter.guests.langgraph.durable_function import durable
from orbiter.guests.langgraph.middleware import durable_middleware
from orbiter.guests.langgraph.saver import checkpointer

__all__ = ["checkpointer", "durable", "durable_middleware"]
