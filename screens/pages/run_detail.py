"""The detail pane of the run page: node, timeline, report, waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from runtime.judgement.reports.incident_report import IncidentReport, build_report
from runtime.judgement.reports.wait_graph import wait_chain
from runtime.record.state.durable_run import DurableRun, Incident
from screens.render.layout import Span, Spans, span
from screens.shell.context import Link
from screens.views.lists.runs import outcome_lines
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


class DetailPages:
    """Remembers what was asked for; without that, the page is the cursor's."""

    def __init__(self) -> None:
        self._waits: str | None = None
        self._event: tuple[int, Mapping[str, Any]] | None = None
        self._report: tuple[object, IncidentReport | None] = (None, None)
        self._run: tuple[object, list[Spans]] = (None, [])

    @property
    def asks_waits(self) -> bool:
        return self._waits is not None

    def ask_waits(self, node_id: str) -> None:
        """Show what a node waits for, until the cursor moves on."""
        self._waits, self._event = node_id, None

    def show_event(self, seq: int, body: Mapping[str, Any]) -> None:
        """Show an event, until the cursor moves on."""
        self._waits, self._event = None, (seq, body)

    def follow_cursor(self) -> None:
        self._waits = self._event = None

    def page_for(self, state: DurableRun, key: str, incident_id: str, looks: RenderContext, link: Link) -> DetailPage:
        """The page for the node `key`; `incident_id` is the decision that the prompt shows."""
        if self._event is not None:
            return _event_page(*self._event, looks)
        if self._waits is not None:
            found = wait_chain(state, self._waits)
            return DetailPage(waits_lines(found, looks), "Waits for", f"waits:{self._waits}")
        node = state.nodes.get(key)
        incident = state.incidents.get(node.incidents[-1]) if node is not None and node.incidents else None
        if incident is None and key in ("", *state.roots):
            incident = state.incidents.get(incident_id)
        if incident is not None:
            return _report_page(state, incident, self._build_report(state, incident, looks), looks, link)
        if node is None or node.id in state.roots:
            return DetailPage(self._outcome_lines(state, looks), "Run", "run")
        streamed = link.text(state.id, node.id)
        comes = streamed is not None and not node.terminal
        return DetailPage(node_lines(state, node.id, looks, streamed=streamed), "Node", f"node:{node.id}", comes)

    def _outcome_lines(self, state: DurableRun, looks: RenderContext) -> list[Spans]:
        """Anew once a second, for it goes over all steps in flight."""
        seen = (state.id, state.terminal or int(looks.now.timestamp()), looks.glyphs.name)
        if seen != self._run[0]:
            self._run = (seen, outcome_lines(state, looks))
        return self._run[1]

    def _build_report(self, state: DurableRun, incident: Incident, looks: RenderContext) -> IncidentReport:
        """The report: anew when the incident changed, else once a second, for it goes over all nodes."""
        second = int(looks.now.timestamp())
        seen = (incident.opened.incident_id, incident.state, incident.analysis, state.terminal or second)
        if self._report[1] is None or seen != self._report[0]:
            self._report = (seen, build_report(state, incident.opened))
        found = self._report[1]
        assert found is not None
        return found


def _report_page(
    state: DurableRun, incident: Incident, report: IncidentReport, looks: RenderContext, link: Link
) -> DetailPage:
    """The report of what happened there; below it all that is known of the node."""
    node = state.nodes.get(incident.opened.node_id)
    streamed = link.text(state.id, incident.opened.incident_id)
    lines = answer_lines(incident, looks) + report_lines(report, looks, incident, streamed)
    lines += traceback_lines(report, looks)
    if node is not None:
        lines += [(), span("The node", "ink-accent", bold=True)]
        lines += node_lines(state, node.id, looks, streamed=link.text(state.id, node.id))
    return DetailPage(lines, "Report", f"report:{incident.opened.incident_id}")


def _event_page(seq: int, body: Mapping[str, Any], looks: RenderContext) -> DetailPage:
    kind = looks.line(str(body.get("type", "?")), 60)
    when = looks.line(str(body.get("ts", "")), 40)
    lines: list[Spans] = [
        (Span(f"Event {seq}  ", "ink-muted"), Span(kind, "ink-strong", bold=True)),
        span(when, "ink-muted"),
        (),
        *json_lines({name: value for name, value in body.items() if name not in ("type", "ts", "v")}, looks),
    ]
    return DetailPage(lines, "Event", f"event:{seq}")
