"""Agents that have middleware around their tools which may deal with failures: it is told of one before a person is.

The node of the tools is run again with what a person decided, where an exception came out of all middleware.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphBubbleUp

from orbiter.guests.handled_failures import HandledCall
from orbiter.guests.langgraph.life import current_life
from orbiter.guests.langgraph.middleware import DurableMiddleware

_TOOLS = "tools"
"""The node in which `create_agent` has the tools; each call of a reply is a task of its own."""

_PASS_ON = frozenset(
    {
        ("langchain.agents.middleware.human_in_the_loop", "HumanInTheLoopMiddleware.awrap_tool_call"),
        ("deepagents.middleware.filesystem", "FilesystemMiddleware.awrap_tool_call"),
    }
)
"""Wrappers of the frameworks' own that deal with no failure, by module and name: the runtime tries again as usual."""


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
    where all that it has around its tools only passes failures on.
    """
    nodes: dict[str, Any] = dict(graph.nodes)
    node = nodes.get(_TOOLS)
    around = getattr(getattr(node, "bound", None), "_awrap_tool_call", None)
    if node is None or around is None or all(map(_passes_failures_on, _wrappers(around))):
        return nodes
    return {**nodes, _TOOLS: node.copy({"bound": GuardedTools(node.bound)})}


def _wrappers(around: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """The methods of middleware of which LangChain made `around`: it holds two at a time, the outer and the inner."""
    around = inspect.unwrap(around)
    parts = [cell.cell_contents for cell in getattr(around, "__closure__", None) or ()]
    if inspect.ismethod(around) or not parts or not all(map(callable, parts)):
        yield around
        return
    for part in parts:
        yield from _wrappers(part)


def _passes_failures_on(wrapper: Callable[..., Any]) -> bool:
    """Whether a failure of the tool comes out of `wrapper` as it went in."""
    name = (getattr(wrapper, "__module__", ""), getattr(wrapper, "__qualname__", ""))
    return isinstance(getattr(wrapper, "__self__", None), DurableMiddleware) or name in _PASS_ON
