"""`waits`: what a run, or a node of it, waits for, down to what holds it up."""

from __future__ import annotations

import click

from console.output import print_json, print_line, supports_unicode
from console.verbs.base import (
    cli_origin,
    find_run,
    open_for_reading,
    operations_on,
    verb,
)
from console.verbs.unserved_runs import lacks_driver, needs_driver, print_undriven
from runtime.judgement.reports.report_types import WaitChain
from runtime.judgement.reports.wait_graph import without_runtime
from runtime.operations.requests.runs import ShowWaits
from runtime.record.state.events import utc_now
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.layout import plain_text
from screens.views.run.waits import waits_lines
from screens.views.shared.render_context import RenderContext


@verb(reads=True)
@click.argument("run")
@click.argument("node", default="")
async def waits(run: str, node: str, *, as_json: bool) -> int:
    """Show what a run, or one NODE of it, waits for, and what continues after that.

    NODE is an id or its last characters.
    """
    async with open_for_reading() as journal:
        summary = await find_run(journal, run)
        assert journal is not None
        found = await operations_on(journal).run(ShowWaits(run_id=summary.id, node_id=node), cli_origin())
    undriven = await lacks_driver()
    _print(without_runtime(found) if undriven else found, as_json=as_json)
    if undriven and needs_driver(summary.public()):
        print_undriven()
    return 0


def _print(found: WaitChain, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    context = RenderContext(utc_now(), UNICODE_GLYPHS if supports_unicode() else ASCII_GLYPHS)
    for line in waits_lines(found, context):
        print_line(plain_text(line))
