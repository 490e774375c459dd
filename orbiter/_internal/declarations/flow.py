"""The order of a swarm's agents, checked when it is made."""

from __future__ import annotations

from collections.abc import Collection

from orbiter._internal.graph import Graph, GraphError, parse_flow_dsl, topological_sort
from orbiter.errors import SwarmError


def order_flow(flow: str, agents: Collection[str], mode: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """The order of a flow and its stages, checked against the agents.

    Raises:
        SwarmError: The flow is malformed, has a cycle, names agents that are not members, or leaves agents out.
    """
    try:
        graph: Graph = parse_flow_dsl(flow)
    except GraphError as exc:
        raise SwarmError(f"Invalid flow DSL: {exc}", suggestion=exc.hint or None) from exc
    for name in graph.nodes:
        if name not in agents:
            beside = f" Those that run side by side stand in parentheses: ({name})." if "|" in name else ""
            raise SwarmError(
                f"Flow references unknown agent '{name}'",
                suggestion=f"The swarm's agents are {', '.join(agents)}.{beside}",
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
