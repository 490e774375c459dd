"""The page: one file with its own style, its own small script, and the export that it was made from."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Final

from console.html.cost import cost_table
from console.html.event_list import event_list
from console.html.incidents import incident_list
from console.html.markup import Html, element, text
from console.html.run_tree import number_nodes, run_tree
from console.html.size_limit import DEFAULT_SIZES, ReportSizes, SizeLimit
from console.html.story import story
from console.html.timeline import timeline
from runtime.judgement.reports.capsule import CAPSULE_TYPE, pack_capsule
from runtime.judgement.reports.export_file import read_export
from runtime.record.state.durable_run import DurableRun
from screens.render.formatting import format_cost, format_duration, pluralize
from screens.render.glyphs import UNICODE_GLYPHS, state_word

_SECTIONS: Final = (
    ("what", "What happened"),
    ("incidents", "Incidents"),
    ("timeline", "Timeline"),
    ("tree", "Tree"),
    ("cost", "Cost"),
    ("events", "Events"),
)


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
    events = event_list(export, numbers, sizes.events)
    bodies = {
        "what": element("ol", *(element("li", line) for line in story(state, export.events)), class_="story"),
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
        element("main", *sections),
        element("footer", element("p", note), element("p", kept)),
        capsule,
        element("script", Html(_resource("report.js"))),
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
    end = state.finished_at or state.updated_at
    facts = (
        state.id,
        f"{state.created_at:%Y-%m-%d %H:%M}" if state.created_at else "",
        format_duration((end - state.created_at).total_seconds()) if end and state.created_at else "",
        pluralize(state.steps, "step"),
        pluralize(len(state.incidents), "incident"),
        format_cost(state.cost_usd),
    )
    sign = UNICODE_GLYPHS.state.get(phase, "?")
    links = [element("a", title, href=f"#{name}") for name, title in _SECTIONS]
    return element(
        "header",
        element("p", element("span", f"{sign} {state_word(phase)}", class_=f"badge s-{phase}"), class_="state-line"),
        element("h1", text(state.shown_title or state.id, 160)),
        element("p", " · ".join(fact for fact in facts if fact), class_="fact"),
        element("nav", *links),
        _TOOLS,
    )


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
