"""Nodes that wait on an incident, or on several: all that is above and cannot end before. Pure."""

from __future__ import annotations

from collections import Counter

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
    """Nodes that run and below which nothing moves: each leaf that is open below them waits.

    Returns:
        Their ids, each with the number of those leaves.
    """
    if state.terminal or state.counts["waiting"] <= 0:
        return {}
    waiting: Counter[str] = Counter()
    moving: set[str] = set()
    for leaf in state.nodes.values():
        if leaf.terminal or leaf.open_children:
            continue
        above = [node.id for node in state.lineage(leaf.parent_id) if node.phase == "running"]
        if leaf.phase == "waiting":
            waiting.update(above)
        else:
            moving.update(above)
    return {node_id: number for node_id, number in waiting.items() if node_id not in moving}


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
