"""The structured report of an incident, made by rules before any model is asked.

Sections and their order are seed 002's (`_build_structured_error_report`), with severity added and the execution
summary of `_populate_error_context`; parts that are zero or unknown are left out. The report is data; `markdown`
is the seed's form of it. What models, tools and providers wrote stands in frames (`runtime.judgement.reports.framing`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import asdict

from runtime.judgement.forms.schema_form import form_of
from runtime.judgement.forms.typed_text import choice_words
from runtime.judgement.recovery.options import why_no_retry
from runtime.judgement.reports.framing import (
    bullet_list,
    escape_markdown,
    fenced_block,
    hanging_indent,
    markdown_text,
)
from runtime.judgement.reports.report_types import AttemptLine, OfferedOption, ReportFacts, SummaryLine
from runtime.judgement.reports.tracebacks import fold_traceback
from runtime.judgement.reports.waiting_nodes import nodes_waiting_on
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.events import IncidentOpened

NO_ANALYSIS = "Error details are provided in the structured report above."
"""Seed 002's sentence where no model could be asked."""
EMPTY_ANALYSIS = "Please see the recovery options above."
"""Where a model was asked and said nothing (facts/error-handling, section 1.3: two distinct fixed sentences)."""


_BLOCKS = ("Traceback", "Error Context")
# Sections whose lines stand as they are.


class IncidentReport(ReportFacts, frozen=True, kw_only=True):
    """All that is known of an incident without asking a model."""

    def markdown(self) -> str:
        """The report in the form of seed 002."""
        parts = [
            f"⚠️ **ERROR REPORT** - {self.timestamp.strftime('%Y-%m-%d %H:%M:%S')}",
            f"**Error Type:** {self.error_type.upper()}",
            f"**Severity:** {self.severity.upper()}",
            f"**Task:** {markdown_text(self.task)}",
            f"**Failed Operation:** {markdown_text(self.failed_operation)}",
            f"**Error Message:** {markdown_text(self.error_message)}",
        ]
        if self.capability:
            parts.append(f"**Capability:** {markdown_text(self.capability)}")
        if self.metadata:
            shown = json.dumps(self.metadata, indent=2, ensure_ascii=False, default=str)
            parts.append(f"**Error Metadata:**\n{fenced_block(shown, 'json')}")
        if stats := self.stats():
            parts.append(f"**Execution Stats:** {stats}")
        if self.summary:
            parts.append("**Execution Summary:**\n" + "\n".join(map(escape_markdown, self.summary_lines())))
        for name, text in self.sections():
            parts.append(
                f"**{name}:**\n{fenced_block(text)}" if name in _BLOCKS else f"**{name}:** {escape_markdown(text)}"
            )
        return "\n".join(parts) + f"\n\n**Analysis:** {markdown_text(self.analysis or NO_ANALYSIS)}"

    def sections(self) -> list[tuple[str, str]]:
        """What we add to the seed's report, each with its name; nothing that is empty."""
        found = [
            ("Why", hanging_indent(self.why)),
            ("Error Context", "\n".join(self.context_lines())),
            ("Where", hanging_indent(" > ".join(self.lineage))),
            (
                "To Be Done",
                hanging_indent(json.dumps(self.action, ensure_ascii=False, default=str)) if self.action else "",
            ),
            ("Question", hanging_indent(self.question)),
            ("Choices", hanging_indent(", ".join(self.choices))),
            ("Address To Open", hanging_indent(self.url)),
            ("Other Plans", bullet_list(self.replans)),
            ("Attempts", bullet_list(line.sentence() for line in self.attempts)),
            ("Caused By", bullet_list(self.causes[1:])),
            ("Traceback", self.traceback.rstrip()),
            ("Waits For This", bullet_list(waiter.sentence() for waiter in self.waits_for)),
            ("Retry", self.why_no_retry),
            ("Recovery Options", ", ".join(f"{each.label} ({each.id})" for each in self.options)),
            ("At The Deadline", self.at_deadline),
            (
                "Analysed By",
                f"{hanging_indent(self.analysis_by)}, a model: check what it says" if self.analysis_by else "",
            ),
        ]
        return [(name, text) for name, text in found if text]

    def text(self) -> str:
        """The report without marks, for what shows none."""
        rows = [
            ("Error Report", self.timestamp.strftime("%Y-%m-%d %H:%M:%S")),
            ("Error Type", self.error_type.upper()),
            ("Severity", self.severity.upper()),
            ("Task", hanging_indent(self.task)),
            ("Failed Operation", hanging_indent(self.failed_operation)),
            ("Error Message", hanging_indent(self.error_message)),
            ("Capability", hanging_indent(self.capability)),
            ("Error Metadata", hanging_indent(json.dumps(self.metadata, indent=2, ensure_ascii=False, default=str))),
            ("Execution Stats", self.stats()),
            ("Execution Summary", "\n" + "\n".join(self.summary_lines()) if self.summary else ""),
            *((name, hanging_indent(text) if name in _BLOCKS else text) for name, text in self.sections()),
            ("Analysis", hanging_indent(self.analysis or NO_ANALYSIS)),
        ]
        return "\n".join(f"{name}: {text}" for name, text in rows if text)

    def context_lines(self) -> list[str]:
        """The error's context as a table of names and values."""
        texts = {
            name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            for name, value in self.context.items()
        }
        width = max(map(len, texts), default=0)
        return [f"{name:<{width}}  {hanging_indent(text)}" for name, text in texts.items()]

    def stats(self) -> str:
        parts = []
        if self.total_operations > 0:
            parts.append(f"Total operations: {self.total_operations}")
        if self.execution_time_s is not None:
            parts.append(f"Execution time: {self.execution_time_s:.1f}s")
        if self.retry_attempts > 0:
            parts.append(f"Retry attempts: {self.retry_attempts}")
        return ", ".join(parts)

    def summary_lines(self) -> list[str]:
        return [
            f"{'✅' if line.ok else '❌'} Step {line.number}: "
            f"{hanging_indent(line.objective)}{'' if line.ok else ' - Failed'}"
            for line in self.summary
        ]


