"""Every event of a run as one line, in the narrator's words; what does not fit is counted where it is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from console.html.markup import Html, element, folded, join, opening, text
from console.html.size_limit import SizeLimit
from runtime.judgement.reports.export_file import Export
from runtime.judgement.reports.narration import Narration, NarrationWeight
from runtime.judgement.reports.narrator import narrate
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from screens.render.formatting import pluralize
from screens.views.shared.narration_text import sentence_text

_WEIGHTS: Final[tuple[NarrationWeight, ...]] = ("main", "detail", "noise")
_SAID_CHARS: Final = 160
"""Characters of what was said that a line has; the tree has the rest."""


@dataclass(frozen=True, slots=True)
class EventList:
    """The list, the numbers of the run's events in it, and how many events it leaves out."""

    html: Html
    shown: frozenset[int]
    left_out: int


@dataclass(frozen=True, slots=True)
class _Line:
    seq: int
    weight: NarrationWeight
    html: Html


def event_list(export: Export, node_numbers: dict[str, int], room: int) -> EventList:
    """The events of an export.

    Args:
        export: what is shown.
        node_numbers: the number of each node that the tree shows, by the node's id: lines point there.
        room: bytes that the lines may have.
    """
    found = list(_run_lines(export.events, node_numbers))
    granted = [_Line(-at, "main", _line(event, narrate(event), "", {})) for at, event in enumerate(export.grants, 1)]
    limit = SizeLimit(room)
    by_weight = sorted((*granted, *found), key=lambda each: _WEIGHTS.index(each.weight))
    kept = {each.seq for each in by_weight if limit.takes(each.html)}
    body = [element("ol", join(_with_gaps(found, kept)), class_="events")]
    if granted:
        body.append(element("h3", "Grants of the workspace that it used"))
        body.append(element("ol", join(_with_gaps(granted, kept)), class_="events"))
    total = len(found) + len(granted)
    title = f"{pluralize(total, 'event')}" + (f", left out {limit.left_out}" if limit.left_out else "")
    return EventList(folded(title, join(body)), frozenset(seq for seq in kept if seq > 0), limit.left_out)


def _run_lines(events: Iterable[ev.JournalEvent], node_numbers: dict[str, int]) -> Iterable[_Line]:
    state = DurableRun()
    for event in events:
        state.apply(event)
        told = narrate(event, state)
        yield _Line(event.seq, told.weight, _line(event, told, _subject(event, state), node_numbers))


def _subject(event: ev.JournalEvent, state: DurableRun) -> str:
    """The node's name and its agent's; the names say where, the link leads there."""
    node = state.nodes.get(event.node_id)
    if node is None:
        return ""
    return f"{node.agent} · {node.name}" if node.agent and node.agent != node.name else node.name


def _line(event: ev.JournalEvent, told: Narration, subject: str, node_numbers: dict[str, int]) -> Html:
    number = node_numbers.get(event.node_id)
    where = Html("")
    if subject and not told.whole:
        name = text(subject, 120)
        where = element("a", name, href=f"#n{number}") if number is not None else element("b", name)
    sentence = Html(" ") + text(sentence_text(told, limit=min(_SAID_CHARS, max(1, told.text.limit))), 900)
    own = event.run_id != ev.WORKSPACE_RUN_ID
    marks = {"id": f"e{event.seq}"} if own else {}
    state = {"class_": f"s-{told.state.replace('_', '-')}"} if told.state else {}
    return join(
        (
            opening("li", **marks, **state),
            element("i", f"#{event.seq} {event.ts:%H:%M:%S}"),
            where,
            Html(sentence),
            Html("</li>"),
        )
    )


def _with_gaps(found: Sequence[_Line], kept: set[int]) -> Iterable[Html]:
    gap: list[int] = []
    for each in found:
        if each.seq not in kept:
            gap.append(each.seq)
            continue
        if gap:
            yield _gap(gap)
            gap = []
        yield each.html
    if gap:
        yield _gap(gap)


def _gap(seqs: Sequence[int]) -> Html:
    if seqs[0] < 0:
        return element("li", f"left out {pluralize(len(seqs), 'event')}", class_="gap")
    which = f"#{seqs[0]}" if len(seqs) == 1 else f"#{seqs[0]} to #{seqs[-1]}"
    return element("li", f"left out {pluralize(len(seqs), 'event')}: {which}", class_="gap")
