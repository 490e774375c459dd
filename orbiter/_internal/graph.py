"""The flow DSL of a swarm, and the graph that it describes.

Grammar::

    flow  := stage (">>" stage)*
    stage := NAME | "(" NAME ("|" NAME)* ")"

A NAME is any text without ``>>`` and without brackets at its ends; spaces inside are kept. Every member of a stage
precedes every member of the next. `GraphError` stands outside the tree of `OrbiterError` (seed 000).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

__all__ = ["Graph", "GraphError", "parse_flow_dsl", "parse_flow_stages", "topological_sort"]


class GraphError(Exception):
    """A flow or graph that cannot be: malformed text, a cycle, an unknown node. `hint` says what to do instead."""

    def __init__(self, message: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Graph:
    """A directed graph of names. `stages` are those of the flow it was parsed from, empty otherwise."""

    def __init__(self) -> None:
        self._successors: dict[str, dict[str, None]] = {}
        self._in_degree: dict[str, int] = {}
        self.stages: list[tuple[str, ...]] = []

    def add_node(self, name: str) -> None:
        """Add a node; nothing happens if it is there."""
        self._successors.setdefault(name, {})
        self._in_degree.setdefault(name, 0)

    def add_edge(self, source: str, target: str) -> None:
        """Add an edge, and the nodes that it joins where they are missing; a second equal edge changes nothing."""
        self.add_node(source)
        self.add_node(target)
        if target not in self._successors[source]:
            self._successors[source][target] = None
            self._in_degree[target] += 1

    @property
    def nodes(self) -> list[str]:
        """All nodes, in the order in which they were added."""
        return list(self._successors)

    @property
    def edges(self) -> list[tuple[str, str]]:
        """All edges as (source, target)."""
        return [(source, target) for source, targets in self._successors.items() for target in targets]

    def successors(self, name: str) -> list[str]:
        """The nodes to which edges of `name` lead.

        Raises:
            GraphError: The graph has no such node.
        """
        if name not in self._successors:
            raise GraphError(f"Unknown node: {name!r}")
        return list(self._successors[name])

    def in_degree(self, name: str) -> int:
        """How many edges lead to `name`.

        Raises:
            GraphError: The graph has no such node.
        """
        if name not in self._in_degree:
            raise GraphError(f"Unknown node: {name!r}")
        return self._in_degree[name]


def topological_sort(graph: Graph) -> list[str]:
    """The nodes so that every edge leads forward; of several that could come next, the alphabetically first does.

    Raises:
        GraphError: The graph has a cycle; the hint names nodes on it.
    """
    waiting = {name: graph.in_degree(name) for name in graph.nodes}
    ready = [name for name, degree in waiting.items() if degree == 0]
    heapify(ready)
    order: list[str] = []
    while ready:
        name = heappop(ready)
        order.append(name)
        for target in graph.successors(name):
            waiting[target] -= 1
            if waiting[target] == 0:
                heappush(ready, target)
    if len(order) < len(waiting):
        left = sorted(name for name, degree in waiting.items() if degree > 0)
        raise GraphError(
            "Cycle detected in graph", hint=f"Name each agent once; on or behind the cycle: {', '.join(left)}"
        )
    return order


def parse_flow_stages(dsl: str) -> list[tuple[str, ...]]:
    """The stages of a flow in order, each with its members in the order in which they are written.

    Raises:
        GraphError: The text is empty or malformed.
    """
    if not dsl.strip():
        raise GraphError("Empty flow DSL", hint="Write agent names joined by '>>', such as 'a >> b'")
    return [_parse_stage(raw.strip(), dsl) for raw in dsl.split(">>")]


def _parse_stage(raw: str, dsl: str) -> tuple[str, ...]:
    if not raw:
        raise GraphError(f"Malformed flow DSL: {dsl!r}", hint="Each '>>' needs an agent on both sides")
    opened, closed = raw.startswith("("), raw.endswith(")")
    if not opened and not closed:
        return (raw,)
    inner = raw[1:-1]
    if not (opened and closed) or "(" in inner or ")" in inner:
        raise GraphError(f"Malformed flow DSL: {dsl!r}", hint="Write a parallel group as '(a | b)'; groups do not nest")
    members = tuple(member.strip() for member in inner.split("|"))
    if not all(members):
        raise GraphError(f"Empty member in parallel group: {raw!r}", hint="Put one agent name between two '|'")
    if len(set(members)) < len(members):
        raise GraphError(f"Malformed flow DSL: {dsl!r}", hint=f"Name each agent once in {raw!r}")
    return members


def parse_flow_dsl(dsl: str) -> Graph:
    """The graph of a flow; its `stages` are kept.

    Raises:
        GraphError: The text is empty or malformed. A cycle is found by `topological_sort`.
    """
    graph = Graph()
    graph.stages = parse_flow_stages(dsl)
    before: tuple[str, ...] = ()
    for stage in graph.stages:
        for member in stage:
            graph.add_node(member)
            for source in before:
                graph.add_edge(source, member)
        before = stage
    return graph
