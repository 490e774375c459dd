"""After an answer a line tells when it worked and others that are the same still wait; nothing else happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from console.app.app import OrbiterApp
from runtime.link.client.client import PictureProgress
from screens.dialogs import bulk_hint
from screens.shell.context import ConsoleContext
from tests.console.app.console_bench import prompt_of, settled, text_of
from tests.screens.run_link import RunLink
from tests.screens.stories import limited
from tests.screens.waiting import changed, press, until

NOT_YET: dict[str, Any] = {"id": "run-1-inc-1", "run_id": "run-1", "option": "retry", "state": "not proven"}


@asynccontextmanager
async def answering(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Pilot[None], RunLink]]:
    """The first of three that are the same, on the screen and answered."""
    monkeypatch.setattr(bulk_hint, "FIRST_PAUSE_S", 0.0)
    link = RunLink(*[limited(number, number) for number in (1, 2, 3)])
    link.precedent = NOT_YET
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now, arm_after=0.0), run_id="run-1")
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: prompt_of(pilot).armed)
        await press(pilot, "r", then=lambda: "answer" in [verb for verb, _ in link.said])
        await until(pilot, lambda: "run-1-inc-1" not in link.incidents and prompt_of(pilot).opened is None)
        yield pilot, link


async def test_when_it_proved_right_a_line_says_how_many_wait_and_by_which_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with answering(monkeypatch) as (pilot, link):
        focused = pilot.app.focused
        await until(pilot, lambda: "openai:gpt-4o: Retry operation" in text_of(pilot))
        assert " worked: " not in text_of(pilot)
        link.precedent = {**NOT_YET, "state": "went on"}
        link.stories["run-1"].finish(output="done")
        await changed(pilot, link, then="retry worked: 2 alike wait; B in the inbox answers")
        assert pilot.app.focused is focused
        assert {verb for verb, _ in link.said} == {"answer", "precedent"}
        await press(pilot, "f5", then=lambda: " worked: " not in text_of(pilot))


@pytest.mark.parametrize("state", ["failed again", "not proven"])
async def test_what_did_not_prove_right_is_not_told_of(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    async with answering(monkeypatch) as (pilot, link):
        link.precedent = {**NOT_YET, "state": state}
        link.stories["run-1"].finish(output="done")
        link.changed()
        await pilot.pause()
        for number in (2, 3):  # no question waits any more: nothing is left to be told
            link.stories[f"run-{number}"].answer(f"run-{number}-inc-1", "retry")
        link.changed()
        await until(pilot, lambda: not [worker for worker in pilot.app.workers if worker.group == "canary"])
        assert not [said for said in pilot.app.session.said if " worked: " in said.text]  # type: ignore[attr-defined]


async def test_while_not_all_is_told_it_is_watched_for_others_and_their_number_is_marked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with answering(monkeypatch) as (pilot, link):
        link.loading = {"": PictureProgress(3, 90, 2, 50)}
        link.precedent = {**NOT_YET, "state": "went on"}
        link.stories["run-1"].finish(output="done")
        await changed(pilot, link, then="retry worked: 2+ alike wait; B in the inbox answers")
