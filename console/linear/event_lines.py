"""Events of a run as lines of the linear mode. Pure: an event and the state that it led to, in; lines, out.

For terminals without a screen, for pipes, logs and screen readers: every line stands by itself, signs always have a
word beside them, nothing is drawn over. Text that is not ours passes the gate here, piece by piece, so that a line
break in it cannot forge a line of ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.judgement.reports.audit import shown_params
from runtime.judgement.reports.incident_report import IncidentReport
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from screens.render.confusables import mark_confusables
from screens.render.formatting import format_count, format_duration
from screens.render.glyphs import (
    ASCII_GLYPHS,
    UNICODE_GLYPHS,
    Glyphs,
    state_word,
)
from screens.render.sanitize import clean, clean_line

PREVIEW_CHARS = 100
_STYLES = {"failed": "red", "waiting": "yellow", "retrying": "yellow", "succeeded": "green", "completed": "green"}


@dataclass(frozen=True, slots=True)
class StyledLine:
    """One line; `style` is a colour's name for a terminal that has colours, and says nothing that the text does not."""

    text: str
    style: str = ""


class EventLines:
    """Says events of one run in lines. `ascii_only` for what speaks no UTF-8."""

    def __init__(self, *, ascii_only: bool = False) -> None:
        self._glyphs: Glyphs = ASCII_GLYPHS if ascii_only else UNICODE_GLYPHS
        self._ascii = ascii_only

    def lines_for(self, event: ev.JournalEvent, state: DurableRun) -> list[StyledLine]:
        """The lines for `event`, which `state` has taken in already; none for what a reader need not know."""
        teller = _FORMATTERS.get(type(event))
        return teller(self, event, state) if teller is not None else []

    def clean_text(self, text: str, limit: int = PREVIEW_CHARS) -> str:
        return clean_line(text, limit=limit, ascii_only=self._ascii)

    def line(self, event: ev.JournalEvent, state: str, text: str) -> StyledLine:
        sign = self._glyphs.state.get(state, " ")
        return StyledLine(f"{event.ts.astimezone().strftime('%H:%M:%S')} {sign} {text}", _STYLES.get(state, ""))

    def node_label(self, state: DurableRun, node_id: str) -> str:
        """Who and what: ``reader · read_file``; the run itself where no node is named."""
        names = [node.name for node in state.lineage(node_id) if node.kind not in ("swarm", "group")]
        return self._glyphs.dot.join(self.clean_text(name, 60) for name in names[-3:]) or "the run"

    # -- one function for each kind of event that a reader wants to know of -----------------------------------------

    def run_created(self, event: ev.RunCreated, state: DurableRun) -> list[StyledLine]:
        return [
            self.line(event, "queued", f"run {event.run_id}: {self.clean_text(event.title or event.ref, 200)}"),
            self.line(event, "", f"task: {self.clean_text(event.input, 400)}"),
        ]

    def run_started(self, event: ev.RunStarted, state: DurableRun) -> list[StyledLine]:
        again = f" again, life {state.lives}; what is recorded is not repeated" if state.lives > 1 else ""
        return [self.line(event, "running", f"run {event.run_id} is driven{again}")]

    def run_parked(self, event: ev.RunParked, state: DurableRun) -> list[StyledLine]:
        why = "waits for a person" if event.reason == "waiting" else "is let go of, to be resumed"
        return [self.line(event, "waiting", f"run {event.run_id} {why}")]

    def run_finished(self, event: ev.RunFinished, state: DurableRun) -> list[StyledLine]:
        found = event.output or event.error
        lines = [self.line(event, event.state, f"run {event.run_id} {event.state}")]
        if found:
            shown = clean(found, size=4_000, lines=40, ascii_only=self._ascii)
            lines += [StyledLine(f"    {row}") for row in shown.split("\n")]
        return lines

    def abort_requested(self, event: ev.AbortRequested, state: DurableRun) -> list[StyledLine]:
        why = f": {self.clean_text(event.reason)}" if event.reason else ""
        return [self.line(event, "aborted", f"abort asked for by {self.actor(event.by)}{why}")]

    def frozen(self, event: ev.RunFrozen, state: DurableRun) -> list[StyledLine]:
        why = f": {self.clean_text(event.reason)}" if event.reason else ""
        flying = f"; under way and coming to an end: {len(state.in_flight)}" if state.freezing else ""
        return [self.line(event, "waiting", f"run frozen by {self.actor(event.by)}{why}{flying}")]

    def thawed(self, event: ev.RunThawed, state: DurableRun) -> list[StyledLine]:
        return [self.line(event, "running", f"run thawed by {self.actor(event.by)}")]

    def rewind_requested(self, event: ev.RewindRequested, state: DurableRun) -> list[StyledLine]:
        why = f": {self.clean_text(event.reason)}" if event.reason else ""
        back = self.clean_text(event.node_id, 200)
        return [self.line(event, "waiting", f"asked by {self.actor(event.by)} to go back to {back}{why}")]

    def rewound(self, event: ev.RunRewound, state: DurableRun) -> list[StyledLine]:
        back = self.clean_text(event.node_id, 200)
        text = f"turned back to {back} by {self.actor(event.by)}; nodes dropped: {event.dropped}"
        return [self.line(event, "running", text)]

    def clock_stepped(self, event: ev.ClockStepped, state: DurableRun) -> list[StyledLine]:
        way = "forward" if event.seconds > 0 else "back"
        text = f"the clock was set {way} by {format_duration(abs(event.seconds))}: waits are as long as they were"
        return [self.line(event, "", text)]

    def swarm_loaded(self, event: ev.SwarmLoaded, state: DurableRun) -> list[StyledLine]:
        return [self.line(event, "", "its swarm is imported, after a process had ended before that was recorded")]

    def clock_set_back(self, event: ev.ClockSetBack, state: DurableRun) -> list[StyledLine]:
        text = (
            f"the clock was set back by {format_duration(event.seconds)} or more: waits are held against the new time"
        )
        return [self.line(event, "", text)]

    def node_opened(self, event: ev.NodeOpened, state: DurableRun) -> list[StyledLine]:
        if event.kind != "agent":
            return []
        return [self.line(event, "running", f"{self.node_label(state, event.node_id)} begins")]

    def node_closed(self, event: ev.NodeClosed, state: DurableRun) -> list[StyledLine]:
        node = state.nodes.get(event.node_id)
        if node is None or node.kind != "agent":
            return []
        said = self.clean_text(event.error or event.output)
        what = f"{self.node_label(state, event.node_id)} {state_word(event.state)}{self._took(node)}"
        return [self.line(event, event.state, f"{what}: {said}" if said else what)]

    def warned(self, event: ev.Warned, state: DurableRun) -> list[StyledLine]:
        label = self.node_label(state, event.node_id)
        text = f"{self._glyphs.warning} {label}: warning: {self.clean_text(event.text, 400)}"
        return [self.line(event, "", text)]

    def step_ended(self, event: ev.StepEnded, state: DurableRun) -> list[StyledLine]:
        node = state.nodes.get(event.node_id)
        if node is None or node.kind == "value":
            return []
        where = self.node_label(state, event.node_id)
        asked = f"({self.clean_text(_arguments(node), 80)})" if node.kind == "tool" else ""
        seconds = f" ({format_duration(event.seconds)})" if event.seconds >= 0.05 else ""
        if event.skipped:
            return [self.line(event, "skipped", f"{where}{asked} skipped by {self.actor(event.by or ev.Actor())}")]
        if event.fault is not None:
            what = self.clean_text(event.fault.technical or event.fault.user_message, 200)
            to_model = "; the model is told" if event.model_told else ""
            return [self.line(event, "failed", f"{where}{asked} failed: {event.fault.cause.value}: {what}{to_model}")]
        if node.kind == "llm":
            used = f": {format_count(event.input_tokens)} tokens in, {format_count(event.output_tokens)} out"
            return [self.line(event, "succeeded", f"{where} replied{used}{seconds}")]
        by = f" by {self.actor(event.by)}" if event.by is not None else ""
        said = self.clean_text(_preview(event.result))
        if by and isinstance(event.result, dict) and event.result.get("error"):
            return [self.line(event, "skipped", f"{where}{asked} is not done{by}: {said}")]
        return [self.line(event, "succeeded", f"{where}{asked} done{by}{seconds}: {said}")]

    def retry_scheduled(self, event: ev.RetryScheduled, state: DurableRun) -> list[StyledLine]:
        source = f", by {self.clean_text(event.source, 60)}" if event.source else ""
        again = f"attempt {event.attempt} of {event.max_attempts} in {format_duration(event.delay_s)}{source}"
        return [self.line(event, "retrying", f"{self.node_label(state, event.node_id)} retries: {again}")]

    def incident_answered(self, event: ev.IncidentAnswered, state: DurableRun) -> list[StyledLine]:
        given = (
            f" {self.clean_text(json.dumps(shown_params(event.params), ensure_ascii=False), 200)}"
            if event.params
            else ""
        )
        by = self.actor(event.by)
        return [self.line(event, "running", f"incident {event.incident_id} answered by {by}: {event.option}{given}")]

    def incident_closed(self, event: ev.IncidentClosed, state: DurableRun) -> list[StyledLine]:
        return [self.line(event, "", f"incident {event.incident_id} closed: {self.clean_text(event.reason, 200)}")]

    def analysis_started(self, event: ev.AnalysisStarted, state: DurableRun) -> list[StyledLine]:
        asked = self.clean_text(event.model, 80)
        return [self.line(event, "", f"incident {event.incident_id}: {asked} is asked what it makes of it")]

    def analysis_added(self, event: ev.AnalysisAdded, state: DurableRun) -> list[StyledLine]:
        if event.fallback:
            text = f"incident {event.incident_id}: no analysis: {self.clean_text(event.text, 200)}"
            return [self.line(event, "", text)]
        by = f"a machine's, {self.clean_text(event.model, 80)}"
        shown = clean(event.text, size=4_000, lines=40, ascii_only=self._ascii)
        lines = [self.line(event, "", f"incident {event.incident_id}: analysis ({by}):")]
        return [*lines, *(StyledLine(f"    {row}") for row in shown.split("\n"))]

    def actor(self, by: ev.Actor) -> str:
        return f"{self.clean_text(by.name, 60) or 'the runtime'} ({by.channel})"

    @staticmethod
    def _took(node: Node) -> str:
        if node.opened_at is None or node.closed_at is None:
            return ""
        seconds = (node.closed_at - node.opened_at).total_seconds()
        return f" ({format_duration(seconds)})" if seconds >= 0.05 else ""

    # -- an incident, whole ---------------------------------------------------------------------------------------

    def incident(self, opened: ev.IncidentOpened, report: IncidentReport) -> list[StyledLine]:
        """An incident with its report and its options, as a block of lines."""

        def short(text: str, limit: int = PREVIEW_CHARS) -> str:
            found = self.clean_text(text, limit)
            return mark_confusables(found) if report.action.get("permission") else found

        rows = [
            ("error type", f"{report.error_type.upper()}, severity {report.severity}"),
            ("where", self._glyphs.crumb.join(short(name, 60) for name in report.lineage)),
            ("task", short(report.task, 300)),
            ("failed operation", short(report.failed_operation, 200)),
            ("error message", short(report.error_message, 600)),
            ("question", short(opened.question, 600)),
            ("to be done", short(json.dumps(report.action, ensure_ascii=False), 1_000) if report.action else ""),
            ("statistics", report.stats()),
            ("retry", report.why_no_retry),
            ("by itself", report.at_deadline),
            ("analysis", short(report.analysis, 2_000)),
        ]
        sign = self._glyphs.state["waiting"]
        lines = [StyledLine(f"{sign} incident {opened.incident_id} waits for an answer", "yellow")]
        lines += [StyledLine(f"    {name}: {text}") for name, text in rows if text]
        for number, option in enumerate(opened.options, 1):
            hint = f": {short(option.hint, 300)}" if option.hint else ""
            safe = " (the safe default)" if option.id == opened.safe else ""
            lines.append(StyledLine(f"    [{number}] {option.id} - {short(option.label)}{safe}{hint}"))
        return lines


