"""What happened in a run, in at most ten lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from runtime.judgement.reports.explanation.explain import explain
from runtime.judgement.reports.narrator import narrate
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident
from screens.render.formatting import format_cost, format_count, format_duration, pluralize, restarts_text
from screens.render.sanitize import sanitize_line
from screens.views.shared.narration_text import sentence_text

MAX_LINES: Final = 10
RESULT_LINE_CHARS: Final = 400
"""Characters of the result in its line."""
_MAX_INCIDENTS: Final = 5
"""Incidents that have a line each; the rest share one."""
_TOLD: Final = (ev.RunFrozen, ev.RunRewound, ev.StepFellBack, ev.ControlReturned, ev.StepCompacted, ev.EventsLost)
"""Events of which the latest is worth a line where there is room."""


def story(state: DurableRun, events: Sequence[ev.JournalEvent]) -> list[str]:
    """The lines, safe to show on a terminal, in the order in which a reader asks for them."""
    found = [_asked(state, events), _ended(state, events), *_worked(state), *_healed(state)]
    found += _incidents(state)
    result = [f"Result: {sanitize_line(state.output, limit=RESULT_LINE_CHARS)}"] if state.output else []
    room = MAX_LINES - len(found) - len(result)
    others = [event for event in events if isinstance(event, _TOLD)]
    if others and room > 0:
        found += [_sentence(event, state) for event in others[-room:]]
    return [*found[: MAX_LINES - len(result)], *result]


def _asked(state: DurableRun, events: Sequence[ev.JournalEvent]) -> str:
    created = next((event for event in events if isinstance(event, ev.RunCreated)), None)
    who = sanitize_line(created.by.name, limit=60) if created is not None and created.by.name else "The runtime"
    what = sanitize_line(state.input, limit=300) or "nothing"
    title = sanitize_line(state.shown_title, limit=120)
    # Without a title of its own a run is called after the first line of its input.
    whom = sanitize_line(state.ref.rpartition("/")[2], limit=120) if what.startswith(title) else ""
    return f"{who} asked {whom or title} for: {what}"


def _ended(state: DurableRun, events: Sequence[ev.JournalEvent]) -> str:
    words = state.shown_phase.replace("_", " ")
    end = state.finished_at or state.updated_at
    seconds = (end - state.created_at).total_seconds() if end and state.created_at else None
    took = f", {format_duration(seconds)} after it began" if seconds is not None else ""
    lives = f", {restarts_text(state.restarts)}" if state.restarts else ""
    finished = next((event for event in reversed(events) if isinstance(event, ev.RunFinished)), None)
    name = finished.by.name if finished is not None else ""
    by = f", by {sanitize_line(name, limit=60)}" if name else ""
    why = f": {sanitize_line(state.error, limit=300)}" if state.error else ""
    return f"It is {words}{by}{took}{lives}{why}."


def _worked(state: DurableRun) -> Iterator[str]:
    agents = [node for node in state.nodes.values() if node.kind == "agent"]
    names = list(dict.fromkeys(sanitize_line(node.name, limit=40) for node in agents))
    who = f"{', '.join(names[:4])}{' and others' if len(names) > 4 else ''}" if names else "It"
    tokens = format_count(state.input_tokens + state.output_tokens)
    yield (
        f"{who} made {pluralize(state.llm_calls, 'model call')} and {pluralize(state.tool_calls, 'tool call')}, "
        f"with {tokens} tokens{_cost(state)}."
    )


def _cost(state: DurableRun) -> str:
    known = f", for {format_cost(state.cost_usd)}" if state.cost_usd is not None else ""
    unknown = f" (without {pluralize(state.unpriced_calls, 'call')} of unknown price)" if state.unpriced_calls else ""
    return known + unknown


def _healed(state: DurableRun) -> Iterator[str]:
    causes = Counter(each.cause for node in state.nodes.values() for each in node.tries if each.wait_s is not None)
    if causes:
        told = ", ".join(f"{number} × {cause.replace('_', ' ')}" for cause, number in causes.most_common(4))
        yield f"Tried again by itself: {told}."


def _incidents(state: DurableRun) -> list[str]:
    incidents = list(state.incidents.values())
    found = [_incident(each, state) for each in incidents[:_MAX_INCIDENTS]]
    if rest := incidents[_MAX_INCIDENTS:]:
        waiting = sum(each.open for each in rest)
        found.append(f"{pluralize(len(rest), 'more incident')}, {waiting} of them open.")
    return found


def _incident(incident: Incident, state: DurableRun) -> str:
    what = explain(incident, state).what.text
    answer = incident.answer
    if answer is None:
        how = f"Closed: {sanitize_line(incident.closed, limit=120)}" if incident.closed else "It waits for an answer"
        return f"{what} {how}."
    who = sanitize_line(answer.by.name, limit=60) or "the runtime"
    after = format_duration((answer.ts - incident.opened.ts).total_seconds())
    return f"{what} Answered by {who}: {sanitize_line(answer.option, limit=40)}, after {after}."


def _sentence(event: ev.JournalEvent, state: DurableRun) -> str:
    node = state.nodes.get(event.node_id)
    told = narrate(event, state)
    subject = f"{sanitize_line(node.name, limit=80)} " if node is not None and not told.whole else ""
    said = f"{subject}{sentence_text(told, limit=200)}."
    return said[:1].upper() + said[1:]
