"""Agents that have middleware of their own around their tools: it is told of a tool's failure before a person is.

The node of the tools is run again with what a person decided, where an exception came out of all middleware.
"""

from __future__ import annotations

import inspect
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphBubbleUp

from orbiter.guests.handled_failures import HandledCall
from orbiter.guests.langgraph.life import current_life
from orbiter.guests.langgraph.middleware import DurableMiddleware

_TOOLS = "tools"
"""The node in which `create_agent` has the tools; each call of a reply is a task of its own."""


class GuardedTools(Runnable[Any, Any]):
    """The node of the tools, with all middleware around them."""

    def __init__(self, node: Runnable[Any, Any]) -> None:
        self.node = node

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self.node.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        life = current_life()
        if life is None:
            return await self.node.ainvoke(input, config, **kwargs)
        return await HandledCall(life).through(lambda: self.node.ainvoke(input, config, **kwargs), (GraphBubbleUp,))


def guard_tools(graph: Any) -> dict[str, Any]:
    """The nodes of a fine agent for a run, in which failures of tools are told to its middleware first; as they are
    where it has none around its tools but ours.
    """
    nodes: dict[str, Any] = dict(graph.nodes)
    node = nodes.get(_TOOLS)
    around = getattr(getattr(node, "bound", None), "_awrap_tool_call", None)
    if (
        node is None
        or around is None
        or isinstance(getattr(inspect.unwrap(around), "__self__", None), DurableMiddleware)
    ):
        return nodes
    return {**nodes, _TOOLS: node.copy({"bound": GuardedTools(node.bound)})}
