"""Follows a run in the linear mode, as lines or JSON, and has its incidents answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from console.linear.event_lines import EventLines, StyledLine
from console.linear.file_lines import file_lines
from console.linear.grant_preview import grant_preview_lines
from console.linear.operators import Operator, OperatorAnswer
from console.output import print_json, print_line, print_note, supports_unicode
from runtime.judgement.comparison.file_write import written_text
from runtime.judgement.recovery.option_table import STANDING_LIFETIMES, effect_of
from runtime.operations.answer_params import InvalidCommand
from runtime.operations.context import OperationError, Origin
from runtime.operations.operations import Operations
from runtime.operations.requests.answers import AnswerIncident, CompareWrite, PreviewGrant
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun

POLL_S = 0.5
STUCK_POLLS = 4

EventPrinter = Callable[[ev.JournalEvent, DurableRun], bool]
"""Shows an event; whether there was anything to show."""


def present_lines() -> EventPrinter:
    """Shows events as lines, incidents with report and options."""
    lines = EventLines(ascii_only=not supports_unicode())

    def show(event: ev.JournalEvent, state: DurableRun) -> bool:
        found = lines.lines_for(event, state)
        if isinstance(event, ev.IncidentOpened):
            found = [*found, *lines.incident(event, state)]
        for line in found:
            _print_styled(line)
        return bool(found)

    return show


def present_json() -> EventPrinter:
    """Shows events as they are, one object per line."""

    def show(event: ev.JournalEvent, state: DurableRun) -> bool:
        print_json(ev.event_fields(event))
        return True

    return show


def _print_styled(line: StyledLine) -> None:
    print_line(line.text, style=line.style, framed=line.text.startswith(" "))


async def follow_run(
    journal: Journal, operations: Operations, run_id: str, present: EventPrinter, operator: Operator | None
) -> DurableRun:
    """Show a run until it ends, or until it waits for a person who is not here, or the operator here leaves."""
    state = DurableRun()
    desk_clerk = IncidentAnswering(operations, operator) if operator is not None else None
    tasks = {
        asyncio.create_task(_show(journal, run_id, state, present, desk_clerk)),
        asyncio.create_task(desk_clerk.run() if desk_clerk is not None else _until_stuck(state)),
    }
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return state


async def _show(
    journal: Journal, run_id: str, state: DurableRun, present: EventPrinter, desk_clerk: IncidentAnswering | None
) -> None:
    async for batch in journal.tail(run_id):
        said = False
        for event in batch:
            state.apply(event)
            said = present(event, state) or said
        if state.terminal or (desk_clerk is None and _left_waiting(state)):
            return
        if desk_clerk is not None:
            desk_clerk.look_at(state, said=said)


def _left_waiting(state: DurableRun) -> bool:
    """Whether the run was parked for a person, or for an instant that is still to come."""
    if state.phase != "waiting":
        return False
    return _waits_for_person(state) or (state.wake_at is not None and state.wake_at > ev.utc_now())


def _waits_for_person(state: DurableRun) -> bool:
    """Whether an open incident waits for an answer. One whose deadline has passed gets its default in a moment."""
    now = ev.utc_now()
    return any(each.opened.deadline is None or each.opened.deadline > now for each in state.open_incidents)


async def _until_stuck(state: DurableRun) -> None:
    """Returns when everything that is open waits for a person, and has for a while; or when the run is frozen.

    The process that drives the run may keep it in memory for minutes before it is parked; a follower need not wait.
    """
    still_polls, seen = 0, 0
    while still_polls < STUCK_POLLS:
        await asyncio.sleep(POLL_S)
        stuck = is_drained(state) if state.phase == "frozen" else _waits_for_person(state) and everything_waits(state)
        still = state.last_seq == seen and stuck
        still_polls, seen = still_polls + 1 if still else 0, state.last_seq


def everything_waits(state: DurableRun) -> bool:
    """Whether no open node is at work. A node with open children is as they are."""
    open_nodes = [node for node in state.nodes.values() if not node.terminal]
    parents = {node.parent_id for node in open_nodes}
    return all(node.phase == "waiting" for node in open_nodes if node.id not in parents)


def is_drained(state: DurableRun) -> bool:
    """Whether nothing of a frozen run is under way any more."""
    return state.parked is not None or all(node.in_flight is None for node in state.nodes.values())


class IncidentAnswering:
    """Puts open incidents before an operator, one after the other; takes back what another operator answered."""

    def __init__(self, operations: Operations, operator: Operator) -> None:
        self._operations = operations
        self._operator = operator
        self._state = DurableRun()
        self._changed = asyncio.Event()
        self._handled: set[str] = set()

    def look_at(self, state: DurableRun, *, said: bool = False) -> None:
        """The run has changed; `said`: lines told of it, and pushed up what stood there."""
        self._state = state
        self._changed.set()
        if said:
            self._operator.remind()

    async def run(self) -> None:
        """Ask until cancelled; returns when the operator leaves."""
        while True:
            self._changed.clear()
            opened = next((each.opened for each in self._state.open_incidents if self._is_open(each.opened)), None)
            if opened is None:
                await self._changed.wait()
                continue
            asking = asyncio.create_task(self._ask(opened))
            try:
                if not await self._await_answer(asking, opened):
                    return
            finally:
                asking.cancel()

    async def _await_answer(self, asking: asyncio.Task[bool], opened: ev.IncidentOpened) -> bool:
        """Wait for the answer, or for the question to be settled elsewhere; False: the operator leaves."""
        while True:
            changed = asyncio.create_task(self._changed.wait())
            await asyncio.wait({asking, changed}, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            if asking.done():
                self._handled.add(opened.incident_id)
                return asking.result()
            self._changed.clear()
            if not self._is_open(opened):
                print_note(f"incident {opened.incident_id} was answered elsewhere first")
                return True

    def _is_open(self, opened: ev.IncidentOpened) -> bool:
        incident = self._state.incidents[opened.incident_id]
        return incident.open and opened.incident_id not in self._handled

    async def _ask(self, opened: ev.IncidentOpened) -> bool:
        await self._tell_file(opened)
        while True:
            given = await self._operator.decide(self._state, opened)
            if given is None:
                return False
            try:
                if not await self._confirm(opened, given):
                    print_note(f"nothing is granted: {opened.incident_id} still waits")
                    continue
                answer = AnswerIncident(
                    incident_id=opened.incident_id,
                    option=given.option,
                    params=given.params,
                    revision=opened.revision,
                    reason=given.reason,
                )
                await self._operations.run(answer, Origin(self._operator.by))
            except OperationError as exc:
                print_note(f"the answer was not taken: {exc}")
            except InvalidCommand as exc:
                self._operator.answer_refused(opened, given, str(exc))
                continue
            return True

    async def _tell_file(self, opened: ev.IncidentOpened) -> None:
        """Say what a permission to write a file would change on disk; a rule is not told."""
        if written_text(opened.action) is None or self._operator.by.channel == "rule":
            return
        try:
            found = await self._operations.run(CompareWrite(incident_id=opened.incident_id), Origin(self._operator.by))
        except OperationError:
            return  # the file is not to be seen from here: the call itself is shown with the incident
        for line in file_lines(found, ascii_only=not supports_unicode()):
            print_note(line)

    async def _confirm(self, opened: ev.IncidentOpened, given: OperatorAnswer) -> bool:
        """Whether the operator still wants it. A grant that lasts is shown first: what its words would have matched."""
        if effect_of(given.option) != "grant" or given.params.get("for") not in STANDING_LIFETIMES:
            return True
        preview = PreviewGrant(incident_id=opened.incident_id, params=given.params)
        found = await self._operations.run(preview, Origin(self._operator.by))
        return await self._operator.confirm(grant_preview_lines(found, ascii_only=not supports_unicode()))
