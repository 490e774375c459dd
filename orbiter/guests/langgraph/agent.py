"""A graph of LangGraph, or an agent of LangChain, as a guest."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, GraphOutput

from orbiter._internal.keywords import name_nearest_keyword
from orbiter._internal.loop.value_step import record_value
from orbiter.ask import NeedsInput
from orbiter.errors import AgentError
from orbiter.guests.guest import Guest
from orbiter.guests.langgraph.failure_guard import guard_nodes
from orbiter.guests.langgraph.graph_input import InputMismatch, graph_input, run_result
from orbiter.guests.langgraph.interrupts import answer_all, ask
from orbiter.guests.langgraph.life import Life, entered
from orbiter.guests.langgraph.middleware import DURABLE_CHANNEL
from orbiter.guests.langgraph.saver import JournalSaver
from orbiter.steps import Place, Scope
from orbiter.types import Message, RunResult

COARSE_AGENT = (
    "The agent is recorded by supersteps: a tool that was under way when the process died runs again. To record each"
    " model and tool call, add middleware=[durable_middleware()] (from orbiter.guests.langgraph) to create_agent(…)."
)
COARSE_GRAPH = (
    "The graph is recorded by supersteps: a node that failed, asked with interrupt(), or was under way when the process"
    " died runs again from its start. Wrap what must not happen twice: durable(function) of orbiter.guests.langgraph."
)
COARSE_FUNCTION = (
    "The function is recorded by its tasks: one that failed, or was under way when the process died, runs again; what"
    " stands outside of tasks runs in each life. Wrap what must not happen twice: durable(function) of"
    " orbiter.guests.langgraph."
)
_PREVIOUS = "__previous__"
"""Only functions of the functional API have this channel: what they gave the last time."""


class LangGraphGuest(Guest):
    """A compiled graph.

    Args:
        name: See `Guest`.
        agent: See `Guest`.
        factory: See `Guest`.
        models: Models that an operator may choose in place of the agent's own, by the name under which they are chosen:
            chat models, or model strings of LangChain's. Other model strings need not stand here.
        config: What every run of the graph is given as its `config`: `configurable`, `recursion_limit`, `callbacks`.
        context: What nodes and tools get as their `context`; a function without parameters is called for it in every
            run. It is not recorded.
    """

    framework: ClassVar[str] = "langgraph"

    @name_nearest_keyword("guest", without=("agent", "factory"))
    def __init__(
        self,
        name: str,
        agent: Any,
        factory: Callable[[], Any] | None,
        *,
        models: Mapping[str, Any] | None = None,
        config: RunnableConfig | None = None,
        context: Any = None,
    ) -> None:
        super().__init__(name, agent, factory)
        self._models = dict(models or {})
        self._config: RunnableConfig = config or {}
        self._context = context

    def _describe(self, agent: Any) -> dict[str, Any]:
        return {"depth": "fine" if DURABLE_CHANNEL in agent.channels else "coarse", "tools": _tools(agent)}

    def _arguments(self, thread: str) -> dict[str, Any]:
        where = {"thread_id": thread, **self._config.get("configurable", {})}
        context = self._context() if callable(self._context) else self._context
        return {"config": {**self._config, "configurable": where}, "context": context}

    async def _run_alone(self, agent: Any, input: str, messages: list[Message] | None) -> RunResult:
        given = graph_input(agent, input, messages or [])
        found = await agent.ainvoke(given, version="v2", **self._arguments(str(uuid.uuid4())))
        if found.interrupts:
            raise GraphInterrupt(found.interrupts)
        return run_result(found.value, self.name)

    async def _run_durably(self, agent: Any, input: str, messages: list[Message] | None, scope: Scope) -> RunResult:
        fine = DURABLE_CHANNEL in agent.channels
        loop = asyncio.get_running_loop()
        thread = f"{scope.run_id}/{scope.node_id}/{hashlib.sha256(input.encode()).hexdigest()[:8]}"
        life = Life(scope=scope, agent=self.name, fine=fine, loop=loop, models=self._models, thread=thread)
        if not fine:
            scope.warn(_coarse(agent))
            await record_value(scope, "graph", Place(0), _same, _shape(agent), agent=self.name)
        nodes = guard_nodes(agent) if fine else agent.nodes
        graph = agent.copy({"checkpointer": JournalSaver(None if fine else life), "nodes": nodes})
        arguments = self._arguments(thread)
        with entered(life):
            try:
                given = graph_input(graph, input, messages or [])
            except InputMismatch as exc:
                raise NeedsInput(str(exc), exc.schema) from exc
            return run_result(await _drive(life, graph, given, arguments), self.name)


async def _drive(life: Life, graph: Any, given: Any, arguments: Mapping[str, Any]) -> Any:
    """The state in which the graph ends. What is recorded of it is not done again; where it stops, people are asked."""
    state = await graph.aget_state(arguments["config"])
    if state.created_at is not None:
        given = None
    found: GraphOutput[Any] | None = None
    while True:
        if state.interrupts:
            given = Command(resume=await answer_all(life, state.interrupts))
        elif found is not None and state.next:
            await _pass_breakpoint(life, state.next)
            given = None
        elif found is not None:
            return found.value
        found = await graph.ainvoke(given, version="v2", durability="sync", **arguments)
        state = await graph.aget_state(arguments["config"])


async def _pass_breakpoint(life: Life, names: tuple[str, ...]) -> None:
    """The graph stops where its author says with `interrupt_before` or `interrupt_after`.

    Raises:
        AgentError: A person says that it is not to go on.
    """
    question = f"The graph stops before {', '.join(map(repr, names))}, as it was compiled to. Go on?"
    place = Place(life.turn if life.fine else len(life.checkpoints), life.visit("stop", life.turn))
    if await ask(life, question, {"type": "boolean"}, place) is not True:
        raise AgentError(f"The graph is not to go on before {', '.join(map(repr, names))}")


async def _same(arguments: dict[str, Any]) -> Any:
    return arguments


def _shape(graph: Any) -> dict[str, Any]:
    """What must be as it was when a run is taken up: nodes, what follows on what, and the channels."""
    drawn = graph.get_graph()
    edges = sorted(f"{each.source} → {each.target}{' ?' if each.conditional else ''}" for each in drawn.edges)
    return {"nodes": sorted(graph.nodes), "edges": edges, "channels": sorted(map(str, graph.channels))}


def _coarse(graph: Any) -> str:
    """What its author should know of a graph that is recorded coarsely."""
    if _of_create_agent(graph):
        return COARSE_AGENT
    return COARSE_FUNCTION if _PREVIOUS in graph.channels else COARSE_GRAPH


def _of_create_agent(graph: Any) -> bool:
    return ((graph.config or {}).get("metadata") or {}).get("ls_integration") == "langchain_create_agent"


def _tools(graph: Any) -> list[str]:
    """The names of the tools of an agent."""
    node = graph.nodes.get("tools")
    return sorted(getattr(getattr(node, "bound", None), "tools_by_name", {}))
