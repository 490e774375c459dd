"""Shell completion: ids of runs, incidents and grants, the options of an incident, and themes.

click asks for it where the shell was told to (see docs/commands.md). What cannot be read completes nothing: an error
between two keys that are typed would not help, and the verb itself says it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from console.workspace import workspace
from orbiter.errors import OrbiterError
from screens.render.sanitize import sanitize_line

if TYPE_CHECKING:
    from runtime.record.journal import Journal

OpenJournal = Callable[[], "AbstractAsyncContextManager[Journal | None]"]
MAX_COMPLETIONS = 200
"""Runs that are offered, the newest."""


class CompletedArgument(click.types.StringParamType):
    """An argument that names something in the journal: a RUN, an INCIDENT, a GRANT, an OPTION of that incident."""

    def __init__(self, open_journal: OpenJournal, *what: str) -> None:
        self._open_journal = open_journal
        self.what = what

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """All that begin so, each with a word on what it is."""
        del param
        asked = [found.params.get("state") for found in (ctx, ctx.parent) if found is not None]
        state = next(filter(None, asked), None)
        if state:
            os.environ["ORBITER_STATE"] = os.path.abspath(state)  # noqa: PTH100 - as in console.cli
        import asyncio

        try:
            return asyncio.run(self._matching_items(str(ctx.params.get("incident") or ""), incomplete))
        except (OrbiterError, OSError):
            return []

    async def _matching_items(self, incident: str, begun: str) -> list[CompletionItem]:
        return [
            CompletionItem(value, help=sanitize_line(help_text, limit=60))
            async for value, help_text in self._candidates(incident)
            if value.startswith(begun)
        ]

    async def _candidates(self, incident: str) -> AsyncIterator[tuple[str, str]]:
        async with self._open_journal() as journal:
            if journal is None:
                return
            if "run" in self.what:
                for run in await journal.runs(MAX_COMPLETIONS):
                    yield run.id, f"{run.shown_phase}: {run.shown_title}"
            if "incident" in self.what:
                for found in await journal.incidents():
                    yield found.opened.incident_id, found.opened.what
            if "option" in self.what and (asked := await journal.incident(incident)) is not None:
                for option in asked[1].options:
                    yield option.id, option.label
            if "grant" in self.what:
                for grant in await journal.grants():
                    yield grant.grant_id, f"{grant.subject} {grant.verb} {grant.pattern}"


def complete_theme(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """The names of themes that begin so, the user's own too."""
    names = workspace().themes(os.environ).names()
    return [name for name in names if name.startswith(begun) and name == sanitize_line(name)]


_COMPLETED = ("run", "incident", "option", "grant", "run|incident")
"""Arguments that name something, as the help shows them."""


def with_completion(command: click.Command, open_journal: OpenJournal) -> click.Command:
    """`command`, with its arguments that name something completed from the journal."""
    for param in command.params:
        if isinstance(param, click.Argument):
            named = (param.metavar or param.name or "").lower()
            if named in _COMPLETED:
                param.type = CompletedArgument(open_journal, *named.split("|"))
    return command
