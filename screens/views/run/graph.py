"""The graph of a swarm: its members in the order in which the work goes; those that work side by side share a column.

The order is what the swarm says of itself when its node opens (`stages`); in a handoff it is the way that the work
took, and in a team the lead stands before those it delegates to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from runtime.judgement.reports.waiting_nodes import holding_nodes
from runtime.record.state.durable_run import DurableRun, Node
from screens.render.layout import Span, Spans, width_of
from screens.views.run.node_line import node_facts, state_spans
from screens.views.run.node_state import shown_state
from screens.views.shared.render_context import RenderContext

MAX_ROWS: Final = 8
"""Members side by side; with more it would take the place of what it explains."""
MAX_TURNS: Final = 12
"""The last turns of a handoff that are shown."""
_NAME_CELLS: Final = 24
_NAME_ENOUGH: Final = frozenset({"succeeded", "pending"})
"""States that their sign says well enough."""
_JOINTS: Final = {
    "lr": "─", "ud": "│", "lu": "┘", "ld": "┐", "ru": "└", "rd": "┌", "lud": "┤", "rud": "├", "lru": "┴", "lrd": "┬",
    "lrud": "┼", "l": "─", "r": "─",
}  # fmt: skip

_ASCII: Final = str.maketrans("─│┘┐└┌┤├┴┬┼", "-|+++++++++")


class GraphPart(NamedTuple):
    """Where a member stands: the cells from `start` to before `end` of a row."""

    row: int
    start: int
    end: int
    node_id: str


class SwarmGraph(Struct, frozen=True):
    """The lines of a graph, and where its members stand."""

    lines: tuple[Spans, ...] = ()
    parts: tuple[GraphPart, ...] = ()

    @property
    def width(self) -> int:
        return max(map(width_of, self.lines), default=0)

    def node_at(self, row: int, column: int) -> str:
        """The node of the member that stands there; empty where none does, or where it has not begun."""
        found = (part for part in self.parts if part.row == row and part.start <= column < part.end)
        return next((part.node_id for part in found), "")


def swarm_graph(state: DurableRun, context: RenderContext, width: int) -> SwarmGraph:
    """The graph of a run's outermost swarm or group; an empty one where a tree says as much, or it does not fit.

    Where there is no room for the words of the states their signs stand alone: so a change of state never makes a
    graph too wide.
    """
    root = state.nodes.get(state.roots[0]) if state.roots else None
    stages = _stages(root, state) if root is not None else []
    if sum(map(len, stages)) < 2 or max(map(len, stages)) > MAX_ROWS:
        return SwarmGraph()
    holding = holding_nodes(state)
    signs = [[_sign(name, node, context, holding) for name, node in stage] for stage in stages]
    words = [
        [(*sign, *_words(node, state, context, holding)) for sign, (_, node) in zip(column, stage, strict=True)]
        for column, stage in zip(signs, stages, strict=True)
    ]
    for cells in (words, signs):
        found = _laid_out(stages, cells, ascii_only=context.ascii_only)
        if found.width <= width:
            return found
    return SwarmGraph()


Member = tuple[str, Node | None]


def _stages(root: Node, state: DurableRun) -> list[list[Member]]:
    """The members of each stage, with their latest nodes."""
    latest = _latest(root, state)
    names = [str(name) for name in root.info.get("members", ())]
    mode = root.info.get("mode", "workflow")
    if mode == "handoff":
        turns = [state.nodes[child] for child in root.children if state.nodes[child].kind != "value"]
        return [[(node.name, node)] for node in turns[-MAX_TURNS:]]
    if mode == "team" and names:
        return [[(names[0], latest.get(names[0]))], [(name, latest.get(name)) for name in names[1:]]]
    given = root.info.get("stages")
    stages = [[str(name) for name in stage] for stage in given] if isinstance(given, list) else []
    return [[(name, latest.get(name)) for name in stage] for stage in stages]


def _latest(root: Node, state: DurableRun) -> Mapping[str, Node]:
    """The last node of each name anywhere below, but not the steps: in a team the lead's tools have the members."""
    found: dict[str, Node] = {}
    for child in root.children:
        node = state.nodes[child]
        for inner in node.children if node.kind != "agent" or root.info.get("mode") == "team" else ():
            below = [state.nodes[inner], *(state.nodes[each] for each in state.nodes[inner].children)]
            found |= {each.name: each for each in below if not each.is_step}
        found[node.name] = node
    return found


def _sign(name: str, node: Node | None, context: RenderContext, holding: Mapping[str, int]) -> Spans:
    """A member: the sign of its state, and its name."""
    shown = context.name(name, _NAME_CELLS) or "?"
    if node is None:
        return (context.state_glyph("pending"), Span(f" {shown}", "ink-muted"))
    label = Span(f" {shown}", "ink-muted" if node.terminal else "ink", bold=not node.terminal)
    return (context.state_glyph(shown_state(node, holding)), label)


def _words(node: Node | None, state: DurableRun, context: RenderContext, holding: Mapping[str, int]) -> Spans:
    """The state of a member, unless its sign says it."""
    if node is None or shown_state(node, holding) in _NAME_ENOUGH:
        return ()
    return (Span(" "), *state_spans(node_facts(node, state, context, holding)))


def _laid_out(stages: Sequence[Sequence[Member]], cells: Sequence[Sequence[Spans]], *, ascii_only: bool) -> SwarmGraph:
    """Each stage in a column of its own, in the middle of the rows, joined by lines to the next."""
    rows = max(map(len, stages))
    middle = (rows - 1) // 2
    places = [range(first := (rows - len(stage)) // 2, first + len(stage)) for stage in stages]
    lines: list[list[Span]] = [[] for _ in range(rows)]
    parts: list[GraphPart] = []
    for number, (stage, column, place) in enumerate(zip(stages, cells, places, strict=True)):
        at, last = width_of(tuple(lines[0])), number + 1 == len(stages)
        joints = [""] * rows if last else _joints(place, places[number + 1], middle, rows)
        for row, joint in enumerate(joints):
            cell: Spans = ()
            if row in place:
                cell = column[row - place.start]
                node = stage[row - place.start][1]
                parts.append(GraphPart(row, at, at + width_of(cell), node.id if node is not None else ""))
            fill = max(map(width_of, column)) - width_of(cell)
            line = "─" if row in place and not last else " "
            lines[row] += [*cell, Span(f" {line * fill}{joint}", "line")]
    return SwarmGraph(tuple(tuple(_plain(line) if ascii_only else line) for line in lines), tuple(parts))


def _plain(line: Sequence[Span]) -> list[Span]:
    return [piece._replace(text=piece.text.translate(_ASCII)) for piece in line]


def _joints(before: range, after: range, middle: int, rows: int) -> list[str]:
    """The cells between two stages, row by row: what comes together in the middle row, and parts again behind it."""
    dash = {True: "─", False: " "}
    return [
        dash[row in before]
        + _trunk(before, row, middle, "l", "r")
        + dash[row == middle]
        + _trunk(after, row, middle, "r", "l")
        + dash[row in after]
        + " "
        for row in range(rows)
    ]


def _trunk(own: range, row: int, middle: int, side: str, other: str) -> str:
    """One cell of the line down a stage: `side` is where its members are, `other` where the middle row goes on."""
    top, bottom = min(own.start, middle), max(own.stop - 1, middle)
    if not top <= row <= bottom:
        return " "
    ways = {side} if row in own else set()
    ways |= {other} if row == middle else set()
    ways |= {"u"} if row > top else set()
    ways |= {"d"} if row < bottom else set()
    return _JOINTS["".join(way for way in "lrud" if way in ways)]
