"""Pictures of the lists: swarms, the form that starts a run, the inbox with a group, and the pages over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from screens.base.runtime_screen import RuntimeScreen
from screens.pages.inbox import InboxScreen
from screens.pages.swarms import SwarmsScreen
from tests.screens.lonely import Lonely, lonely, text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.pages.swarm_runs import workflow
from tests.screens.stories import digest, finished, limited
from tests.screens.waiting import drawn, press, until

Compare = Callable[..., bool]
Looked = Callable[[Pilot[Any], MemoryLink], Any]

RENDER_CONTEXT = [
    pytest.param((80, 24), "dark", id="80x24-dark"),
    pytest.param((120, 40), "dark", id="120x40-dark"),
    pytest.param((80, 24), "light", id="80x24-light"),
    pytest.param((80, 24), "ascii", id="80x24-ascii"),
]
LARGE = pytest.param((200, 60), "dark", id="200x60-dark")


def app_of(made: Callable[[Any], RuntimeScreen], look: str) -> tuple[Lonely, MemoryLink]:
    stories = (digest(), finished(), workflow(4, 2), workflow(5, 3), *(limited(n, n) for n in range(11, 16)))
    theme = "orbiter-light" if look == "light" else "orbiter-dark"
    app, link = lonely(made, *stories, ascii_only=look == "ascii", theme=theme)
    link.refs = ["new/report.py:team", "translate.py:swarm"]
    link.kinds = {"new/report.py:team": "graph (langgraph)", "translate.py:swarm": "agent (pydantic-ai)"}
    return app, link


@pytest.mark.parametrize(("size", "look"), [*RENDER_CONTEXT, LARGE])
def test_swarms(snap_compare: Compare, size: tuple[int, int], look: str) -> None:
    async def told(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "agent (pydantic-ai)" in str(pilot.app.screen._kinds))  # type: ignore[attr-defined]
        await drawn(pilot)

    app, _ = app_of(SwarmsScreen, look)
    assert snap_compare(app, terminal_size=size, run_before=told)


@pytest.mark.parametrize(("size", "look"), RENDER_CONTEXT)
def test_the_form_that_starts_a_run(snap_compare: Compare, size: tuple[int, int], look: str) -> None:
    async def fill(pilot: Pilot[Any]) -> None:
        await drawn(pilot)
        await press(pilot, "s", then="report.py")
        await press(pilot, "tab", *"Translate it.", "tab", "tab", *"max_steps=x", "ctrl+s", then="write name=number")

    app, _ = app_of(SwarmsScreen, look)
    assert snap_compare(app, terminal_size=size, run_before=fill)


@pytest.mark.parametrize(("size", "look"), RENDER_CONTEXT)
def test_the_inbox_with_a_group_a_filter_and_a_selection(
    snap_compare: Compare, size: tuple[int, int], look: str
) -> None:
    async def narrow(pilot: Pilot[Any]) -> None:
        await drawn(pilot)
        await pilot.press("down", "right", "down", "space", "space", "slash", *"!manual", "enter", "o", "o")
        await drawn(pilot)

    app, _ = app_of(InboxScreen, look)
    assert snap_compare(app, terminal_size=size, run_before=narrow)


@pytest.mark.parametrize(("size", "look"), RENDER_CONTEXT)
def test_one_answer_for_all_of_a_group(snap_compare: Compare, size: tuple[int, int], look: str) -> None:
    async def choose(pilot: Pilot[Any]) -> None:
        await drawn(pilot)
        await press(pilot, "down", "B", then="the same: retry")
        await drawn(pilot)

    app, link = app_of(InboxScreen, look)
    link.precedent = {"id": "i-0", "option": "retry", "by": "ada", "state": "went on", "detail": "succeeded"}
    assert snap_compare(app, terminal_size=size, run_before=choose)


@pytest.mark.parametrize(("size", "look"), RENDER_CONTEXT[:2])
def test_what_became_of_each_of_several_runs(snap_compare: Compare, size: tuple[int, int], look: str) -> None:
    async def abort(pilot: Pilot[Any]) -> None:
        await drawn(pilot)
        await press(pilot, "A", then="Abort")
        link.stories["run-13"].finish("failed", error="too late")
        await press(pilot, "y", then=lambda: "refused" in text_of(pilot) and "not yet" not in text_of(pilot))
        await drawn(pilot)

    app, link = app_of(SwarmsScreen, look)
    assert snap_compare(app, terminal_size=size, run_before=abort)