def build_report(state: DurableRun, opened: IncidentOpened) -> IncidentReport:
    """The report of one incident of a run, as far as the run's events tell."""
    node = state.nodes.get(opened.node_id)
    incident = state.incidents.get(opened.incident_id)
    analysis = incident.analysis if incident is not None else None
    began = state.created_at
    return IncidentReport(
        incident_id=opened.incident_id,
        run_id=state.id or opened.run_id,
        timestamp=opened.ts,
        error_type=opened.fault.cause.value,
        severity=opened.fault.severity.value,
        task=opened.task or state.input or "Unknown task",
        failed_operation=_operation(node),
        error_message=opened.said or "Unknown error occurred",
        why=opened.fault.rule_message,
        context=opened.fault.context,
        capability=node.agent if node is not None else "",
        metadata=_metadata(opened),
        total_operations=state.steps,
        execution_time_s=(opened.ts - began).total_seconds() if began is not None else None,
        retry_attempts=max(0, node.tries_begun - 1) if node is not None else 0,
        summary=tuple(_summary(state)),
        replans=tuple(
            f"{each.remedy}, to {each.to}: {each.reason}"
            for each in state.returned
            if each.remedy in ("replan", "reroute")
        ),
        lineage=opened.lineage,
        action=opened.action,
        traceback=fold_traceback(opened.traceback),
        attempts=tuple(_attempts(node)) if node is not None else (),
        causes=opened.causes,
        waits_for=tuple(nodes_waiting_on(state, opened.node_id)),
        question=opened.question,
        choices=_choices(opened.answer_schema or {}),
        url=opened.url,
        deadline=opened.deadline,
        at_deadline=_at_deadline(opened) if incident is None or incident.open else "",
        options=tuple(OfferedOption(**asdict(each)) for each in opened.options),
        safe=opened.safe,
        why_no_retry="" if any(found.id == "retry" for found in opened.options) else why_no_retry(opened.fault),
        analysis=analysis.text if analysis is not None else "",
        analysis_by=analysis.model if analysis is not None else "",
    )


def _attempts(node: Node) -> Iterator[AttemptLine]:
    for each in node.tries:
        yield AttemptLine(
            number=each.attempt,
            ended_at=each.ended_at,
            seconds=each.seconds,
            cause=each.cause,
            message=each.message,
            wait_s=each.wait_s,
            wait_source=each.wait_source,
        )


def _choices(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """What may be typed to choose an answer, or each entry of it; empty: any value."""
    field = form_of(schema).single
    return tuple(choice_words(field)) if field is not None else ()


def _at_deadline(opened: IncidentOpened) -> str:
    if opened.deadline is None:
        return ""
    label = next((found.label for found in opened.options if found.id == opened.safe), opened.safe)
    return (
        f"{label} ({opened.safe}), at {opened.deadline.strftime('%Y-%m-%d %H:%M:%S')} UTC, if it is not answered before"
    )


def _operation(node: Node | None) -> str:
    if node is None:
        return "Unknown operation"
    what = {"llm": "model call", "tool": "tool", "value": "question"}.get(node.kind, node.kind)
    return f"{what} {node.name}"


def _metadata(opened: IncidentOpened) -> dict[str, Any]:
    fault = opened.fault
    found: dict[str, Any] = dict(fault.metadata)
    if fault.technical:
        found.setdefault("technical_details", fault.technical)
    if fault.suggestions:
        found.setdefault("suggestions", list(fault.suggestions))
    for key, value in (
        ("provider", fault.provider),
        ("http_status", fault.http_status),
        ("error_code", fault.code),
        ("retry_after", fault.retry_after_s),
        ("exception", opened.error_type),
        ("persistence", fault.persistence.value),
        ("rule", fault.rule_id),
    ):
        if value not in ("", None):
            found.setdefault(key, value)
    return found


def _summary(state: DurableRun) -> list[SummaryLine]:
    """Agents and steps that came to an end, in the order in which they began; calls of a model are too many to list."""
    ended = [
        node
        for node in state.nodes.values()
        if node.kind in ("agent", "tool") and node.phase in ("succeeded", "degraded", "failed", "timed_out")
    ]
    ended.sort(key=lambda node: node.opened_at.timestamp() if node.opened_at else 0.0)
    return [
        SummaryLine(number=number, objective=_objective(node), ok=node.phase in ("succeeded", "degraded"))
        for number, node in enumerate(ended[-20:], 1)
    ]


_OBJECTIVE_CHARS = 120


def _objective(node: Node) -> str:
    """What a step was for: an agent's task, a tool's arguments; shortened."""
    asked = node.info.get("task") or node.requested.get("arguments") or ""
    text = asked if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    cut = f"{text[: _OBJECTIVE_CHARS - 1]}…" if len(text) > _OBJECTIVE_CHARS else text
    return f"{node.kind} {node.name}: {cut}" if cut else f"{node.kind} {node.name}"
