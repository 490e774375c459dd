"""`diff`: the steps in which two runs differ, by path."""

from __future__ import annotations

from typing import Final

import click

from console.output import print_json, print_line, supports_unicode
from console.verbs.base import BadInput, cli_origin, find_run, open_for_reading, operations_on, verb
from runtime.operations.requests.runs import CompareRuns
from runtime.record.state.events import utc_now
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.layout import plain_text
from screens.views.run.comparison import comparison_lines
from screens.views.shared.render_context import RenderContext

_MOST_SHOWN: Final = 20


@verb(reads=True)
@click.argument("left", metavar="RUN")
@click.argument("right", metavar="RUN")
@click.option("--all", "every", is_flag=True, help=f"All differences, not only the first {_MOST_SHOWN}.")
async def diff(left: str, right: str, *, every: bool, as_json: bool) -> int:
    """Show the steps in which two runs differ, the first one first: a fork and its origin, for example."""
    async with open_for_reading() as journal:
        first, second = await find_run(journal, left), await find_run(journal, right)
        if first.id == second.id:
            raise BadInput(f"{left} and {right} are one run, {first.id}: name two, as in: diff RUN FORK")
        assert journal is not None
        found = await operations_on(journal).run(CompareRuns(left=first.id, right=second.id), cli_origin())
    if as_json:
        print_json(found)
        return 0
    context = RenderContext(utc_now(), UNICODE_GLYPHS if supports_unicode() else ASCII_GLYPHS)
    titles = {run.id: run.shown_title for run in (first, second)}
    for line in comparison_lines(found, context, titles=titles, most=None if every else _MOST_SHOWN):
        print_line(plain_text(line), framed=True)
    return 0
