"""`waits`: what a run, or a node of it, waits for, down to what holds it up."""

from __future__ import annotations

import click

from console.output import emit, say, speaks_unicode
from console.verbs.base import (
    reading,
    run_named,
    state_of,
    verb,
)
from runtime.judgement.reports.wait_graph import blocked
from runtime.operations.run_controls import Controls
from runtime.record.state.events import utc_now
from screens.render.glyphs import ASCII, UNICODE
from screens.render.layout import plain
from screens.views.run.waits import waits_lines
from screens.views.shared.render_context import Looks


@verb()
@click.argument("run")
@click.argument("node", default="")
async def waits(run: str, node: str, *, as_json: bool) -> int:
    """Say what a run waits for, or a node of it (its id, or a unique end of it), and how much goes on after that."""
    async with reading() as journal:
        summary = await run_named(journal, run)
        assert journal is not None
        node_id = await Controls(journal).node_named(summary.id, node) if node else ""
        state = await state_of(journal, summary.id)
    found = blocked(state, node_id)
    if as_json:
        emit({"id": summary.id, "state": state.shown, **found.model_dump(mode="json")})
        return 0
    looks = Looks(utc_now(), UNICODE if speaks_unicode() else ASCII)
    for line in waits_lines(found, looks):
        say(plain(line))
    return 0
