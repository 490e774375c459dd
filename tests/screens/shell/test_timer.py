"""What is to happen a moment later happens, however long the process did not have the CPU."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual import timer
from textual.app import App
from textual.pilot import Pilot

import screens
from console.app.app import OrbiterApp
from console.terminal import timer_patch
from screens.shell.context import ConsoleContext
from screens.shell.timer import GRACE_S, Alarm
from screens.widgets.prompts.prompt import Prompt
from screens.widgets.redraw_throttle import RedrawThrottle
from tests.screens.lonely import text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.stepping import Clock, Owner, delays
from tests.screens.stories import limited
from tests.screens.waiting import changed, drawn, press, until

ROOT = Path(screens.__file__).parent.parent


@pytest.fixture
def starved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time that a timer of Textual looks at the clock, 5 ms have gone by: the process did not run."""
    clock: Any = vars(timer)["_time"]
    real, lost = clock.get_time, [0.0]

    def late() -> float:
        lost[0] += 0.005
        return float(real() + lost[0])

    monkeypatch.setattr(clock, "get_time", late)


@pytest.mark.usefixtures("starved")
async def test_textual_itself_loses_a_timer_in_such_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it does no longer, `Alarm` and the patch of timers can go."""
    monkeypatch.setattr(timer.Timer, "_run", timer_patch._run_as_textual)  # an app of ours may have run in this process
    rung: list[str] = []
    app: App[None] = App()
    async with app.run_test() as pilot:
        app.set_timer(0.001, lambda: rung.append("timer"))
        Alarm(app, lambda: rung.append("alarm")).set(0.001)
        await until(pilot, lambda: "alarm" in rung)
        await pilot.pause(0.05)
        assert rung == ["alarm"]


async def drawing(pilot: Pilot[Any], link: MemoryLink) -> None:
    """A screen shows what changed."""
    link.stories["run-1"].answer("run-1-inc-1", "skip")
    await changed(pilot, link, then=lambda: "1 decision" not in text_of(pilot))
    await drawn(pilot)


async def prompting(pilot: Pilot[Any], link: MemoryLink) -> None:
    """A prompt takes keys."""
    prompt = pilot.app.screen.query_one(Prompt)
    await until(pilot, lambda: prompt.armed and "press a key" in text_of(pilot))


async def confirming(pilot: Pilot[Any], link: MemoryLink) -> None:
    """A dialog takes keys."""
    await prompting(pilot, link)
    await press(pilot, "p", then="freeze it")


async def asking(pilot: Pilot[Any], link: MemoryLink) -> None:
    """A screen asks the runtime."""
    await prompting(pilot, link)
    await press(pilot, "4", then=lambda: any(verb == "breakers" for verb, _ in link.said))


@pytest.mark.usefixtures("starved")
@pytest.mark.parametrize("happens", [drawing, prompting, confirming, asking])
async def test_nothing_that_waits_for_a_moment_is_lost(
    happens: Callable[[Pilot[Any], MemoryLink], Awaitable[None]],
) -> None:
    link = MemoryLink(limited(1))
    session = ConsoleContext(link, clock=lambda: link.now, arm_after=0.01)
    async with OrbiterApp(session, run_id="run-1").run_test(size=(100, 36)) as pilot:
        await drawn(pilot)
        await happens(pilot, link)


async def test_a_drawing_that_is_overdue_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, waits, shown = Clock(), delays(monkeypatch), list[float]()
    throttle = RedrawThrottle(Owner(), lambda: shown.append(clock.now), clock=clock)  # type: ignore[arg-type]
    throttle.request()
    throttle.request()
    assert len(waits) == 1
    clock.now += GRACE_S + 0.1
    throttle.request()  # as every second does
    assert len(waits) == 2
    waits[1][1]()
    waits[0][1]()  # the first one was only late
    assert len(shown) == 1
    assert throttle.idle


async def test_a_screen_that_missed_a_change_is_drawn_by_the_clock() -> None:
    """The link changed without a notice."""
    link = MemoryLink(limited(1))
    async with OrbiterApp(ConsoleContext(link, clock=lambda: link.now)).run_test() as pilot:
        await drawn(pilot)
        link.stories["run-1"].answer("run-1-inc-1", "skip")
        await until(pilot, lambda: "1 decision" not in text_of(pilot))


def calls(folder: str, name: str) -> list[str]:
    """Where a method of this name is called."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
    ]


def test_no_timer_of_textual_is_used_that_may_be_lost() -> None:
    assert calls("screens", "set_timer") + calls("console", "set_timer") == []


def test_no_test_draws_a_screen_by_itself() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("draw", "_draw")
        and not node.args
    ]
    assert found == []
