"""Bulk answers: one answer for many equal incidents, first for one, then for the rest.

An answer proved right when its step, or its run, came to its end without the same incident opening again in that run; a
step that was to be made to work, and failed, did not. The one that goes first may have been answered by itself before.

A bulk answer is for once only: it makes no standing grant and reaches no further than its step. What may have happened
is repeated only where an operator looked at this very one: that one did not happen says nothing of the others. Of every
item it is told what came of it; those that fail again stay open as new incidents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from msgspec import structs

from runtime.judgement.recovery.answer_wording import wording_of
from runtime.judgement.recovery.option_table import OPTIONS, effect_of
from runtime.judgement.recovery.options import needs_look
from runtime.operations.answer_params import InvalidCommand
from runtime.operations.decisions import Decisions
from runtime.operations.lookup import find_incident
from runtime.operations.queries import events_with_marks
from runtime.operations.requests.answers import AnswerEqual
from runtime.record.inbox_row import InboxRow
from runtime.record.journal import AnswerAccepted, Journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun

_PENDING_STATES = "nothing happened yet: does anything drive it?"
_NEEDS_LOOK = 50
"""Incidents of one fingerprint, the latest, among which the last answer is looked for."""
OutcomeState = Literal["went on", "failed again", "refused", "not proven", "held"]
"""held: not answered, since the first one did not prove right."""


@dataclass(slots=True, frozen=True)
class BulkItem:
    """What became of one incident."""

    incident_id: str
    run_id: str
    state: OutcomeState
    detail: str = ""


@dataclass(slots=True, frozen=True)
class Precedent:
    """The latest answer that an incident of some fingerprint got, and what came of it by now."""

    run_id: str
    opened: ev.IncidentOpened
    answer: ev.IncidentAnswered
    state: OutcomeState
    detail: str

    @property
    def reusable(self) -> dict[str, Any]:
        """Its parameters, for others: once, where it was a grant that lasts."""
        return {"for": "once"} if effect_of(self.answer.option) == "grant" else dict(self.answer.params)


async def answer_equal_incidents(
    decisions: Decisions, journal: Journal, request: AnswerEqual, *, by: ev.Actor
) -> list[BulkItem]:
    """Answer an incident, wait until its step went on, then answer every open one with the same fingerprint; with
    `only`, those of them that are named there. What may have happened is repeated where it is named in `looked_at`,
    too: an operator looked at this very one, and it had not happened. One that was answered so already, by itself, may
    be named to answer the rest as it was, with its parameters where none are given.

    The first item is the canary's. If it fails again, or nothing is known of it within `proof_s` (no process drives the
    run), the others are held.

    Raises:
        InvalidCommand: no such incident or option, or what cannot be said in bulk: a standing grant, a secret.
    """
    option = request.option
    if request.params.get("for", "once") != "once":
        raise InvalidCommand("a bulk answer grants once only: to grant for longer, answer one incident with --for")
    run_id, opened, answered = await find_incident(journal, request.incident_id)
    if opened.secret_key:
        raise InvalidCommand("the answer is a secret: answer each incident alone")
    others = [
        each
        for each in await equal_incidents(journal, opened)
        if not request.only or each.opened.incident_id in request.only
    ]
    canary = InboxRow(run_id, opened)
    if answered is None:
        first = await _answer_one(decisions, journal, canary, request, by)
    else:
        if answered.option != option:
            raise InvalidCommand(
                f"incident {opened.incident_id} was answered {answered.option!r}: the others can only get the same"
            )
        first = await _await_proof(journal, canary, answered, request.proof_s)
        params = request.params or Precedent(run_id, opened, answered, first.state, "").reusable
        request = structs.replace(request, params=params)
    if first.state != "went on":
        return [
            first,
            *(BulkItem(o.opened.incident_id, o.run_id, "held", "the first answer did not help") for o in others),
        ]
    words = wording_of(opened, option)
    same = [
        each
        for each in others
        if wording_of(each.opened, option) == words
        and (each.opened.incident_id in request.looked_at or not needs_look(each.opened, option))
    ]
    rest = await asyncio.gather(*(_answer_one(decisions, journal, other, request, by) for other in same))
    answered_ = {item.incident_id: item for item in rest}
    return [first, *(answered_.get(each.opened.incident_id) or _skip_reason(each, option) for each in others)]


def _skip_reason(other: InboxRow, option: str) -> BulkItem:
    if needs_look(other.opened, option):
        detail = f"it may have happened already: look whether it did, then answer {option!r} at this one by itself"
    else:
        detail = f"it asks for something else: {wording_of(other.opened, option)[:300]}"
    return BulkItem(other.opened.incident_id, other.run_id, "held", detail)


async def precedent(journal: Journal, opened: ev.IncidentOpened) -> Precedent | None:
    """The latest answer that an incident with this fingerprint got; None if none of them was answered yet."""
    if not opened.fingerprint:
        return None
    alike = [
        event
        async for event in events_with_marks(journal, (opened.fingerprint,))
        if isinstance(event, ev.IncidentOpened) and event.fingerprint == opened.fingerprint
    ]
    alike.sort(key=lambda event: event.ts)
    latest: tuple[str, ev.IncidentOpened, ev.IncidentAnswered] | None = None
    for event in alike[-_NEEDS_LOOK:]:
        found = await journal.incident(event.incident_id)
        if found is not None and found[2] is not None and (latest is None or found[2].ts > latest[2].ts):
            latest = (found[0], found[1], found[2])
    if latest is None:
        return None
    run_id, first, answer = latest
    proof = _Proof(first, answer)
    for written in await journal.read(run_id):
        if (came := proof.observe(written)) is not None:
            return Precedent(run_id, first, answer, *came)
    return Precedent(run_id, first, answer, "not proven", "its step has not ended yet")


async def equal_incidents(journal: Journal, opened: ev.IncidentOpened) -> Sequence[InboxRow]:
    """The other open incidents with the same fingerprint, oldest first."""
    if not opened.fingerprint:
        return []
    return [
        found
        for found in await journal.incidents()
        if found.opened.fingerprint == opened.fingerprint and found.opened.incident_id != opened.incident_id
    ]


async def _answer_one(
    decisions: Decisions, journal: Journal, found: InboxRow, request: AnswerEqual, by: ev.Actor
) -> BulkItem:
    item = BulkItem(found.opened.incident_id, found.run_id, "not proven", _PENDING_STATES)
    try:
        outcome = await decisions.answer(
            found.opened.incident_id, request.option, dict(request.params), reason=request.reason, by=by
        )
    except InvalidCommand as exc:
        return replace(item, state="refused", detail=str(exc))
    if not isinstance(outcome, AnswerAccepted):
        return replace(item, state="refused", detail=f"{outcome.reason}: {outcome.detail}".strip(": "))
    return await _await_proof(journal, found, outcome.answer, request.proof_s)


async def _await_proof(journal: Journal, found: InboxRow, answer: ev.IncidentAnswered, proof_s: float) -> BulkItem:
    """What came of an answer, within `proof_s`."""
    item = BulkItem(found.opened.incident_id, found.run_id, "not proven", _PENDING_STATES)
    proof = _Proof(found.opened, answer)
    try:
        async with asyncio.timeout(proof_s):
            async for batch in journal.tail(found.run_id):
                for event in batch:
                    if (came := proof.observe(event)) is not None:
                        return replace(item, state=came[0], detail=came[1])
    except TimeoutError:
        return item
    return replace(item, detail="the journal was closed")


class _Proof:
    """What came of an answer, told by the events of its run one after the other: its node ended, or its run; or the
    same came up again.
    """

    def __init__(self, opened: ev.IncidentOpened, answer: ev.IncidentAnswered) -> None:
        self._opened = opened
        self._answer = answer
        self._state = DurableRun()

    def observe(self, event: ev.JournalEvent) -> tuple[OutcomeState, str] | None:
        """What it came to, with the event that says so; None as long as nothing does."""
        state, opened = self._state, self._opened
        state.apply(event)
        if event.seq <= self._answer.seq:
            return None
        if isinstance(event, ev.IncidentOpened) and _is_same_place(event, opened):
            return "failed again", event.incident_id
        node = state.nodes.get(opened.node_id)
        if not (state.terminal or (node is not None and node.terminal)):
            return None
        phase = node.phase if node is not None else state.phase
        spec = OPTIONS.get(self._answer.option)
        failed = phase in ("failed", "timed_out") and not (spec is not None and spec.ends)
        if failed or state.phase == "failed":
            return "failed again", state.error or (node.error if node is not None else "") or phase
        return "went on", phase


def _is_same_place(one: ev.IncidentOpened, other: ev.IncidentOpened) -> bool:
    return one.node_id == other.node_id or one.fingerprint == other.fingerprint
