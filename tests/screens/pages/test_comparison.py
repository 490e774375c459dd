"""The comparison page: reached from two selected runs and from a fork, left again, and asked for when a run moves."""

from __future__ import annotations

from collections.abc import Callable

from screens.pages.comparison import ComparisonScreen
from screens.pages.inbox import InboxScreen
from screens.pages.run import RunScreen
from screens.shell.context import ConsoleContext
from tests.screens.lonely import showing, text_of
from tests.screens.pictures import PICTURES
from tests.screens.stories import digest, finished, limited
from tests.screens.waiting import changed, press, until


def compared(left: str, right: str) -> Callable[[ConsoleContext], ComparisonScreen]:
    return lambda session: ComparisonScreen(session, left, right)


async def test_two_selected_runs_are_compared_the_earlier_one_on_the_left_and_esc_leads_back() -> None:
    picture = PICTURES["comparison"]
    app = picture.app()
    async with app.run_test(size=(100, 40)) as pilot:
        await picture.take(pilot)
        assert isinstance(app.screen, ComparisonScreen)
        await press(pilot, "enter", then=lambda: isinstance(app.screen, RunScreen) and app.screen.run_id == "run-3")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and app.screen.run_id == "run-8")
        await press(pilot, "1", "space", "C", then="it takes two runs")
        await press(pilot, "home", "escape", "space", "space", "C", then="they part at")
        assert "left   [run-3]" in text_of(pilot)
        await press(pilot, "escape", then=lambda: isinstance(app.screen, InboxScreen))


async def test_a_run_that_is_no_fork_says_how_two_runs_are_compared() -> None:
    async with showing(lambda session: RunScreen(session, "run-0"), finished()) as (pilot, _):
        await press(pilot, "C", then="this run is not a fork")


async def test_the_runs_are_compared_again_when_one_of_them_moves_and_only_then() -> None:
    left, right, other = digest(), finished(), limited(4)
    async with showing(compared("run-1", "run-0"), left, right, other, size=(100, 40)) as (pilot, link):
        await until(pilot, lambda: "they part at" in text_of(pilot))
        page = pilot.app.screen
        assert isinstance(page, ComparisonScreen)
        other.finish("aborted")
        await page.fetch()
        assert [verb for verb, _ in link.said] == ["diff"]
        left.finish("aborted")
        await changed(pilot, link, then="aborted")


async def test_a_run_that_is_gone_is_said() -> None:
    async with showing(compared("run-0", "run-x"), finished()) as (pilot, _):
        await until(pilot, lambda: "unknown run run-x" in text_of(pilot))
