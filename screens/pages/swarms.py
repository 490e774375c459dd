"""The swarms page: every run below its swarm, and starting a new one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from runtime.link.client.client import LinkError
from runtime.operations.requests.runs import ListSwarms
from screens.base.run_list_screen import RunListScreen
from screens.dialogs.start_form import StartScreen
from screens.render.layout import Row, Spans
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenRun
from screens.views.lists.swarms import (
    SWARM_COLUMNS,
    SWARM_KEY_PREFIX,
    ref_of,
    runs_of,
    swarm_key,
    swarm_lines,
    swarm_rows,
)
from screens.views.run.preview import preview_lines
from screens.views.run.sparkline import TokenTrends
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_cache import RowCache
from screens.widgets.line_list import LineList

log = logging.getLogger(__name__)


class SwarmsScreen(RunListScreen):
    """Swarms and their runs."""

    BINDING_GROUP_TITLE = "Runs"
    ACTS = RunListScreen.ACTS | {"start"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "start", "Start", tooltip="Start a run", id="swarms.start"),
    ]
    COLUMNS = SWARM_COLUMNS

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__(session)
        self._memory = RowCache()
        self._trends = TokenTrends()
        self._draft: dict[str, str] = {}  # of the form, when it was left
        self._kinds: dict[str, str] = {}

    def on_mount(self) -> None:
        self.run_worker(self._find_kinds(), group="kinds", exclusive=True, exit_on_error=False)

    async def _find_kinds(self) -> None:
        """Ask what the swarms are: agents of which framework, graphs, swarms of ours."""
        for host in self.link.host_names:
            try:
                found = await self.link.ask(ListSwarms(), where=host)
            except LinkError as exc:
                log.info("the kinds of swarms are not known: %s", exc)
                continue
            self._kinds |= {swarm_key(host, f"{found.root}/{ref}"): kind for ref, kind in found.kinds.items()}
        self.draw()

    def crumbs(self) -> Spans:
        return self.trail("runs")

    def empty_message(self, context: RenderContext) -> str:
        return f"No runs yet. {context.hints((context.key('swarms.start', 's'), 'starts one.'))}".rstrip()

    def all_rows(self) -> Sequence[Row]:
        context, summaries = self.session.render_context(), self.link.summaries
        self._trends.sample(summaries, context.now)
        return swarm_rows(summaries, context, self._trends, self.link.host_of, memory=self._memory, kinds=self._kinds)

    def preview(self, key: str) -> list[Spans]:
        context, summaries = self.session.render_context(), self.link.summaries
        if key.startswith(SWARM_KEY_PREFIX):
            return swarm_lines(key, summaries, context, self.link.host_of, self._kinds)
        return preview_lines(
            key, summaries, self.link.incidents, context, may_act=all(map(self.session.may_act, self.runs_of(key)))
        )

    def runs_of(self, key: str) -> Sequence[str]:
        return runs_of(key, self.link.summaries, self.link.host_of)

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Open a run; fold or unfold a swarm."""
        kind, _, name = message.key.partition(":")
        if kind == "run":
            self.post_message(OpenRun(name))
        else:
            self.row_list.toggle_fold()

    def action_start(self) -> None:
        """Open the form, with the swarm under the cursor in it."""
        if not self.may_act():
            return
        key, summaries = self.row_list.cursor_key, self.link.summaries
        host = next((self.link.host_of(run_id) for run_id in runs_of(key, summaries, self.link.host_of)), "")
        self.app.push_screen(StartScreen(self.session, ref_of(key, summaries), host, self._draft), self._started)

    def _started(self, run_id: str | None) -> None:
        if run_id:
            self.post_message(OpenRun(run_id))
