"""Agents that have middleware which may deal with failures of tools or models: it is told of one before a person is.

The node of the tools, or of the model, is run again with what a person decided, where an exception came out of all
middleware.
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

_TOOLS, _MODEL = "tools", "model"
"""The nodes in which `create_agent` has the tools and the model; each call of a reply is a task of its own."""

_PASS_ON = frozenset(
    {
        ("langchain.agents.middleware.human_in_the_loop", "HumanInTheLoopMiddleware.awrap_tool_call"),
        ("deepagents.middleware.filesystem", "FilesystemMiddleware.awrap_tool_call"),
    }
)
"""Wrappers of the frameworks' own that deal with no failure, by module and name: the runtime tries again as usual."""


class GuardedNode(Runnable[Any, Any]):
    """The node of the tools or of the model, with all middleware around them."""

    def __init__(self, node: Runnable[Any, Any]) -> None:
        self.node = node

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self.node.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        life = current_life()
        if life is None:
            return await self.node.ainvoke(input, config, **kwargs)
        return await HandledCall(life).through(lambda: self.node.ainvoke(input, config, **kwargs), (GraphBubbleUp,))


def guard_nodes(graph: Any) -> dict[str, Any]:
    """The nodes of a fine agent for a run, in which failures are told to its middleware first: those of tools to all
    that it has around them, those of models to what stands outside of ours. A node is as it is where all of that only
    passes failures on.
    """
    nodes: dict[str, Any] = dict(graph.nodes)
    for name, told in ((_TOOLS, _tells_of_tools), (_MODEL, _tells_of_models)):
        node = nodes.get(name)
        if node is not None and told(node.bound):
            nodes[name] = node.copy({"bound": GuardedNode(node.bound)})
    return nodes


def _tells_of_tools(node: Any) -> bool:
    around = getattr(node, "_awrap_tool_call", None)
    return around is not None and not all(map(_passes_failures_on, _wrappers(around)))


def _tells_of_models(node: Any) -> bool:
    around = _closure(getattr(node, "afunc", None)).get("awrap_model_call_handler")
    outer = [_is_ours(each) for each in _wrappers(around)] if around is not None else []
    return True in outer and not outer[0]


def _wrappers(around: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """The methods of middleware of which LangChain made `around`, from the outermost: it holds two at a time, or one
    whose result it puts into another form.
    """
    around = inspect.unwrap(around)
    held = {} if inspect.ismethod(around) else _closure(around)
    parts = [held[name] for name in ("outer", "inner", "single_handler") if callable(held.get(name))]
    if not parts:
        yield around
    for part in parts:
        yield from _wrappers(part)


def _closure(function: Any) -> dict[str, Any]:
    """What a function holds of the one in which it was made, by name."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    return dict(zip(code.co_freevars, (each.cell_contents for each in cells), strict=True)) if code and cells else {}


def _is_ours(wrapper: Callable[..., Any]) -> bool:
    return isinstance(getattr(wrapper, "__self__", None), DurableMiddleware)


def _passes_failures_on(wrapper: Callable[..., Any]) -> bool:
    """Whether a failure of the tool comes out of `wrapper` as it went in."""
    name = (getattr(wrapper, "__module__", ""), getattr(wrapper, "__qualname__", ""))
    return _is_ours(wrapper) or name in _PASS_ON
