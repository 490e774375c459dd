"""The detail pane of the run page: node, timeline, report, waits."""

from __future__ import annotations

from typing import NamedTuple

from runtime.judgement.reports.explanation.explain import Explanation, explain
from runtime.judgement.reports.incident_report import IncidentReport, build_report
from runtime.judgement.reports.wait_graph import wait_chain
from runtime.operations.requests.event_object import EventObject
from runtime.record.state.durable_run import DurableRun, Incident
from screens.render.layout import Span, Spans, span
from screens.shell.context import ConsoleContext, Link
from screens.views.lists.runs import outcome_lines
from screens.views.run.explanation import evidence_lines, explanation_lines, unasked_model_lines
from screens.views.run.json_lines import json_lines
from screens.views.run.node import node_lines
from screens.views.run.report import answer_lines, report_lines, traceback_lines
from screens.views.run.waits import waits_lines
from screens.views.shared.render_context import RenderContext


class DetailPage(NamedTuple):
    """`name`: under the same name the reader's place on the page is kept. `at_end`: a new one is shown from its end."""

    lines: list[Spans]
    title: str
    name: str
    at_end: bool = False


class _Told(NamedTuple):
    """What is told of an incident."""

    explanation: Explanation
    report: IncidentReport


class DetailPages:
    """Remembers what was asked for; without that, the page is the cursor's."""

    def __init__(self, session: ConsoleContext) -> None:
        self._session = session
        self._waits: str | None = None
        self._event: EventObject | None = None
        self._report: tuple[object, _Told | None] = (None, None)
        self._run: tuple[object, list[Spans]] = (None, [])

    @property
    def asks_waits(self) -> bool:
        return self._waits is not None

    def ask_waits(self, node_id: str) -> None:
        """Show what a node waits for, until the cursor moves on."""
        self._waits, self._event = node_id, None

    def show_event(self, event: EventObject) -> None:
        """Show an event, until the cursor moves on."""
        self._waits, self._event = None, event

    def follow_cursor(self) -> None:
        self._waits = self._event = None

    @property
    def was_asked(self) -> bool:
        """Whether the page shows something that was asked for, and not what the cursor is on."""
        return self._waits is not None or self._event is not None

    def shows_report_of(self, state: DurableRun, key: str, incident: Incident | None) -> bool:
        """Whether the page of the node `key` is the report of this incident."""
        if self.was_asked or incident is None:
            return False
        found = _incident_at(state, key, incident.opened.incident_id)
        return found is not None and found.opened.incident_id == incident.opened.incident_id

    def page_for(self, state: DurableRun, key: str, incident_id: str, *, explained: bool = True) -> DetailPage:
        """The page for the node `key`.

        Args:
            state: the run.
            key: the node; empty for the run.
            incident_id: the decision that the prompt shows.
            explained: whether a report has the explanation; not where the prompt beside it has.
        """
        context, link = self._session.render_context(), self._session.link
        if self._event is not None:
            return _event_page(self._event, context)
        if self._waits is not None:
            found = wait_chain(state, self._waits)
            return DetailPage(waits_lines(found, context), "Waits for", f"waits:{self._waits}")
        node = state.nodes.get(key)
        incident = _incident_at(state, key, incident_id)
        if incident is not None:
            told = self._build_report(state, incident, context)
            explained = explained or not incident.open
            return _report_page(state, incident, told, context, link, explained=explained)
        if node is None or node.parent_id not in state.nodes:
            return DetailPage(self._outcome_lines(state, context), "Run", "run")
        streamed = link.text(state.id, node.id)
        comes = streamed is not None and not node.terminal
        return DetailPage(node_lines(state, node.id, context, streamed=streamed), "Node", f"node:{node.id}", comes)

    def _outcome_lines(self, state: DurableRun, context: RenderContext) -> list[Spans]:
        """Worked out once a second, for it goes over all steps in flight."""
        seen = (state.id, state.terminal or int(context.now.timestamp()), context.glyphs.name)
        if seen != self._run[0]:
            self._run = (seen, outcome_lines(state, context))
        return self._run[1]

    def _build_report(self, state: DurableRun, incident: Incident, context: RenderContext) -> _Told:
        """Explanation and report; made again when the incident changed, else once a second: they go over all nodes."""
        second = int(context.now.timestamp())
        seen = (incident.opened.incident_id, incident.state, incident.analysis, state.terminal or second)
        if self._report[1] is None or seen != self._report[0]:
            told = _Told(explain(incident, state, self._session.runtime_home), build_report(state, incident.opened))
            self._report = (seen, told)
        found = self._report[1]
        assert found is not None
        return found


def _incident_at(state: DurableRun, key: str, incident_id: str) -> Incident | None:
    """The incident whose report the page of the node `key` is; `incident_id` is the one that the prompt shows."""
    node = state.nodes.get(key)
    if node is not None and node.incidents:
        return state.incidents.get(node.incidents[-1])
    is_run = not key or (node is not None and node.parent_id not in state.nodes)
    return state.incidents.get(incident_id) if is_run else None


def _report_page(
    state: DurableRun, incident: Incident, told: _Told, context: RenderContext, link: Link, *, explained: bool
) -> DetailPage:
    """What happened there: the explanation or its evidence, the full report, and all that is known of the node."""
    node = state.nodes.get(incident.opened.node_id)
    streamed = link.text(state.id, incident.opened.incident_id)
    lines = answer_lines(incident, context)
    if explained:
        lines += explanation_lines(told.explanation, context, incident, streamed)
    else:
        lines += evidence_lines(told.explanation, context, incident, streamed)
    lines += [*([()] if lines else []), span("Full report", "ink-accent", bold=True)]
    lines += report_lines(told.report, context, incident, streamed)
    lines += traceback_lines(told.report, context)
    if node is not None:
        lines += [(), span("The node", "ink-accent", bold=True)]
        lines += node_lines(state, node.id, context, streamed=link.text(state.id, node.id))
    lines += unasked_model_lines(incident, context)
    return DetailPage(lines, "Report", f"report:{incident.opened.incident_id}")


def _event_page(event: EventObject, context: RenderContext) -> DetailPage:
    kind = context.sanitize_line(event.type, 60)
    when = context.sanitize_line(event.ts, 40)
    lines: list[Spans] = [
        (Span(f"Event {event.seq}  ", "ink-muted"), Span(kind, "ink-strong", bold=True)),
        span(when, "ink-muted"),
        (),
        *json_lines({name: value for name, value in event.items() if name not in ("type", "ts", "v")}, context),
    ]
    return DetailPage(lines, "Event", f"event:{event.seq}")
