"""Nodes that wait on an incident, or on several: all that is above and cannot end before. Pure."""

from __future__ import annotations

from runtime.judgement.reports.report_types import WaitingNode
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.rewind import place_of


def nodes_waiting_on(state: DurableRun, node_id: str) -> list[WaitingNode]:
    """Who waits, the nearest first. Siblings that still work are not among them."""
    lineage = state.lineage(node_id)
    found: list[WaitingNode] = []
    for above, below in zip(reversed(lineage[:-1]), reversed(lineage[1:]), strict=True):
        if above.terminal:
            break
        begun = [state.nodes[child] for child in above.children]
        found.append(
            WaitingNode(
                node_id=above.id,
                kind=above.kind,
                name=above.name,
                then=_later_members(above, begun),
                done=tuple(each.name for each in begun if each.terminal and _is_parallel(each, below)),
            )
        )
    return found


def holding_nodes(state: DurableRun) -> dict[str, int]:
    """Nodes that run and below which nothing moves: each leaf that is open below them waits. Asked with every frame, of
    runs with thousands of nodes: only what is above a waiting leaf is looked at.

    Returns:
        Their ids, each with the number of those leaves.
    """
    if state.terminal or state.counts["waiting"] <= 0:
        return {}
    asked = dict.fromkeys(incident.opened.node_id for incident in state.incidents.values())
    leaves = [node for key in asked if (node := state.nodes.get(key)) is not None and not node.open_children]
    still = [(leaf, 1) for leaf in leaves if leaf.phase == "waiting"]
    """Nodes below which nothing moves, and leaves that wait: each with the number of those leaves."""
    below: dict[str, list[int]] = {}
    found: dict[str, int] = {}
    while still:
        node, number = still.pop()
        above = state.nodes.get(node.parent_id)
        if above is None:
            continue
        numbers = below.setdefault(above.id, [])
        numbers.append(number)
        if len(numbers) == above.open_children:
            still.append((above, sum(numbers)))
            if above.phase == "running":
                found[above.id] = sum(numbers)
    return found


def _is_parallel(one: Node, other: Node) -> bool:
    seq, par = place_of(one.id)
    other_seq, other_par = place_of(other.id)
    return seq == other_seq and par is not None and other_par is not None


def _later_members(above: Node, begun: list[Node]) -> tuple[str, ...]:
    """Declared members that have not begun. In the other modes it is not known which will be called."""
    if above.info.get("mode", "workflow") != "workflow":
        return ()
    names = {each.name for each in begun}
    return tuple(str(member) for member in above.info.get("members", ()) if member not in names)
