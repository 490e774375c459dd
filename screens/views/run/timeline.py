"""The timeline: a run's nodes as bars over time, with retries and waits.

The scale grows by steps, so that a bar grows cell by cell and the whole stands still meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from runtime.record.state.durable_run import DurableRun, Incident, Node
from screens.render.formatting import (
    DAY_S,
    HOUR_S,
    MINUTE_S,
    format_duration,
)
from screens.render.glyphs import state_ink
from screens.render.layout import (
    Column,
    Row,
    Span,
    Spans,
)
from screens.views.run.node_line import label_spans, node_facts, state_spans, time_spans
from screens.views.run.node_state import NO_HOLDING, shown_state
from screens.views.run.tree import RunTree
from screens.views.shared.render_context import RenderContext

TIMELINE_COLUMNS: Final = (
    Column("node", width=24, grow=1),
    Column("timeline", width=36, grow=3),
    Column("state", width=16, drop=1),
    Column("time", width=6, right=True),
)
BAR: Final = 1
"""Which of the columns the bar is."""

TimelineState = Literal["", "open", "work", "pause", "person"]

_SIGNS: Final[dict[str, dict[TimelineState, str]]] = {
    "unicode": {"": " ", "open": "─", "work": "━", "pause": "┄", "person": "▒"},
    "ascii": {"": " ", "open": "-", "work": "=", "pause": ".", "person": "?"},
}
_MEANINGS: Final[dict[TimelineState, str]] = {"open": "open", "work": "works", "pause": "pauses", "person": "person"}
_INKS: Final[dict[TimelineState, str]] = {
    "": "ink",
    "open": "line",
    "work": "state-running",
    "pause": "state-retrying",
    "person": "state-waiting",
}
_STEPS: Final = (10, 15, 20, 30, 45, MINUTE_S, 90, 120, 180, 300, 450, 600, 900, 1200, 1800, 2700, HOUR_S, 5400,
                 2 * HOUR_S, 3 * HOUR_S, 4 * HOUR_S, 6 * HOUR_S, 9 * HOUR_S,
                 12 * HOUR_S, 18 * HOUR_S, DAY_S)  # fmt: skip


class Scale(NamedTuple):
    """`width` cells for `seconds` from `start` on."""

    start: datetime
    seconds: float
    width: int

    def cell(self, instant: datetime) -> int:
        at = int((instant - self.start).total_seconds() / self.seconds * self.width)
        return min(max(0, at), self.width - 1)

    def words(self, context: RenderContext) -> Spans:
        """The scale, and what its signs mean."""
        signs = _SIGNS[context.glyphs.name]
        legend = " ".join(f"{signs[state]} {words}" for state, words in _MEANINGS.items())
        cell = format_duration(self.seconds / self.width)
        each = f"{format_duration(self.seconds)} from {self.start:%H:%M:%S}, {cell} a cell"
        return (Span(f"{each}  ", "ink-muted"), Span(legend, "ink-muted"))


def scale_of(state: DurableRun, now: datetime, width: int) -> Scale:
    """From the run's beginning to its end; while it lasts, to a round number of seconds that is still to come."""
    start = state.created_at or now
    if state.finished_at is not None:
        return Scale(start, max(1.0, (state.finished_at - start).total_seconds()), max(1, width))
    took = (now - start).total_seconds()
    whole_days = -(-took // DAY_S) * DAY_S
    return Scale(start, next((float(step) for step in _STEPS if step >= took), whole_days), max(1, width))


@dataclass(frozen=True, slots=True)
class Timeline(RunTree):
    """The tree of a run with a bar in each line, `scale.width` cells wide."""

    scale: Scale | None = None

    def facts(self, key: str) -> object:
        """The bar depends on too much: the row itself."""
        return self.row(key)

    def changed_since(self, before: object) -> None:
        """For the same reason each line may have changed."""

    def row(self, key: str, facts: object = None) -> Row:
        if isinstance(facts, Row):
            return facts
        node = self.state.nodes[key]
        bar = bar_of(node, self.state, self.scale, self.context, self.holding) if self.scale is not None else ()
        made = node_facts(node, self.state, self.context, self.holding)
        return Row(key, (label_spans(made, self.context), bar, state_spans(made), time_spans(made)))


def bar_of(
    node: Node, state: DurableRun, scale: Scale, context: RenderContext, holding: Mapping[str, int] = NO_HOLDING
) -> Spans:
    """One node's bar; its last cell has the sign of its state."""
    if node.opened_at is None:
        return ()
    end = node.closed_at or context.now
    first, last = scale.cell(node.opened_at), scale.cell(max(end, node.opened_at))
    cells: list[TimelineState] = [""] * last
    for since, until, doing in node_stretches(node, state, end):
        for at in range(scale.cell(since), min(scale.cell(until) + 1, last)):
            cells[at] = doing
    found = _merge_cells(cells[:first], context)
    ended = state_ink(node.phase) if node.is_step else ""
    found += [piece._replace(ink=ended) if ended and piece.ink == _INKS["work"] else piece
              for piece in _merge_cells(cells[first:], context)]  # fmt: skip
    return (*found, context.state_glyph(shown_state(node, holding)))


def node_stretches(node: Node, state: DurableRun, end: datetime) -> Iterator[tuple[datetime, datetime, TimelineState]]:
    """What a node did when, up to `end`; later ones cover earlier ones. Where a node has others below it, it waited for
    a person while one of them did and no other step of them worked.
    """
    above_others = bool(node.children)
    if node.opened_at is not None:
        yield node.opened_at, end, "work" if node.is_step and not above_others else "open"
    for each in node.tries:
        if each.wait_s is not None:
            yield each.ended_at, min(end, each.ended_at + timedelta(seconds=each.wait_s)), "pause"
    if above_others:
        waits = [each for key in state.incidents for each in _waits(key, state, end, below=node.id)]
        steps = (each for _, each in state.walk(node.id) if each.is_step and not each.children) if waits else ()
        worked = sorted(each for step in steps for each in _worked(step, state, end))
        for wait in waits:
            for since, until in _without(wait, worked):
                yield since, until, "person"
    for key in node.incidents:
        for since, until in _waits(key, state, end):
            yield since, until, "person"


def _waits(
    incident_id: str, state: DurableRun, end: datetime, *, below: str = ""
) -> Iterator[tuple[datetime, datetime]]:
    """When a person was waited for by an incident: of any node, or of one `below` a node."""
    incident = state.incidents.get(incident_id)
    if incident is None or (below and not incident.opened.node_id.startswith(f"{below}/")):
        return
    node = state.nodes.get(incident.opened.node_id)
    if node is not None:
        yield incident.opened.ts, min(end, _answered(incident, node.closed_at or end))


def _without(
    wait: tuple[datetime, datetime], worked: Sequence[tuple[datetime, datetime]]
) -> Iterator[tuple[datetime, datetime]]:
    """The parts of a wait in which nothing worked; `worked` is in order of its beginnings."""
    since, until = wait
    for begun, over in worked:
        if begun >= until:
            break
        if begun > since:
            yield since, begun
        since = max(since, over)
    if since < until:
        yield since, until


def _worked(step: Node, state: DurableRun, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """When a step was under way, without what it waited for a person."""
    since = step.opened_at or end
    for key in step.incidents:
        for begun, over in _waits(key, state, end):
            if since < begun:
                yield since, begun
            since = over
    until = step.closed_at or end
    if since < until and step.phase != "waiting":
        yield since, until


def _answered(incident: Incident, end: datetime) -> datetime:
    return incident.answer.ts if incident.answer is not None else end


def _merge_cells(cells: list[TimelineState], context: RenderContext) -> list[Span]:
    """Equal cells as one piece."""
    signs = _SIGNS[context.glyphs.name]
    found: list[Span] = []
    for doing in cells:
        if found and found[-1].ink == _INKS[doing] and found[-1].text[0] == signs[doing]:
            found[-1] = found[-1]._replace(text=found[-1].text + signs[doing])
        else:
            found.append(Span(signs[doing], _INKS[doing]))
    return found
