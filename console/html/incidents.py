"""The incidents of a run: explanation, decision and who, options, report."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from console.html.markup import Html, element, folded, join, preformatted, printed, text
from console.html.size_limit import SizeLimit
from runtime.judgement.reports.analysis_prompt import cited_events
from runtime.judgement.reports.explanation.explain import Explanation, explain
from runtime.judgement.reports.incident_report import build_report
from runtime.record.state.durable_run import DurableRun, Incident
from screens.render.formatting import pluralize
from screens.views.run.report import decision_lines, report_lines, traceback_lines
from screens.views.shared.render_context import RenderContext

_KIND_WORDS: Final = {"failure": "Failure", "in doubt": "In doubt", "no progress": "No progress"}


def incident_list(
    state: DurableRun, numbers: dict[str, int], shown_events: frozenset[int], now: datetime, room: int
) -> Html:
    """Every incident, the open ones first; what does not fit into `room` bytes is counted."""
    limit = SizeLimit(room)
    incidents = sorted(state.incidents.values(), key=lambda each: not each.open)
    found = [
        article
        for each in incidents
        if limit.takes(article := _article(each, state, numbers, shown_events, RenderContext(now)))
    ]
    if not incidents:
        return element("p", "The run asked for no decision.", class_="fact")
    if limit.left_out:
        found.append(element("p", f"Left out {pluralize(limit.left_out, 'incident')}.", class_="gap"))
    return join(found)


def _article(
    incident: Incident, state: DurableRun, numbers: dict[str, int], shown: frozenset[int], context: RenderContext
) -> Html:
    explanation = explain(incident, state)
    opened = incident.opened
    kind = _KIND_WORDS.get(explanation.kind, explanation.kind.capitalize())
    number = numbers.get(opened.node_id)
    where = " › ".join(opened.lineage) or "the run"
    place = element("a", text(where, 300), href=f"#n{number}") if number is not None else text(where, 300)
    head = element(
        "p",
        element("b", kind, class_="kind"),
        place,
        element("small", f"{opened.ts:%H:%M:%S} UTC · {opened.incident_id}"),
        class_="head",
    )
    (_, what), *others = explanation.rows()
    rows = [join((element("dt", label), element("dd", with_links(told, shown)))) for label, told in others]
    report = printed(report_lines(build_report(state, opened), context, incident))
    traced = traceback_lines(build_report(state, opened), context)
    folds = [
        *_options(incident, explanation),
        folded("full report", report),
        *((folded("traceback", printed(traced)),) if traced else ()),
    ]
    decision = printed(decision_lines(incident, context)) if not incident.open else _waiting(incident)
    parts = (
        head,
        element("h3", with_links(what, shown)),
        element("div", element("dl", *rows), element("div", decision, class_="decision"), class_="columns"),
        element("div", *folds, class_="folds"),
    )
    tone = "open" if incident.open else incident.state
    return element("article", *parts, class_=f"incident {tone}")


def with_links(told: str, shown: frozenset[int]) -> Html:
    """A text whose citations of events (``[#41]``) lead to them, where they are in the page."""
    parts: list[Html] = []
    at = 0
    for start, end, seq in cited_events(told, max(shown, default=0)):
        if seq in shown:
            cited = element("a", told[start:end], href=f"#e{seq}")
            parts += [text(told[at:start], 4000), cited] if at < start else [cited]
            at = end
    return join((*parts, text(told[at:], 4000)) if at < len(told) else parts)


def _waiting(incident: Incident) -> Html:
    opened = incident.opened
    until = ""
    if opened.deadline is not None:
        until = f" Without one, {opened.safe} takes effect at {opened.deadline:%Y-%m-%d %H:%M:%S} UTC."
    return element("p", f"It waits for an answer.{until}")


def _options(incident: Incident, explanation: Explanation) -> Iterator[Html]:
    rows = [
        join((element("dt", option.label), element("dd", found.text)))
        for option in incident.opened.options
        if (found := explanation.consequences.get(option.id)) is not None
    ]
    if rows:
        yield folded("what each option does", element("dl", *rows))
    if incident.opened.url:
        yield folded("address to open", preformatted(incident.opened.url))
