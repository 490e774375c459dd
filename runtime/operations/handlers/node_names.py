"""The node that an operator names: by its id, its name, or an end of its id that no other has."""

from __future__ import annotations

from runtime.operations.rewind_rules import InvalidControl
from runtime.record.state.durable_run import DurableRun


def find_node(state: DurableRun, name: str) -> str:
    """The id of the node that is called so, or whose id is the only one to end so.

    Raises:
        InvalidControl: there is no such node, or there are several.
    """
    nodes = state.nodes
    if name in nodes:
        return name
    found = [node_id for node_id, node in nodes.items() if name and (node.name == name or node_id.endswith(name))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise InvalidControl(
            f"run {state.id} has no node {name!r}: 'orbiter-console show {state.id} --json' lists them"
        )
    listed = ", ".join(found[:6]) + (", …" if len(found) > 6 else "")
    raise InvalidControl(f"{len(found)} nodes of run {state.id} could be meant by {name!r}: {listed}")
