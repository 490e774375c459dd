"""Nodes that wait on an incident: everything above its node that cannot end before it. Pure."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.rewind import place_of


class WaitingNode(BaseModel):
    """A node that waits for another to end. `then` has not begun and comes after it; `done` has, beside it."""

    model_config = ConfigDict(frozen=True)
    node_id: str
    kind: str
    name: str
    then: tuple[str, ...] = ()
    done: tuple[str, ...] = ()

    def sentence(self) -> str:
        parts = [f"{self.kind} {self.name}"]
        if self.done:
            parts.append(f"with {', '.join(self.done)} done")
        if self.then:
            parts.append(f"then {', '.join(self.then)}")
        return ", ".join(parts)


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


def _is_parallel(one: Node, other: Node) -> bool:
    seq, par = place_of(one.id)
    other_seq, other_par = place_of(other.id)
    return seq == other_seq and par is not None and other_par is not None


def _later_members(above: Node, begun: list[Node]) -> tuple[str, ...]:
    """Declared members that have not begun. In the other modes nobody knows who will be called."""
    if above.info.get("mode", "workflow") != "workflow":
        return ()
    names = {each.name for each in begun}
    return tuple(str(member) for member in above.info.get("members", ()) if member not in names)
