"""A swarm's agents and their order, checked when it is made."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from orbiter._internal.graph import Graph, GraphError, parse_flow_dsl, topological_sort
from orbiter.errors import SwarmError


def agents_by_name(agents: Iterable[Any]) -> dict[str, Any]:
    """The agents by name.

    Raises:
        SwarmError: There are no agents, one of them is not an agent, or two have one name.
    """
    found: dict[str, Any] = {}
    for agent in agents:
        if not hasattr(agent, "name"):
            raise SwarmError(
                f"A swarm's members are agents, groups or swarms, got {agent!r}", suggestion="Pass agents, not names."
            )
        if agent.name in found:
            raise SwarmError(
                f"Duplicate agent name '{agent.name}' in swarm", suggestion="Give each agent its own name."
            )
        found[agent.name] = agent
    if not found:
        raise SwarmError("Swarm requires at least one agent")
    return found


def order_flow(flow: str, agents: Collection[str], mode: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """The order of a flow and its stages, checked against the agents.

    Raises:
        SwarmError: The flow is malformed, has a cycle, names strangers, or leaves agents out.
    """
    try:
        graph: Graph = parse_flow_dsl(flow)
    except GraphError as exc:
        raise SwarmError(f"Invalid flow DSL: {exc}", suggestion=exc.hint or None) from exc
    for name in graph.nodes:
        if name not in agents:
            raise SwarmError(
                f"Flow references unknown agent '{name}'", suggestion=f"The swarm's agents are {', '.join(agents)}."
            )
    try:
        order = topological_sort(graph)
    except GraphError as exc:
        raise SwarmError(f"Cycle in flow DSL: {exc}", suggestion=exc.hint or None) from exc
    left_out = [name for name in agents if name not in order]
    # In handoff mode the flow only says who starts; the others are reached by name.
    if left_out and mode != "handoff":
        raise SwarmError(
            f"Flow leaves out agents: {', '.join(repr(name) for name in left_out)}",
            suggestion="Put them into the flow, or take them out of the swarm.",
        )
    return order, list(graph.stages)
