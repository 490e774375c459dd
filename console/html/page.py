"""The page: one file with its own style, its own small script, and the export that it was made from."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Final

from console.html.cost import cost_table
from console.html.event_list import event_list
from console.html.incidents import incident_list
from console.html.markup import Html, element, join, preformatted, text
from console.html.run_tree import number_nodes, run_tree
from console.html.size_limit import DEFAULT_SIZES, ReportSizes, SizeLimit
from console.html.story import RESULT_LINE_CHARS, story
from console.html.timeline import timeline
from runtime.judgement.reports.capsule import CAPSULE_TYPE, pack_capsule
from runtime.judgement.reports.export_file import read_export
from runtime.record.state.durable_run import DurableRun
from screens.render.formatting import format_cost, format_count, format_duration, restarts_text
from screens.render.glyphs import UNICODE_GLYPHS, state_word

_SECTIONS: Final = (
    ("what", "What happened"),
    ("timeline", "Timeline"),
    ("incidents", "Incidents"),
    ("tree", "Tree"),
    ("cost", "Cost"),
    ("events", "Events"),
)


_RESULT_CHARS: Final = 8_000
"""Characters of a run's result that are shown at the beginning."""


def html_report(exported: str, sizes: ReportSizes = DEFAULT_SIZES) -> str:
    """The report of a run.

    Args:
        exported: the text of an export file, which is redacted. The page shows what it says and holds it.
        sizes: what each part may have; what does not fit is counted in its place.

    Returns:
        The page. It loads nothing, and `read_export` reads it.

    Raises:
        runtime.judgement.reports.export_file.InvalidExport: the text is not an export.
    """
    export = read_export(exported)
    state, now = export.state(), export.header.exported_at
    numbers = number_nodes(state)
    events, told = event_list(export, numbers, sizes.events), story(state, export.events)
    bodies = {
        "what": join((element("ol", *(element("li", line) for line in told), class_="story"), *_result(state))),
        "incidents": incident_list(state, numbers, events.shown, now, sizes.incidents),
        "timeline": timeline(state, numbers, now, sizes.bars),
        "tree": run_tree(state, numbers, sizes),
        "cost": cost_table(state),
        "events": events.html,
    }
    sections = [element("section", element("h2", title), bodies[name], id=name) for name, title in _SECTIONS]
    by = f" by {export.header.exported_by}" if export.header.exported_by else ""
    part = f" Only what concerns incident {export.header.incident_id}." if export.header.incident_id else ""
    note = f"Exported{by} on {now:%Y-%m-%d %H:%M:%S} UTC, redacted.{part} All times are UTC."
    capsule, kept = _capsule(exported, sizes.capsule)
    body = element(
        "body",
        _top(state),
        element(
            "div",
            element("nav", *(element("a", title, href=f"#{name}") for name, title in _SECTIONS)),
            _TOOLS,
            class_="bar",
        ),
        element("main", *sections),
        element("footer", element("p", note), element("p", kept)),
        capsule,
        element("script", Html(_resource("report.js"))),
        class_=f"phase s-{state.shown_phase.replace('_', '-')}",
    )
    title = f"{state.shown_title} · {state_word(state.shown_phase)}"
    return f"<!doctype html>\n{element('html', _head(title), body, lang='en')}\n"


def _head(title: str) -> Html:
    digest = base64.b64encode(hashlib.sha256(_resource("report.js").encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        Html('<meta charset="utf-8">'),
        # Our own words: the gate for foreign text would cut a digest at its end.
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", text(title, 160)),
        element("style", Html(_resource("report.css"))),
    )


def _top(state: DurableRun) -> Html:
    phase = state.shown_phase
    sign = UNICODE_GLYPHS.state.get(phase, "?")
    began = f"{state.created_at:%Y-%m-%d %H:%M:%S} UTC" if state.created_at else ""
    facts = (state.id, began, state.ref.rpartition("/")[2])
    tiles = [element("div", element("dt", name), element("dd", *told)) for name, *told in _figures(state)]
    return element(
        "header",
        element("p", element("span", f"{sign} {state_word(phase)}", class_=f"badge s-{phase}"), class_="state-line"),
        element("h1", text(state.shown_title or state.id, 160)),
        element("p", " · ".join(fact for fact in facts if fact), class_="fact"),
        element("dl", *tiles, class_="tiles"),
    )


def _figures(state: DurableRun) -> Iterator[tuple[str, ...]]:
    """Each figure of the head: its name, its value, and a detail where there is one."""
    end = state.finished_at or state.updated_at
    if end and state.created_at:
        lives = element("small", restarts_text(state.restarts)) if state.restarts else ""
        yield "time", format_duration((end - state.created_at).total_seconds()), lives
    yield "model calls", f"{state.llm_calls:,}"
    yield "tool calls", f"{state.tool_calls:,}"
    tokens = f"{format_count(state.input_tokens)} in, {format_count(state.output_tokens)} out"
    yield "tokens", format_count(state.input_tokens + state.output_tokens), element("small", tokens)
    unpriced = element("small", f"{state.unpriced_calls:,} without a price") if state.unpriced_calls else ""
    yield "cost", format_cost(state.cost_usd) or "unknown", unpriced
    waiting = len(state.open_incidents)
    still = element("small", f"{waiting} open", class_="warn") if waiting else ""
    yield "incidents", f"{len(state.incidents):,}", still


def _result(state: DurableRun) -> Iterator[Html]:
    """What the run came to, where one line is too little for it."""
    output = state.output
    if len(output) > RESULT_LINE_CHARS or "\n" in output.strip():
        yield element("h3", "Result")
        yield element("div", preformatted(output[:_RESULT_CHARS]), class_="result")
        if len(output) > _RESULT_CHARS:
            more = (
                f"{len(output) - _RESULT_CHARS:,} more characters are in the tree, or in the file that this page holds."
            )
            yield element("p", more, class_="gap")


_TOOLS: Final = Html(
    '<div id="tools" hidden><input id="find" type="search" placeholder="Find (/)" aria-label="Find in this report">'
    '<output id="found"></output><button id="unfold" type="button">Unfold all</button>'
    '<button id="fold" type="button">Fold all</button></div>'
)
"""For the script, which shows it: without scripts it would do nothing."""


def _capsule(exported: str, room: int) -> tuple[Html, str]:
    """The capsule's element, and what the page says of it."""
    block = Html(f'<script type="{CAPSULE_TYPE}" data-encoding="zlib+base64">\n{pack_capsule(exported)}\n</script>')
    if SizeLimit(room).takes(block):
        return (
            block,
            "This file holds the run: orbiter-console replay FILE opens it in a terminal, with nothing left out.",
        )
    return Html(""), "The run itself is too large for this file: orbiter-console export RUN -o FILE writes it."


@cache
def _resource(name: str) -> str:
    return resources.files("console.html").joinpath(name).read_text("utf-8")
