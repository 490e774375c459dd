"""Keeps the projection up to date: follows the journal and reads the summaries of changed runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable
from itertools import islice
from typing import Protocol

from runtime.link.server.projection import MAX_FINISHED_RUNS, WorkspaceProjection
from runtime.link.wire.protocol import AHEAD, WorkspaceChange
from runtime.operations.queries import read_proposals
from runtime.record.inbox_row import InboxRow
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.record.state.summary import ALL_RUNS, RUN_ACTIVE, RUN_TERMINAL, Summary

log = logging.getLogger(__name__)

PROPOSALS_AT_ONCE = 50
"""Runs whose proposals are read before it is looked again what else has changed."""
RELOAD_RETRY_S = 1.0
FIGURES_EVERY_S = 0.25
"""How often, in seconds, a run is told of again where only its figures changed (steps, tokens, cost): a busy run moves
many times a second, and each message costs a slow line and a console.
"""


class ProjectionListener(Protocol):
    """Whom the follower tells; nothing here waits."""

    def broadcast(self, line: bytes | None, *, ahead: bytes = b"") -> None:
        """The picture changed; `line` says how, None that it did not. `ahead` says it to a console whose picture is on
        its way: `line` waits behind that.
        """

    def on_event(self, event: ev.JournalEvent) -> None:
        """An event of a run, in the order of its `seq`."""

    def on_loaded(self) -> None:
        """The picture is there, and changes are told from now on."""

    def reset(self) -> None:
        """The picture was loaded again: what happened meanwhile is not known one by one."""


class Projector:
    """See the module. `serve` runs while a console looks; `rest` frees what it had, so that a workspace with very many
    runs takes no memory while none does.
    """

    def __init__(self, journal: Journal, projection: WorkspaceProjection, listener: ProjectionListener) -> None:
        self._journal = journal
        self._projection = projection
        self._listener = listener
        self._at = 0
        self._moved: set[str] = set()
        self._inbox: set[str] = set()
        """Runs whose incidents have to be read again."""
        self._grants = False
        self._proposals: set[str] = set()
        """Runs of which it is not known yet what agents propose."""
        self._told: set[str] = set()
        """Runs that were told of since the last `_tell_figures`."""
        self._later: set[str] = set()
        """Those of them whose figures have changed since."""
        self._wake = asyncio.Event()
        self.loaded = False
        """Whether the projection has the workspace."""

    async def serve(self) -> None:
        """Take the whole picture, tell the listener, then keep it up to date, until cancelled."""
        while not self.loaded:
            try:
                await self.load()
                self.loaded = True
            except Exception:  # whatever it is, consoles wait for the picture
                log.exception("cannot load the picture; trying again")
                await asyncio.sleep(RELOAD_RETRY_S)
        self._listener.on_loaded()
        await asyncio.gather(self.follow(), self.refresh())

    def rest(self) -> None:
        """Forget everything, after `serve` was cancelled: who comes next has it loaded again."""
        self.loaded = False
        self._moved, self._inbox, self._proposals, self._grants = set(), set(), set(), False
        self._told, self._later = set(), set()
        self._projection.forget()

    async def load(self) -> None:
        """Take the whole picture from the journal. Raises `JournalError`."""
        self._at = await self._journal.position()
        newest = await self._journal.runs(MAX_FINISHED_RUNS)
        known = {found.id for found in newest}
        active = [found for found in await self._journal.runs(ALL_RUNS, states=RUN_ACTIVE) if found.id not in known]
        incidents = await self._journal.incidents()
        self._projection.load([*newest, *active], incidents, await self._journal.grants())
        self._proposals = {found.run_id for found in incidents}
        self._wake.set()

    async def follow(self) -> None:
        """Take in what happens, until the journal is closed."""
        while True:
            tail = self._journal.tail(None, self._at)
            try:
                async for batch in tail:
                    self._handle_batch(batch)
                return  # the journal was closed
            except Exception:  # whatever it is, consoles must not be left with an old picture
                log.exception("cannot follow the journal; trying again")
                await asyncio.sleep(RELOAD_RETRY_S)
                await self._reload()
            finally:
                if isinstance(tail, AsyncGenerator):
                    await tail.aclose()

    async def refresh(self) -> None:
        """Read summaries of the runs that moved while the last ones were being read."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            moved, self._moved = self._moved, set()
            inbox, self._inbox = self._inbox, set()
            grants, self._grants = self._grants, False
            try:
                if grants:
                    self._listener.broadcast(self._projection.set_grants(await self._journal.grants()))
                for run_id in moved:
                    await self._refresh_run(run_id, inbox=run_id in inbox)
                await self._read_proposals()
            except Exception:
                log.exception("cannot read summaries; trying again")
                self._moved |= moved
                self._inbox |= inbox
                self._grants |= grants
                await asyncio.sleep(RELOAD_RETRY_S)
                self._wake.set()

    async def _reload(self) -> None:
        try:
            await self.load()
        except Exception:
            log.exception("cannot load the picture")
        else:
            self._listener.reset()

    def _handle_batch(self, batch: Iterable[ev.JournalEvent]) -> None:
        for event in batch:
            if event.run_id == ev.WORKSPACE_RUN_ID:
                self._grants = True
                if isinstance(event, ev.BreakerChanged | ev.FreezeSet | ev.FreezeLifted):
                    self._listener.broadcast(self._projection.touch())
                continue
            self._moved.add(event.run_id)
            self._listener.on_event(event)
            match event:
                case ev.IncidentOpened():
                    self._listener.broadcast(self._incident_opened(event))
                case ev.AnswerProposed():
                    self._listener.broadcast(self._projection.propose(event))
                case ev.IncidentAnswered() | ev.IncidentClosed():
                    self._close(event.incident_id)
                case ev.RunFinished():
                    self._inbox.add(event.run_id)
        self._wake.set()

    def _incident_opened(self, event: ev.IncidentOpened) -> bytes | None:
        """Of a run that consoles have not heard of yet, an incident is told after the run."""
        found = self._projection.summaries.get(event.run_id)
        if found is None:
            self._inbox.add(event.run_id)
            return None
        return self._projection.open(InboxRow(run_id=event.run_id, title=found.shown_title, opened=event))

    def _close(self, incident_id: str) -> None:
        ahead = WorkspaceChange(position=AHEAD, closed=incident_id)
        self._listener.broadcast(self._projection.close(incident_id), ahead=ahead.line())

    async def _refresh_run(self, run_id: str, *, inbox: bool) -> None:
        summary = await self._journal.summary(run_id)
        if summary is None:
            return
        known = self._projection.summaries.get(run_id)
        if run_id in self._told and not inbox and known is not None and _standing(known) == _standing(summary):
            self._later.add(run_id)
            return
        if not self._told:
            asyncio.get_running_loop().call_later(FIGURES_EVERY_S, self._tell_figures)
        self._told.add(run_id)
        self._listener.broadcast(self._projection.set_summary(summary))
        if inbox:
            await self._refresh_inbox(summary)

    def _tell_figures(self) -> None:
        self._moved |= self._later
        self._told, self._later = set(), set()
        self._wake.set()

    async def _refresh_inbox(self, summary: Summary) -> None:
        found = [] if summary.state in RUN_TERMINAL else await self._journal.incidents(summary.id)
        if summary.id in self._moved:  # the run moved on while we read: what we read may be old
            self._inbox.add(summary.id)
            return
        rows = {row.opened.incident_id: row.opened for row in found}
        for incident_id in [key for key, row in self._projection.incidents.items() if row.run_id == summary.id]:
            if incident_id not in rows:
                self._close(incident_id)
        for opened in rows.values():
            self._listener.broadcast(
                self._projection.open(InboxRow(run_id=summary.id, title=summary.shown_title, opened=opened))
            )
        self._proposals.add(summary.id)

    async def _read_proposals(self) -> None:
        """Read what agents proposed before this began to follow: of some runs, then the rest in the next round."""
        chosen = set(islice(self._proposals, PROPOSALS_AT_ONCE))
        found = await read_proposals(self._journal, chosen)
        self._proposals -= chosen - self._moved  # of a run that moved on meanwhile this may be old
        for proposals in found.values():
            for each in proposals:
                if each.run_id not in self._moved:
                    self._listener.broadcast(self._projection.propose(each))
        if self._proposals:
            self._wake.set()


def _standing(summary: Summary) -> tuple[object, ...]:
    """What people are told of a run at once: all but its figures."""
    return summary.shown_phase, summary.open_incidents, summary.freezing, summary.shown_title, summary.error
