"""Pictures of every screen. `pytest --snapshot-update` takes them anew; look at them before you commit them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from console.app import OrbiterApp
from screens.glyphs import ASCII, UNICODE
from screens.link import Session
from screens.widgets.prompt import Prompt
from tests.screens.desk import Desk
from tests.screens.stories import BROKEN_TOOL, MISSING, START, Story, digest, finished
from tests.screens.test_livewidgets import screen_text

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40")]
Compare = Callable[..., bool]


def asks() -> Story:
    story = Story("run-2", "quarterly report", START)
    agent = story.open("agent", "analyst", story.begin("Write the report of the quarter."))
    story.park(story.start("value", "ask", agent, agent="analyst"), MISSING, question="Which quarter is meant?")
    return story.wait(3700)


def broken() -> Story:
    story = Story("run-3", "query releases", START)
    agent = story.open("agent", "analyst", story.begin("How many releases were there?"))
    story.end(story.start("tool", "list_tables", agent, 0, agent="analyst"), ["release", "author"])
    tool = story.wait(0.2).start("tool", "query", agent, 1, agent="analyst", sql="select count(*) from releases")
    story.fail(tool, BROKEN_TOOL)
    story.wait(1).park(
        tool,
        BROKEN_TOOL,
        message="no such table: releases",
        action={"tool": "query", "arguments": {"sql": "select count(*) from releases"}},
        traceback='Traceback (most recent call last):\n  File "query.py", line 3\nValueError: no such table: releases',
    )
    story.analyse("run-3-inc-1", "The table is called `release`, in the singular. Edit the arguments and retry.")
    return story.wait(42)


def app_of(
    *stories: Story, run_id: str = "", theme: str = "orbiter-dark", ascii_only: bool = False
) -> tuple[OrbiterApp, Desk]:
    desk = Desk(*stories)
    session = Session(desk, glyphs=ASCII if ascii_only else UNICODE, clock=lambda: desk.now, arm_after=0.0)
    return OrbiterApp(session, run_id=run_id, theme=theme), desk


async def armed(pilot: Pilot[Any]) -> None:
    """Wait for the prompt that the picture shows."""
    await settled(pilot)
    prompt = pilot.app.screen.query_one(Prompt)
    for _ in range(500):
        if prompt.armed:
            break
        await pilot.pause(0.01)
    await settled(pilot)


async def settled(pilot: Pilot[Any]) -> None:
    for _ in range(3):
        await pilot.pause()
        pilot.app.screen.draw()  # type: ignore[attr-defined]
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
def test_inbox(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = app_of(digest(), broken(), finished())
    assert snap_compare(app, terminal_size=size, run_before=settled)


@pytest.mark.parametrize("size", SIZES)
def test_inbox_of_nothing(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = app_of()
    assert snap_compare(app, terminal_size=size, run_before=settled)


@pytest.mark.parametrize("size", SIZES)
def test_inbox_without_a_runtime(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, desk = app_of(digest())
    desk.lose("nothing listens at the socket of this workspace")
    assert snap_compare(app, terminal_size=size, run_before=settled)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("story", [digest, broken, asks], ids=["permission", "broken_tool", "question"])
def test_run_with_a_decision(snap_compare: Compare, size: tuple[int, int], story: Callable[[], Story]) -> None:
    told = story()
    app, _ = app_of(told, run_id=told.run_id)
    assert snap_compare(app, terminal_size=size, run_before=armed)


@pytest.mark.parametrize("size", SIZES)
def test_run_that_is_finished(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = app_of(finished(), run_id="run-0")
    assert snap_compare(app, terminal_size=size, run_before=settled)


@pytest.mark.parametrize("size", SIZES)
def test_prompt_asks_how_long_a_grant_lasts(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def choose(pilot: Pilot[Any]) -> None:
        await armed(pilot)
        for _ in range(5):
            await pilot.press("pagedown")
        await pilot.press("G", "s")
        for _ in range(500):
            if any("would have matched" in line for line in screen_text(pilot.app)):
                break
            await pilot.pause(0.01)
        await settled(pilot)

    app, _ = app_of(digest(), run_id="run-1")
    assert snap_compare(app, terminal_size=size, run_before=choose)


@pytest.mark.parametrize("size", SIZES)
def test_prompt_takes_a_text(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def answer(pilot: Pilot[Any]) -> None:
        await armed(pilot)
        await pilot.press("i", *"Q4 2026")
        await settled(pilot)

    app, _ = app_of(asks(), run_id="run-2")
    assert snap_compare(app, terminal_size=size, run_before=answer)


@pytest.mark.parametrize("size", SIZES)
def test_help(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[Any]) -> None:
        await armed(pilot)
        await pilot.press("question_mark")
        await pilot.pause()

    app, _ = app_of(digest(), run_id="run-1")
    assert snap_compare(app, terminal_size=size, run_before=ask)


@pytest.mark.parametrize("kind", ["light", "ascii"])
def test_run_in_other_looks(snap_compare: Compare, kind: str) -> None:
    theme = "orbiter-light" if kind == "light" else "orbiter-dark"
    app, _ = app_of(digest(), run_id="run-1", theme=theme, ascii_only=kind == "ascii")
    assert snap_compare(app, terminal_size=(80, 24), run_before=armed)
