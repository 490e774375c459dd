"""After an answer a line tells when it proved right and others that are the same still wait; nothing else happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from console.app.app import OrbiterApp
from screens.dialogs import bulk_hint
from screens.shell.context import ConsoleContext
from tests.console.app.test_app import prompt_of, settled, text_of, until
from tests.screens.rundesk import RunDesk
from tests.screens.stories import limited

NOT_YET: dict[str, Any] = {"id": "run-1-inc-1", "run_id": "run-1", "option": "retry", "state": "not proven"}


@asynccontextmanager
async def answering(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Pilot[None], RunDesk]]:
    """The first of three that are the same, on the screen and answered."""
    monkeypatch.setattr(bulk_hint, "FIRST_PAUSE_S", 0.0)
    desk = RunDesk(*[limited(number, number) for number in (1, 2, 3)])
    desk.precedent = NOT_YET
    app = OrbiterApp(ConsoleContext(desk, clock=lambda: desk.now, arm_after=0.0), run_id="run-1")
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("r")
        await until(pilot, lambda: "answer" in [verb for verb, _ in desk.said])
        await until(pilot, lambda: "run-1-inc-1" not in desk.incidents)
        yield pilot, desk


async def test_when_it_proved_right_a_line_says_how_many_wait_and_by_which_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with answering(monkeypatch) as (pilot, desk):
        focused = pilot.app.focused
        await until(pilot, lambda: "The answer is taken" in text_of(pilot))
        assert "proved right" not in text_of(pilot)
        desk.precedent = {**NOT_YET, "state": "went on"}
        desk.stories["run-1"].finish(output="done")
        desk.changed()
        await until(
            pilot, lambda: "retry proved right: 2 others like it wait; B in the inbox answers" in text_of(pilot)
        )
        assert pilot.app.focused is focused
        assert {verb for verb, _ in desk.said} == {"answer", "precedent"}
        await pilot.press("f5")
        await until(pilot, lambda: "proved right" not in text_of(pilot))


@pytest.mark.parametrize("state", ["failed again", "not proven"])
async def test_what_did_not_prove_right_is_not_told_of(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    async with answering(monkeypatch) as (pilot, desk):
        desk.precedent = {**NOT_YET, "state": state}
        desk.stories["run-1"].finish(output="done")
        desk.changed()
        await pilot.pause()
        for number in (2, 3):  # nobody waits any more: nothing is left to be told
            desk.stories[f"run-{number}"].answer(f"run-{number}-inc-1", "retry")
        desk.changed()
        await until(pilot, lambda: not [worker for worker in pilot.app.workers if worker.group == "canary"])
        assert not [said for said in pilot.app.session.said if "proved right" in said.text]  # type: ignore[attr-defined]
