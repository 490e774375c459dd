"""Spans of waits: `incident {cause}` from its opening to its answer, and the model that is asked about it meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from runtime.judgement.traces import conventions as c
from runtime.judgement.traces import ids
from runtime.judgement.traces.span import Attributes, Span, SpanEvent, nanoseconds
from runtime.judgement.traces.span_attributes import decision_event, fault_text, model_names
from runtime.judgement.traces.traced_run import TracedRun
from runtime.record.state import events as ev


@dataclass(slots=True)
class _OpenIncident:
    id: int
    parent: int
    start: int
    opened: ev.IncidentOpened


class WaitSpans:
    """The part of `RunSpans` that is about incidents."""

    def __init__(self, run: TracedRun) -> None:
        self._run = run
        self._open: dict[str, _OpenIncident] = {}
        self._asked: dict[str, ev.AnalysisStarted] = {}

    def apply(self, event: ev.JournalEvent) -> Iterator[Span]:
        """Take an event of an incident into account; all others are passed over."""
        match event:
            case ev.IncidentOpened():
                parent = self._run.span_of(event.node_id)
                span = ids.incident_span_id(self._run.state.id, event.incident_id)
                self._open[event.incident_id] = _OpenIncident(span, parent, nanoseconds(event.ts), event)
            case ev.IncidentAnswered():
                if (found := self._open.pop(event.incident_id, None)) is not None:
                    yield self._span(found, nanoseconds(event.ts), "answered", event)
            case ev.IncidentClosed():
                if (found := self._open.pop(event.incident_id, None)) is not None:
                    yield self._span(found, nanoseconds(event.ts), "closed")
            case ev.AnalysisStarted():
                self._asked[event.incident_id] = event
            case ev.AnalysisAdded():
                yield from self._analysis(event)

    def withdraw(self, at: int, kept: Collection[str] | None = None) -> Iterator[Span]:
        """End incidents that nothing waits for any more: all, or those at nodes that are not in `kept`."""
        for incident_id, found in list(self._open.items()):
            if kept is None or found.opened.node_id not in kept:
                del self._open[incident_id]
                yield self._span(found, at, "closed")

    def _span(self, found: _OpenIncident, end: int, state: str, answer: ev.IncidentAnswered | None = None) -> Span:
        run, opened = self._run, found.opened
        content = run.settings.content
        cause = opened.fault.cause.value
        attributes: Attributes = {c.INCIDENT_ID: opened.incident_id, c.CAUSE: cause, c.INCIDENT_STATE: state}
        events: tuple[SpanEvent, ...] = ()
        if answer is not None:
            decided = decision_event(run.text, answer, content=content)
            attributes |= decided
            events = (SpanEvent("decision", end, decided),)
        if content:
            attributes[c.REASON] = attributes.get(c.REASON) or fault_text(run.text, opened.fault, content=True)
        name = f"{c.INCIDENT} {cause}"
        path = opened.node_id
        return run.make(found.id, found.parent, name, found.start, end, attributes, path=path, events=events)

    def _analysis(self, event: ev.AnalysisAdded) -> Iterator[Span]:
        """The call of the model that was asked; a sentence that no model said has none."""
        asked = self._asked.pop(event.incident_id, None)
        if asked is None or event.fallback or not event.model:
            return
        run = self._run
        provider, model = model_names(event.model)
        attributes: Attributes = {
            c.OPERATION: c.CHAT,
            c.PROVIDER: run.text.name(provider),
            c.REQUEST_MODEL: run.text.name(model),
            c.INCIDENT_ID: event.incident_id,
        }
        if event.cost_usd is not None:
            attributes[c.COST] = event.cost_usd
        waiting = self._open.get(event.incident_id)
        parent = waiting.id if waiting is not None else run.span_of(event.node_id)
        span = ids.analysis_span_id(run.state.id, event.incident_id, event.seq)
        start, end = nanoseconds(asked.ts), nanoseconds(event.ts)
        name = f"{c.CHAT} {attributes[c.REQUEST_MODEL]}"
        yield run.make(span, parent, name, start, end, attributes, path=event.node_id, kind="client")
