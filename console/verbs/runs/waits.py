"""`waits`: what a run, or a node of it, waits for, down to what holds it up."""

from __future__ import annotations

import click

from console.output import print_json, print_line, supports_unicode
from console.verbs.base import (
    find_run,
    open_for_reading,
    state_of,
    verb,
)
from runtime.judgement.reports.wait_graph import wait_chain
from runtime.operations.run_controls import RunControls
from runtime.record.state.events import utc_now
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.layout import plain_text
from screens.views.run.waits import waits_lines
from screens.views.shared.render_context import RenderContext


@verb()
@click.argument("run")
@click.argument("node", default="")
async def waits(run: str, node: str, *, as_json: bool) -> int:
    """Say what a run waits for, or a node of it (its id, or a unique end of it), and how much goes on after that."""
    async with open_for_reading() as journal:
        summary = await find_run(journal, run)
        assert journal is not None
        node_id = await RunControls(journal).node_named(summary.id, node) if node else ""
        state = await state_of(journal, summary.id)
    found = wait_chain(state, node_id)
    if as_json:
        print_json({"id": summary.id, "state": state.shown_phase, **found.model_dump(mode="json")})
        return 0
    looks = RenderContext(utc_now(), UNICODE_GLYPHS if supports_unicode() else ASCII_GLYPHS)
    for line in waits_lines(found, looks):
        print_line(plain_text(line))
    return 0
