"""What a comparison of two runs says, as types. Structs of msgspec: consoles and the link have them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

DifferenceKind = Literal["changed", "only_left", "only_right"]


class FieldDifference(Struct, frozen=True, kw_only=True):
    """A field that differs: what it is called, and both values as text, cut around the first place that differs."""

    field: str
    left: str
    right: str


class NodeDifference(Struct, frozen=True, kw_only=True):
    """A node that differs, or that one of the runs alone has."""

    node_id: str
    kind: str
    """`swarm`, `group`, `agent`, `tool`, `llm` or `value`."""
    name: str
    agent: str = ""
    how: DifferenceKind = "changed"
    fields: tuple[FieldDifference, ...] = ()


class RunComparison(Struct, frozen=True, kw_only=True):
    """Two runs, compared by path.

    `same` counts steps that are equal in both. `nodes` are in the order in which the tree declares them, so that the
    first is where the runs part. `run` has what differs of the runs as a whole. `origin` is the id of the run of which
    the other is a fork, where one is.
    """

    left: str
    right: str
    same: int
    nodes: tuple[NodeDifference, ...] = ()
    run: tuple[FieldDifference, ...] = ()
    origin: str = ""
    forked_at: str = ""
    """The node from which the fork went its own way; empty: from wherever its origin was, or neither is a fork."""

    @property
    def first(self) -> NodeDifference | None:
        """Where the runs first part; None where their nodes are equal."""
        return self.nodes[0] if self.nodes else None
