"""One answer for many incidents that are the same: first for one, and for the rest when it proved right.

A bulk answer is for once only: it makes no standing grant and reaches no further than its step. Every item's result is
told; those that fail again stay open as new incidents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from runtime.record import events as ev
from runtime.record.journal import Accepted, Journal, OpenIncident
from runtime.record.state import RunState
from runtime.work.desk import BadCommand, Desk

PROOF_S = 60.0
"""How long the first answer may take to prove right."""

Came = Literal["went on", "failed again", "refused", "not proven", "held"]
"""held: not answered, since the first one did not prove right."""


@dataclass(slots=True, frozen=True)
class Item:
    """What became of one incident."""

    incident_id: str
    run_id: str
    state: Came
    detail: str = ""


async def answer_like(
    desk: Desk,
    journal: Journal,
    incident_id: str,
    option: str,
    params: Mapping[str, Any] | None = None,
    *,
    reason: str = "",
    by: ev.Actor,
    proof_s: float = PROOF_S,
) -> list[Item]:
    """Answer an incident, wait until its step went on, then answer every open one with the same fingerprint.

    The first item is the canary's. If it fails again, or nothing is known of it within `proof_s` (nobody drives the
    run), the others are held.

    Raises:
        BadCommand: no such incident or option, or what cannot be said in bulk: a standing grant.
    """
    params = dict(params or {})
    if params.get("for", "once") != "once":
        raise BadCommand("a bulk answer is for once: a grant that lasts is given at one incident, by --for")
    found = await journal.incident(incident_id)
    if found is None:
        raise BadCommand(f"there is no incident {incident_id!r}: 'orbiter-console incidents' lists the open ones")
    run_id, opened, _ = found
    others = await like(journal, opened)
    first = await _one(desk, journal, OpenIncident(run_id, "", opened), option, params, reason, by, proof_s)
    if first.state != "went on":
        return [first, *(Item(o.opened.incident_id, o.run_id, "held", "the first did not prove right") for o in others)]
    rest = await asyncio.gather(*(_one(desk, journal, other, option, params, reason, by, proof_s) for other in others))
    return [first, *rest]


async def like(journal: Journal, opened: ev.IncidentOpened) -> Sequence[OpenIncident]:
    """The other open incidents with the same fingerprint, oldest first."""
    if not opened.fingerprint:
        return []
    return [
        found
        for found in await journal.incidents()
        if found.opened.fingerprint == opened.fingerprint and found.opened.incident_id != opened.incident_id
    ]


async def _one(  # noqa: PLR0917 - the parts of one answer
    desk: Desk,
    journal: Journal,
    found: OpenIncident,
    option: str,
    params: Mapping[str, Any],
    reason: str,
    by: ev.Actor,
    proof_s: float,
) -> Item:
    item = Item(found.opened.incident_id, found.run_id, "not proven", "nothing happened yet: does anything drive it?")
    try:
        outcome = await desk.answer(
            found.opened.incident_id,
            option,
            dict(params),
            reach=None if option == "abort" else "attempt",
            reason=reason,
            by=by,
        )
    except BadCommand as exc:
        return replace(item, state="refused", detail=str(exc))
    if not isinstance(outcome, Accepted):
        return replace(item, state="refused", detail=f"{outcome.reason}: {outcome.detail}".strip(": "))
    try:
        async with asyncio.timeout(proof_s):
            state, detail = await _proof(journal, found, outcome.answer)
    except TimeoutError:
        return item
    return replace(item, state=state, detail=detail)


async def _proof(journal: Journal, found: OpenIncident, answer: ev.IncidentAnswered) -> tuple[Came, str]:
    """What came of an answer: its node ended, or its run; or the same came up again."""
    state = RunState()
    async for batch in journal.tail(found.run_id):
        for event in batch:
            state.apply(event)
            if event.seq <= answer.seq:
                continue
            if isinstance(event, ev.IncidentOpened) and _same_place(event, found.opened):
                return "failed again", event.incident_id
            node = state.nodes.get(found.opened.node_id)
            if (node is not None and node.terminal) or state.terminal:
                phase = node.phase if node is not None else state.phase
                return ("went on", phase) if state.phase != "failed" else ("failed again", state.error)
    return "not proven", "the journal was closed"


def _same_place(one: ev.IncidentOpened, other: ev.IncidentOpened) -> bool:
    return one.node_id == other.node_id or one.fingerprint == other.fingerprint
