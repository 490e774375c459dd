"""Decisions against decisions, of two operators who have the journal open each for himself, over and over."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest

from runtime.operations.decisions import Decisions, InvalidCommand
from runtime.record.journal import AnswerAccepted, AnswerRefused
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from tests.runtime.bench import ME, Bench

OTHER = ev.Actor(name="other", channel="console")
TURNS = range(6)


@pytest.fixture
async def elsewhere(bench: Bench) -> AsyncIterator[Decisions]:
    """The decisions of another process: a journal of its own on the same file."""
    async with await open_journal(bench.root) as journal:
        yield Decisions(journal, bench.root)


async def raced(turn: int, *contenders: Awaitable[Any]) -> list[Any]:
    """What each came to. Who begins, and how long after the other, differs from turn to turn."""
    rng = random.Random(turn)

    async def after(steps: int, work: Awaitable[Any]) -> Any:
        for _ in range(steps):
            await asyncio.sleep(0)
        return await work

    return await asyncio.gather(*(after(rng.randrange(8), each) for each in contenders), return_exceptions=True)


async def ledger(bench: Bench) -> list[ev.JournalEvent]:
    found = await bench.journal.read(ev.WORKSPACE_RUN_ID)
    return [event for event in found if isinstance(event, ev.GrantAdded | ev.GrantRevoked)]


@pytest.mark.parametrize("turn", TURNS)
async def test_of_a_grant_and_another_operators_denial_one_stands_and_a_refused_grant_never_was(
    bench: Bench, elsewhere: Decisions, turn: int
) -> None:
    async with bench.driving():
        run = await bench.start("saver")
        incident = (await bench.incidents(run))[0].opened.incident_id
        granting, denying = await raced(
            turn,
            bench.decisions.answer(incident, "grant", {"for": "always", "until": "7d"}, by=ME),
            elsewhere.answer(incident, "deny", {"message": "not there"}, by=OTHER),
        )
        state = await bench.ended(run)
    taken = {type(granting), type(denying)}
    assert taken == {AnswerAccepted, AnswerRefused}
    granted = isinstance(granting, AnswerAccepted)
    assert [type(event) for event in await ledger(bench)] == ([ev.GrantAdded] if granted else [])
    assert bool(bench.effects) == granted
    loser, winner = (denying, granting) if granted else (granting, denying)
    assert loser.first == winner.answer
    assert state.incidents[incident].answer == winner.answer


@pytest.mark.parametrize("turn", TURNS)
async def test_of_two_standing_grants_one_is_made(bench: Bench, elsewhere: Decisions, turn: int) -> None:
    async with bench.driving():
        run = await bench.start("saver")
        incident = (await bench.incidents(run))[0].opened.incident_id
        both = await raced(
            turn,
            bench.decisions.answer(incident, "grant", {"for": "always"}, by=ME),
            elsewhere.answer(incident, "grant", {"for": "run"}, by=OTHER),
        )
        await bench.ended(run)
    (accepted,) = [each for each in both if isinstance(each, AnswerAccepted)]
    (grant,) = await ledger(bench)
    assert isinstance(grant, ev.GrantAdded)
    assert grant.grant_id == accepted.answer.params["grant_id"]
    assert grant.by == accepted.answer.by


@pytest.mark.parametrize("turn", TURNS)
async def test_a_standing_grant_against_an_abort_leaves_a_grant_only_if_it_was_accepted(
    bench: Bench, elsewhere: Decisions, turn: int
) -> None:
    async with bench.driving(grace_s=0.0 if turn % 2 else 60.0):
        run = await bench.start("saver")
        incident = (await bench.incidents(run))[0].opened.incident_id
        granting, _ = await raced(
            turn,
            bench.decisions.answer(incident, "grant", {"for": "always"}, by=ME),
            elsewhere.abort(run, by=OTHER),
        )
        state = await bench.ended(run)
    assert state.anomalies == 0
    assert not state.open_incidents
    assert len(await ledger(bench)) == isinstance(granting, AnswerAccepted)
    if isinstance(granting, AnswerRefused):
        assert state.phase == "aborted"
        assert bench.effects == []


@pytest.mark.parametrize("turn", TURNS)
async def test_a_grant_that_another_process_takes_back_stops_the_very_next_attempt(
    bench: Bench, elsewhere: Decisions, turn: int
) -> None:
    async with bench.driving():
        run = await bench.start("saver")
        incident = (await bench.incidents(run))[0].opened.incident_id
        given = await bench.decisions.answer(incident, "grant", {"for": "always"}, by=ME)
        assert isinstance(given, AnswerAccepted)
        await bench.ended(run)
        # One run that begins meanwhile may be let pass or not; what begins after the word was given is asked about.
        racing, revoked = await raced(
            turn, bench.start("saver"), elsewhere.revoke(given.answer.params["grant_id"], by=OTHER)
        )
        assert revoked is None
        later = await bench.start("saver")
        state = await bench.until(later, lambda s: bool(s.open_incidents) or s.terminal)
        assert state.open_incidents
        await bench.until(racing, lambda s: bool(s.open_incidents) or s.terminal)
    assert len(bench.effects) <= 2
    with pytest.raises(InvalidCommand, match="in force"):
        await bench.decisions.revoke(given.answer.params["grant_id"], by=ME)
