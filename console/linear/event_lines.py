"""Prints the narrator's sentences as lines of the linear mode. Pure: an event and the state that it led to, in; lines,
out.

For terminals without a screen, for pipes, logs and screen readers: every line stands by itself, signs always have a
word beside them, nothing is drawn over. Text that is not ours passes the gate piece by piece, so that a line break in
it cannot forge a line of ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from runtime.judgement.forms.url_host import url_host
from runtime.judgement.recovery.option_spec import pressed_label
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.options import press_of
from runtime.judgement.reports.explanation.explain import explain
from runtime.judgement.reports.explanation.sentence import option_words
from runtime.judgement.reports.incident_report import build_report
from runtime.judgement.reports.narration import Foreign, LogLevel, Narration
from runtime.judgement.reports.narrator import actor_parts, narrate
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident, Node
from runtime.record.state.run_title import run_title
from screens.render.confusables import exact_line
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS, Glyphs
from screens.render.sanitize import sanitize_line, sanitize_text
from screens.views.shared.narration_text import parts_text, sentence_text

PREVIEW_CHARS = 100
_LEVEL_STYLES: Final[Mapping[LogLevel, str]] = {"error": "red", "warning": "yellow", "info": ""}
_BLOCK_CHARS: Final = 4_000
_BLOCK_LINES: Final = 40
_FOR_LONGER: Final = "Or for longer: you choose how long, see what it would cover, and type yes."


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
        self._said_without_analysis: set[str] = set()

    def lines_for(self, event: ev.JournalEvent, state: DurableRun) -> list[StyledLine]:
        """The lines for `event`, which `state` has taken in already; none for what a reader need not know, nor for an
        incident that opens, which `incident` shows as a whole. The reason for a missing analysis is said once, not
        for each incident.
        """
        if isinstance(event, ev.AnalysisAdded) and event.fallback:
            if event.why_missing in self._said_without_analysis:
                return []
            self._said_without_analysis.add(event.why_missing)
        narration = narrate(event, state)
        if narration.weight != "main" or isinstance(event, ev.IncidentOpened):
            return []
        subject = "" if narration.whole else f"{self._subject(event, state)} "
        if narration.block:
            head = f"{subject}{parts_text(narration.parts, ascii_only=self._ascii)}"
            return [self._line(event, narration, head), *self._block(narration.text.text)]
        said = sentence_text(self._shortened(event, narration, state), ascii_only=self._ascii)
        return [self._line(event, narration, f"{subject}{said}")]

    def actor(self, by: ev.Actor) -> str:
        """Who gave an answer, and by what way."""
        return parts_text(actor_parts(by), ascii_only=self._ascii)

    def _clean(self, text: str, limit: int = PREVIEW_CHARS) -> str:
        return sanitize_line(text, limit=limit, ascii_only=self._ascii)

    def _exact(self, text: str, limit: int) -> str:
        return exact_line(text, limit=limit, ascii_only=self._ascii)

    def _line(self, event: ev.JournalEvent, narration: Narration, text: str) -> StyledLine:
        state = narration.state
        sign = self._glyphs.warning if state == "warning" else self._glyphs.state.get(state, " ")
        style = "green" if state in ("succeeded", "completed") else _LEVEL_STYLES[narration.level]
        return StyledLine(f"{event.ts.astimezone().strftime('%H:%M:%S')} {sign} {text}", style)

    def _block(self, text: str) -> list[StyledLine]:
        """Foreign text of several lines, indented, so that it cannot forge a line of ours."""
        if not text:
            return []
        shown = sanitize_text(text, size=_BLOCK_CHARS, lines=_BLOCK_LINES, ascii_only=self._ascii)
        return [StyledLine(f"    {row}") for row in shown.split("\n")]

    def _subject(self, event: ev.JournalEvent, state: DurableRun) -> str:
        """Who and what: ``reader · read_file(path="x")``; the run itself where no node is named."""
        if isinstance(event, ev.RunCreated):
            return f"run {event.run_id} ({self._clean(run_title(event.title, event.ref, event.input), 200)})"
        names = [node.name for node in state.lineage(event.node_id) if node.kind not in ("swarm", "group")]
        label = self._glyphs.dot.join(self._clean(name, 60) for name in names[-3:])
        node = state.nodes.get(event.node_id)
        if isinstance(event, ev.StepEnded) and node is not None and node.kind == "tool":
            return f"{label}({self._clean(_arguments(node), 80)})"
        return label or f"run {event.run_id}"

    @staticmethod
    def _shortened(event: ev.JournalEvent, narration: Narration, state: DurableRun) -> Narration:
        """Results as a preview only; what a model replied is said when its agent ends."""
        if not isinstance(event, ev.StepEnded | ev.NodeClosed):
            return narration
        node = state.nodes.get(event.node_id)
        replied = isinstance(event, ev.StepEnded) and node is not None and node.kind == "llm"
        return replace(narration, text=Foreign("" if replied else narration.text.text, PREVIEW_CHARS))

    # -- an incident, whole ---------------------------------------------------------------------------------------

    def incident(self, opened: ev.IncidentOpened, state: DurableRun) -> list[StyledLine]:
        """An incident as a block of lines: its explanation, the facts of its report, and its options, each with what it
        will do.
        """
        report = build_report(state, opened)
        told = explain(state.incidents.get(opened.incident_id) or Incident(opened), state)

        def short(text: str, limit: int = PREVIEW_CHARS) -> str:
            return self._exact(text, limit) if report.action.get("permission") else self._clean(text, limit)

        failed = told.kind == "failure"
        rows = [
            *((label.lower(), short(text, 600)) for label, text in told.rows()),
            ("error type", f"{report.error_type.upper()}, severity {report.severity}" if failed else ""),
            ("where", self._glyphs.crumb.join(short(name, 60) for name in report.lineage)),
            ("task", short(report.task, 300)),
            ("failed operation", short(report.failed_operation, 200)),
            ("error message", short(report.error_message, 600) if failed else ""),
            ("rule", short(report.why, 600)),
            ("context", short("; ".join(report.context_lines()), 1_000)),
            ("question", short(opened.question, 600)),
            ("choices", short(", ".join(report.choices), 600)),
            ("open", self._exact(opened.url, 2_000)),
            ("host", self._exact(url_host(opened.url), 300)),
            ("to be done", short(json.dumps(report.action, ensure_ascii=False), 1_000) if report.action else ""),
            ("statistics", report.stats()),
            ("retry", report.why_no_retry),
            ("by itself", report.at_deadline),
            ("analysis", short(report.analysis, 2_000)),
        ]
        head = parts_text(narrate(opened).parts, ascii_only=self._ascii)
        lines = [StyledLine(f"{self._glyphs.state['waiting']} {head}", "yellow")]
        lines += [StyledLine(f"    {name}: {text}") for name, text in rows if text]
        for number, option in enumerate(opened.options, 1):
            words = short(option_words(option.id, option.hint, told.consequences), 300)
            if option.standing and told.lasting:
                words = f"{words} {_FOR_LONGER}"
            hint = f": {words}" if words else ""
            safe = " (the safe default)" if option.id == opened.safe else ""
            label = self._pressed(short(option.label), opened, option.id)
            lines.append(StyledLine(f"    [{number}] {option.id} - {label}{safe}{hint}"))
        return lines

    def _pressed(self, label: str, opened: ev.IncidentOpened, option_id: str) -> str:
        """The label, with whether lines are asked for first, or a yes."""
        spec = OPTIONS.get(option_id)
        asked = spec is not None and bool(spec.line_params)
        press = "opens" if asked else press_of(opened, option_id)
        return pressed_label(label, press, second="yes", ellipsis=self._glyphs.opens)


def _arguments(node: Node) -> str:
    given = (node.effective or node.requested).get("arguments")
    if not isinstance(given, dict):
        return ""
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items())