def _arguments(node: Node) -> str:
    given = (node.effective or node.requested).get("arguments")
    if not isinstance(given, dict):
        return ""
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items())


def _preview(result: Any) -> str:
    found = result.get("error") or result.get("content") if isinstance(result, dict) else result
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, default=str)


_FORMATTERS: dict[type[ev.JournalEvent], Callable[[EventLines, Any, DurableRun], list[StyledLine]]] = {
    ev.RunCreated: EventLines.run_created,
    ev.RunStarted: EventLines.run_started,
    ev.RunParked: EventLines.run_parked,
    ev.RunFinished: EventLines.run_finished,
    ev.AbortRequested: EventLines.abort_requested,
    ev.RunFrozen: EventLines.frozen,
    ev.RunThawed: EventLines.thawed,
    ev.RewindRequested: EventLines.rewind_requested,
    ev.RunRewound: EventLines.rewound,
    ev.SwarmLoaded: EventLines.swarm_loaded,
    ev.ClockSetBack: EventLines.clock_set_back,
    ev.ClockStepped: EventLines.clock_stepped,
    ev.NodeOpened: EventLines.node_opened,
    ev.NodeClosed: EventLines.node_closed,
    ev.Warned: EventLines.warned,
    ev.StepEnded: EventLines.step_ended,
    ev.RetryScheduled: EventLines.retry_scheduled,
    ev.IncidentAnswered: EventLines.incident_answered,
    ev.IncidentClosed: EventLines.incident_closed,
    ev.AnalysisStarted: EventLines.analysis_started,
    ev.AnalysisAdded: EventLines.analysis_added,
}
