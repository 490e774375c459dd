"""The offer of the empty console: what a first run in its directory needs."""

from __future__ import annotations

import asyncio

from textual.app import App

from console.app.messages import ShowMessage
from console.first_files import EXAMPLE_FILE, SETTINGS_FILE, FileError, FirstFiles, plan_first_files
from console.workspace import workspace
from runtime.link.client.multi_client import MultiClient
from screens.dialogs.first_files import FirstFilesScreen
from screens.render.formatting import pluralize
from screens.render.layout import Span, Spans, span
from screens.shell.context import ConsoleContext
from screens.views.shared.render_context import RenderContext

_SHOWN = 6
"""Swarms that are named."""
_WHAT_FOR = {
    SETTINGS_FILE: "all settings with their defaults, as comments",
    EXAMPLE_FILE: "a swarm to begin with: it runs without a key and without a network",
}


async def offer_first_files(app: App[None], session: ConsoleContext, show: ShowMessage) -> None:
    """Look what is in the directory, say which files would be written, and write them after a `y`."""
    if isinstance(session.link, MultiClient):
        show("The runs are on other machines: orbiter-console init there writes what a first run needs.", "warning")
        return
    first = await asyncio.to_thread(plan_first_files, workspace().root)
    if not first.missing:
        show(f"Nothing is missing here: {_next_step(first, session.render_context())}", "info")
        return

    def write(agreed: bool | None) -> None:
        if not agreed:
            return
        try:
            wrote = first.write()
        except FileError as exc:
            show(str(exc), "error")
        else:
            show(f"written: {', '.join(wrote)}; {_next_step(first, session.render_context())}", "info")

    app.push_screen(FirstFilesScreen(session, _lines(first, session.render_context())), write)


def _next_step(first: FirstFiles, context: RenderContext) -> str:
    keys = f"{context.key('app.swarms', '2')} {context.key('swarms.start', 's')}"
    return f"{keys} starts {context.sanitize_line(first.first_swarm, 120)}"


def _lines(first: FirstFiles, context: RenderContext) -> list[Spans]:
    found: list[Spans] = [
        (Span("found   ", "ink-muted"), Span(context.sanitize_line(ref, 120)), Span(f"  {each.label}", "ink-muted"))
        for ref, each in list(first.found.items())[:_SHOWN]
    ]
    if len(first.found) > _SHOWN:
        found.append(span(f"        and {len(first.found) - _SHOWN} more", "ink-muted"))
    if not found:
        found = [span("found   no swarm, no agent and no guest in the Python files here", "ink-muted")]
    missing = first.missing
    files: list[Spans] = [
        (Span("writes  ", "ink-accent"), Span(name, "ink-strong", bold=True), Span(f"  {_WHAT_FOR[name]}", "ink-muted"))
        if name in missing
        else (Span("keeps   ", "ink-muted"), Span(f"{name}, which is there already"))
        for name in first.texts
    ]
    where = span(context.sanitize_line(str(first.root), 200), "ink-muted")
    asks = span(
        f"Write {pluralize(len(missing), 'file')}? Nothing that is there is changed, nothing is started.", "ink"
    )
    return [where, (), *found, (), *files, (), asks]
