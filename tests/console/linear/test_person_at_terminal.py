"""The person who answers in the linear mode, at a terminal whose clock the test steps."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable

import pytest

from console.linear.operators import OperatorAnswer, PersonAtTerminal
from runtime.judgement.recovery.options import make_option
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)
from screens.shell.armed_keys import ARM_AFTER_S
from tests.screens.stepping import Clock

FAULT = Classification(origin=Origin.TOOL, cause=Cause.NETWORK, persistence=Persistence.TRANSIENT)


class Seat:
    """A terminal: what is typed there, and what is said."""

    def __init__(self, keyboard: int, said: Callable[[], str]) -> None:
        self.keyboard = keyboard
        self.clock = Clock()
        self.person = PersonAtTerminal(clock=self.clock)
        self._said = said
        self.text = ""

    def type(self, line: str, after: float) -> None:
        self.clock.now += after
        os.write(self.keyboard, f"{line}\n".encode())

    async def until(self, words: str) -> None:
        """Wait until it is said; what is before it is done with."""
        async with asyncio.timeout(30):
            while words not in self.text:
                self.text += self._said()
                await asyncio.sleep(0.01)
        self.text = self.text.partition(words)[2]


@pytest.fixture
async def seat(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Seat]:
    keyboard, terminal = os.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        seat = Seat(keyboard, lambda: capsys.readouterr().err)
        yield seat
        last = asyncio.create_task(seat.person("the end?"))
        await seat.until("the end?")
        os.write(keyboard, b"\x04")  # the end of input ends the thread that reads
        assert await last is None
    os.close(keyboard)


def waiting(*options: str, **more: object) -> ev.IncidentOpened:
    offered = tuple(make_option(each) for each in options)
    return ev.IncidentOpened(incident_id="i", fault=FAULT, options=offered, message="no route", **more)  # type: ignore[arg-type]


async def test_a_line_that_comes_before_the_question_can_be_read_is_counted_and_no_answer(seat: Seat) -> None:
    deciding = asyncio.create_task(seat.person.decide(DurableRun(), waiting("retry", "skip")))
    await seat.until("q to leave it]:")
    for number, pause in enumerate((0.0, 0.9 * ARM_AFTER_S, 0.9 * ARM_AFTER_S), 1):
        seat.type("retry", pause)
        await seat.until(f"ignored {number} line")
        await seat.until("q to leave it]:")
    assert not deciding.done()
    seat.type("retry", ARM_AFTER_S)
    assert await deciding == OperatorAnswer("retry")


@pytest.mark.parametrize(("name", "question"), [("skip", "what the steps after it get"), ("abort", "why the run ends")])
async def test_what_destroys_takes_a_second_line(seat: Seat, name: str, question: str) -> None:
    deciding = asyncio.create_task(seat.person.decide(DurableRun(), waiting("retry", name)))
    for line in (".", ""):
        await seat.until("q to leave it]:")
        seat.type("2", 60)
        await seat.until(question)
        seat.type("", 0.1)
        await seat.until("ignored 1 line")
        await seat.until(question)
        seat.type(line, 60)
        if line:
            await seat.until("nothing is decided")
    assert await deciding == OperatorAnswer(name)


@pytest.mark.parametrize("name", ["accept", "acknowledge"])
async def test_what_destroys_and_asks_nothing_takes_the_word_yes(seat: Seat, name: str) -> None:
    deciding = asyncio.create_task(seat.person.decide(DurableRun(), waiting("retry", name)))
    for word in ("y", "yes"):
        await seat.until("q to leave it]:")
        seat.type("2", 60)
        await seat.until("Type yes to do it")
        seat.type(word, 60)
        if word != "yes":
            await seat.until("nothing is decided")
    assert await deciding == OperatorAnswer(name)


async def test_a_wrong_value_is_asked_for_again_and_never_taken_for_an_option(seat: Seat) -> None:
    asked = waiting("input", "skip", "abort", question="How many seats?", answer_schema={"enum": [1, 2]})
    deciding = asyncio.create_task(seat.person.decide(DurableRun(), asked))
    await seat.until("q to leave it]:")
    seat.type("1", 60)
    await seat.until("a number or its word")
    seat.type("9", 60)
    await seat.until("should be")
    seat.type("2", 60)
    assert await deciding == OperatorAnswer("input", {"value": 2})


async def test_what_the_desk_refuses_is_asked_for_again_at_the_same_option(seat: Seat) -> None:
    asked = waiting("switch_model", "skip")
    seat.person.answer_refused(asked, OperatorAnswer("switch_model", {"model": "x:y"}), "unknown provider 'x'")
    deciding = asyncio.create_task(seat.person.decide(DurableRun(), asked))
    await seat.until("unknown provider 'x'. model, as provider:name")
    seat.type("openai:gpt-5", 60)
    assert await deciding == OperatorAnswer("switch_model", {"model": "openai:gpt-5"})


def proposed(option: str, reason: str = "it is up again", **params: object) -> ev.AnswerProposed:
    by = ev.Actor(name="Claude Code (ada)", channel="mcp")
    return ev.AnswerProposed(incident_id="i", revision=1, option=option, params=params, reason=reason, by=by)


async def test_what_an_agent_proposes_is_said_before_the_question_and_adopted_by_one_sign(seat: Seat) -> None:
    state, asked = DurableRun(), waiting("retry", "skip")
    state.incidents["i"] = Incident(asked, proposals=[proposed("retry")])
    deciding = asyncio.create_task(seat.person.decide(state, asked))
    await seat.until("Claude Code (ada) proposes retry: it is up again")
    await seat.until("= as proposed")
    seat.type("=", 60)
    assert await deciding == OperatorAnswer("retry", {}, "as Claude Code (ada) proposed: it is up again")


async def test_a_proposal_that_came_meanwhile_is_shown_before_it_can_be_adopted(seat: Seat) -> None:
    state, asked = DurableRun(), waiting("retry", "edit", "skip")
    state.incidents["i"] = Incident(asked)
    deciding = asyncio.create_task(seat.person.decide(state, asked))
    await seat.until("q to leave it]:")
    state.incidents["i"].proposals = [proposed("edit", arguments={"path": "a\x1b[2J"})]
    seat.type("=", 60)
    await seat.until("proposes edit")
    await seat.until("= as proposed")
    seat.type("=", 60)
    await seat.until("Type yes to do it")
    seat.type("yes", 60)
    assert (await deciding) == OperatorAnswer(
        "edit", {"arguments": {"path": "a\x1b[2J"}}, "as Claude Code (ada) proposed: it is up again"
    )


async def test_no_sign_adopts_a_grant(seat: Seat) -> None:
    state, asked = DurableRun(), waiting("grant", "deny", action={"permission": "fs.write:/x"})
    state.incidents["i"] = Incident(asked, proposals=[proposed("grant")])
    deciding = asyncio.create_task(seat.person.decide(state, asked))
    await seat.until("= as proposed")
    seat.type("=", 60)
    await seat.until("a person says how long a grant lasts")
    seat.type("q", 60)
    assert await deciding is None
