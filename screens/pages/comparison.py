"""The comparison page: where two runs first part, and what differs after that; a fork and its origin among them."""

from __future__ import annotations

from typing import Final

from textual.app import ComposeResult

from runtime.judgement.comparison.comparison_types import RunComparison
from runtime.link.client.client import LinkError
from runtime.operations.requests.runs import CompareRuns
from screens.base.polling_screen import PollingScreen
from screens.render.layout import Spans, span
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenRun
from screens.views.run.comparison import comparison_lines
from screens.widgets.text_page import TextPage

_MOST_SHOWN: Final = 200
"""Differences of nodes that are shown: a page is laid out as a whole."""


class ComparisonScreen(PollingScreen):
    """Compares the runs again when one of them has moved."""

    CSS_PATH = "comparison.tcss"
    BINDING_GROUP_TITLE = "Comparison"

    def __init__(self, session: ConsoleContext, left: str, right: str) -> None:
        super().__init__(session)
        self._left = left
        self._right = right
        self._found: RunComparison | None = None
        self._compared: object = None

    def body(self) -> ComposeResult:
        yield TextPage(links=True, id="comparison")

    def crumbs(self) -> Spans:
        return self.trail("comparison")

    async def fetch(self) -> None:
        """Ask, unless both runs stand where they stood when they were compared."""
        stand = [self.link.summaries.get(run_id) for run_id in (self._left, self._right)]
        if self._found is not None and stand == self._compared:
            return
        where = self.link.host_of(self._left)
        if where != self.link.host_of(self._right):
            raise LinkError("the runs are on two hosts: only runs of one workspace can be compared")
        found = await self.link.ask(CompareRuns(left=self._left, right=self._right), where=where)
        self._found, self._compared = found, stand

    def draw(self) -> None:
        self.show_problem()
        page, context = self.query_one(TextPage), self.session.render_context()
        if self._found is None:
            problem = context.sanitize_line(self._asker.problem)
            page.show([span(problem, "severity-error") if problem else span("Comparing the runs", "ink-muted")])
            return
        summaries = self.link.summaries
        shown = (summaries[run_id] for run_id in (self._left, self._right) if run_id in summaries)
        lines = comparison_lines(
            self._found,
            context,
            titles={run.id: run.shown_title for run in shown},
            most=_MOST_SHOWN,
            rest="orbiter-console diff --all shows them",
            linked=True,
        )
        page.show(lines, self._found.left)

    def on_text_page_followed(self, message: TextPage.Followed) -> None:
        """To the run that is referred to."""
        for run_id in (self._left, self._right):
            if message.text == f"[{run_id}]":
                self.post_message(OpenRun(run_id))
