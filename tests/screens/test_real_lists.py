"""Inbox and form on a real runtime: real swarms from real files, answered through the real link."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from runtime.link.client.client import LinkClient
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config
from screens.base.runtime_screen import RuntimeScreen
from screens.pages.inbox import InboxScreen
from screens.pages.swarms import SwarmsScreen
from screens.shell.context import ConsoleContext
from tests.screens.lonely import Lonely, text_of
from tests.screens.waiting import press, until

SWARM = '''
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.provider import Call, Reply, script

@tool(failure="fail", idempotent=True)
def reach(host: str) -> str:
    """Reach a host.

    Args:
        host: Which.
    """
    if not (Path(__file__).parent / "up").exists():
        raise LookupError(f"{host} is not listed")
    return f"{host} is there"

script("lists/reacher", [Reply(calls=[Call("reach", {"host": "db"})]), "reached: ${result}"])
reacher = Agent(name="reacher", model="scripted:lists/reacher", tools=[reach])
'''


@asynccontextmanager
async def on_a_runtime(root: Path, made: type[RuntimeScreen]) -> AsyncIterator[tuple[Pilot[None], LinkClient]]:
    """The screen over a runtime in this workspace."""
    with EmbeddedRuntime(root / ".orbiter", build_execution_config(root, {})) as runtime:
        link = LinkClient(runtime.transport())
        app = Lonely(made(ConsoleContext(link, arm_after=0.0)), begin=link.start)
        try:
            async with app.run_test(size=(140, 40)) as pilot:
                await until(pilot, lambda: link.ready)
                yield pilot, link
        finally:
            await link.close()


async def test_equal_failures_are_answered_together_once_the_first_went_on(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(SWARM)
    async with on_a_runtime(tmp_path, InboxScreen) as (pilot, link):
        for number in range(3):
            await link.command("start", ref="net.py:reacher", input="go", title=f"job {number}")
        await until(pilot, lambda: "3 alike" in text_of(pilot))

        await press(pilot, "home", "B", then="None of them was answered yet")
        await press(pilot, "r", "y", then="1 failed again, 2 held")
        await press(pilot, "escape", then="3 alike")
        assert {found.state for found in link.summaries.values()} <= {"running", "waiting"}

        (tmp_path / "up").touch()
        await press(pilot, "home", "B", then="answered one of them retry: ✗ failed again")
        await press(pilot, "r", "y", then="3 went on")
        await press(pilot, "escape", then=lambda: "Needs a decision" not in text_of(pilot) and "Done" in text_of(pilot))
        await until(pilot, lambda: all(found.state == "completed" for found in link.summaries.values()))


async def test_one_that_was_answered_by_itself_goes_before_the_rest(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(SWARM)
    async with on_a_runtime(tmp_path, InboxScreen) as (pilot, link):
        for number in range(3):
            await link.command("start", ref="net.py:reacher", input="go", title=f"job {number}")
        await until(pilot, lambda: "3 alike" in text_of(pilot))
        oldest = next(iter(link.incidents))
        await link.command("answer", incident_id=oldest, option="result", params={"value": "by phone"})
        await until(pilot, lambda: "2 alike" in text_of(pilot))
        await until(pilot, lambda: any(found.state == "completed" for found in link.summaries.values()))
        await press(pilot, "home", "B", then="Answer all 2 the same: result")
        await press(pilot, "B", "y", then="2 went on")
        await until(pilot, lambda: all(found.state == "completed" for found in link.summaries.values()))


async def test_the_form_says_what_the_loader_says_and_starts_what_it_is_corrected_to(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(SWARM)
    (tmp_path / "typo.py").write_text("from orbiter import Agent\none = Agent(name='one'\n")
    (tmp_path / "up").touch()
    async with on_a_runtime(tmp_path, SwarmsScreen) as (pilot, link):
        await press(pilot, "s", then="net.py:reacher")
        await press(pilot, *"typo.py:one", "tab", *"to the db", "ctrl+s", then="typo.py, line 2")
        await pilot.press("shift+tab", *["backspace"] * len("typo.py:one"), *"reach", "down", "enter")
        await press(pilot, "tab", "tab", *"max_steps=nine", "ctrl+s", then="write name=number")
        await pilot.press(*["backspace"] * 4, "9", "ctrl+s")
        await until(pilot, lambda: bool(pilot.app.opened))  # type: ignore[attr-defined]
        run_id = pilot.app.opened[-1].run_id  # type: ignore[attr-defined]
        await until(pilot, lambda: link.summaries[run_id].state == "completed")
        assert link.summaries[run_id].input == "to the db"
