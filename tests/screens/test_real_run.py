"""The run's screen on a real runtime: what is done to a run is done, and what tools and models say cannot harm it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from runtime.link.client.client import LinkClient
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config
from screens.dialogs.confirm_action import ConfirmActionScreen
from screens.pages.run import RunScreen
from screens.shell.context import ConsoleContext
from screens.widgets.prompts.prompt import Prompt
from tests.screens.lonely import Lonely, text_of
from tests.screens.waiting import press, until
from tests.screens.widgets.test_live_widgets import screen_text

SWARM = '''
import json, time
from pathlib import Path
from orbiter import Agent, tool
from orbiter.ask import ask_operator
from orbiter.models.scripted.provider import Call, Reply, script

HERE = Path(__file__).parent

@tool
def note(text: str) -> str:
    """Write a line into the world."""
    with (HERE / "world").open("a") as world:
        world.write(text + "\\n")
    return f"noted {text}"

@tool(idempotent=True)
async def ask(question: str) -> str:
    """Ask the operator."""
    return f"they say {await ask_operator(question)}"

@tool
def block(text: str) -> str:
    """Blocks until it is told to end."""
    (HERE / "began").touch()
    while not (HERE / "enough").exists():
        time.sleep(0.01)
    return text

@tool
def foul(number: int) -> str:
    """Say something foul."""
    return FOUL[number]

script("real/worker", [
    Reply(calls=[Call("note", {"text": "one"})]),
    Reply(calls=[Call("ask", {"question": "go on?"})]),
    Reply(calls=[Call("note", {"text": "two"})]),
    "heard: ${input}",
])
worker = Agent(name="worker", model="scripted:real/worker", tools=[note, ask])
script("real/blocked", [Reply(calls=[Call("block", {"text": "late"})]), "never"])
blocked = Agent(name="blocked", model="scripted:real/blocked", tools=[block])

FOUL = json.loads((HERE / "foul.json").read_text()) if (HERE / "foul.json").exists() else [""]
script("real/foul", [
    Reply(calls=[Call("foul", {"number": number}) for number in range(len(FOUL))], text="".join(FOUL)),
    Reply(calls=[Call("ask", {"question": " ".join(FOUL)})]),
    "".join(FOUL),
])
hostile = Agent(name="hostile", model="scripted:real/foul", tools=[foul, ask])
'''


@asynccontextmanager
async def on_a_run(root: Path, agent: str) -> AsyncIterator[tuple[Pilot[None], LinkClient, str]]:
    """A run of this agent, and its screen."""
    (root / "real.py").write_text(SWARM)
    with EmbeddedRuntime(root / ".orbiter", build_execution_config(root, {})) as runtime:
        starter = LinkClient(runtime.transport())
        starter.start()
        run_id = str((await starter.command("start", ref=f"real.py:{agent}", input="go"))["id"])
        await starter.close()
        link = LinkClient(runtime.transport())
        app = Lonely(RunScreen(ConsoleContext(link, arm_after=0.0), run_id), begin=link.start)
        try:
            async with app.run_test(size=(120, 40)) as pilot:
                await until(pilot, lambda: link.run(run_id) is not None)
                yield pilot, link, run_id
        finally:
            (root / "enough").touch()
            await link.close()


async def node_under_cursor(pilot: Pilot[None], name: str, number: int = 0) -> None:
    """Put the cursor on a node of this name."""
    screen = pilot.app.screen
    assert isinstance(screen, RunScreen)

    def found() -> list[str]:
        state = screen.link.run(screen.run_id)
        return [key for key, node in state.nodes.items() if node.name == name] if state is not None else []

    await until(pilot, lambda: len(found()) > number)
    screen.nodes.focus()
    await until(pilot, lambda: screen.nodes.reveal(found()[number]))
    await until(pilot, lambda: screen.nodes.cursor_key == found()[number])


async def act(pilot: Pilot[None], key: str, *typed: str) -> str:
    """Ask for an act, type what it wants, and do it; what it said before."""
    await press(pilot, key, then=ConfirmActionScreen)
    dialog = pilot.app.screen
    assert isinstance(dialog, ConfirmActionScreen)
    await pilot.pause()
    said = text_of(pilot)
    await pilot.press(*typed)
    if dialog.is_current:
        await until(pilot, lambda: dialog.armed)
        await pilot.press("y")
    await until(pilot, lambda: pilot.app.screen is not dialog)
    return said


async def answer(pilot: Pilot[None], *keys: str) -> None:
    """Answer what waits, when the prompt takes keys."""
    screen = pilot.app.screen
    assert isinstance(screen, RunScreen)
    await until(pilot, lambda: screen.prompt.armed and screen.prompt.opened is not None)
    await pilot.press(*keys)


def world(root: Path) -> list[str]:
    return (root / "world").read_text().split()


async def test_a_message_a_breakpoint_a_rewind_and_a_fork_on_a_real_run(tmp_path: Path) -> None:
    async with on_a_run(tmp_path, "worker") as (pilot, link, run_id):
        await until(pilot, lambda: "go on?" in text_of(pilot))
        await node_under_cursor(pilot, "worker")
        await act(pilot, "M", *"hurry", "enter")
        await node_under_cursor(pilot, "note")
        await act(pilot, "B")
        await until(pilot, lambda: bool((state := link.run(run_id)) and state.breakpoints))

        await answer(pilot, "i", *"yes", "enter")
        await until(pilot, lambda: "breakpoint" in text_of(pilot) and link.summaries[run_id].open_incidents == 1)
        assert world(tmp_path) == ["one"]
        await node_under_cursor(pilot, "note")
        await act(pilot, "B")  # takes it away again
        await until(pilot, lambda: bool((state := link.run(run_id)) and not state.breakpoints))
        await answer(pilot, "r")
        await until(pilot, lambda: pilot.app.screen.query_one(Prompt).mode == "confirm")
        await answer(pilot, "y")
        await until(pilot, lambda: link.summaries[run_id].state == "completed")
        assert world(tmp_path) == ["one", "two"]
        assert "hurry" in json.dumps(await link.command("events", run_id=run_id, after=0, limit=1000))

        await node_under_cursor(pilot, "note", 1)
        assert "AGAIN" in await act(pilot, "R", "ctrl+s")
        await until(pilot, lambda: world(tmp_path) == ["one", "two", "two"])
        await until(pilot, lambda: link.summaries[run_id].state == "completed")

        app = pilot.app
        assert isinstance(app, Lonely)
        await node_under_cursor(pilot, "ask")
        await act(pilot, "K", "ctrl+s")
        await until(pilot, lambda: bool(app.opened))
        forked = app.opened[0].run_id
        await until(pilot, lambda: link.summaries[forked].open_incidents == 1)
        assert world(tmp_path) == ["one", "two", "two"]  # what was completed is taken over, not done again


async def test_a_real_run_is_aborted_while_a_tool_of_it_blocks(tmp_path: Path) -> None:
    async with on_a_run(tmp_path, "blocked") as (pilot, link, run_id):
        await until(pilot, (tmp_path / "began").exists)
        await until(pilot, lambda: "block" in text_of(pilot))
        await act(pilot, "A", *"enough", "enter")
        await until(pilot, lambda: link.summaries[run_id].state == "aborted")
        await until(pilot, lambda: "aborted" in text_of(pilot) and "enough" in text_of(pilot))
        assert not (tmp_path / "enough").exists()


@pytest.mark.parametrize("keys", [(), ("T",)], ids=["page", "timeline"])
async def test_hostile_text_of_tools_models_and_questions_stays_text(tmp_path: Path, keys: tuple[str, ...]) -> None:
    payloads = json.loads((Path(__file__).parents[1] / "data" / "hostile-text.json").read_text())["payloads"]
    foul = [each["text"] if "text" in each else each["unit"] * 50 + each["tail"] for each in payloads]
    (tmp_path / "foul.json").write_text(json.dumps(foul))
    async with on_a_run(tmp_path, "hostile") as (pilot, link, run_id):
        await until(pilot, lambda: link.summaries[run_id].open_incidents == 1)
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        await until(pilot, lambda: screen.prompt.opened is not None)
        screen.nodes.focus()
        await pilot.press("home", *keys)
        for _ in range(12):
            await pilot.press("down")
            shown = "".join(screen_text(pilot.app))
            assert not set("\x1b\x9b\u202e") & set(shown)
        await answer(pilot, "i", *"ok", "enter")
        await until(pilot, lambda: link.summaries[run_id].state == "completed")
