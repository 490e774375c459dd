"""What an agent of LangChain asks with `interrupt()`, answered in the prompt of a run's screen on a real runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from runtime.link.client.client import LinkClient
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config
from screens.pages.run import RunScreen
from screens.shell.context import ConsoleContext
from tests.runtime.guest_bench import LANGGRAPH
from tests.screens.lonely import Lonely
from tests.screens.waiting import until


@asynccontextmanager
async def on_a_run(root: Path, name: str) -> AsyncIterator[tuple[Pilot[None], LinkClient, str]]:
    """A run of this graph, and its screen."""
    with EmbeddedRuntime(root / ".orbiter", build_execution_config(root, {})) as runtime:
        link = LinkClient(runtime.transport())
        link.start()
        run_id = str((await link.command("start", ref=f"{LANGGRAPH}:{name}", input="go"))["id"])
        app = Lonely(RunScreen(ConsoleContext(link, arm_after=0.0), run_id))
        try:
            async with app.run_test(size=(120, 40)) as pilot:
                yield pilot, link, run_id
        finally:
            await link.close()


def shows_an_open(link: LinkClient, run_id: str, screen: RunScreen) -> bool:
    """Whether the prompt shows a request that waits, and takes keys."""
    state, shown = link.run(run_id), screen.prompt.opened
    found = state.incidents.get(shown.incident_id) if state is not None and shown is not None else None
    takes_keys = screen.prompt.mode == "choose" and screen.prompt.armed and screen.prompt.has_class("-shown")
    return found is not None and found.open and takes_keys


async def test_each_of_two_actions_that_wait_is_approved_in_the_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    async with on_a_run(tmp_path, "banker") as (pilot, link, run_id):
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        for _ in range(2):
            await until(pilot, lambda: shows_an_open(link, run_id, screen))
            shown = screen.prompt.opened
            assert shown is not None
            await pilot.press("g")
            await until(pilot, partial(_is_answered, link, run_id, shown.incident_id))
        await until(pilot, lambda: link.summaries[run_id].state == "completed")
        await until(pilot, lambda: (state := link.run(run_id)) is not None and bool(state.output))
        state = link.run(run_id)
        assert state is not None
        assert state.output == "the end: paid ann 1; paid bob 2"
        assert len(state.incidents) == 2
    assert (tmp_path / "effects").read_text().count("note paid") == 2


def _is_answered(link: LinkClient, run_id: str, incident_id: str) -> bool:
    state = link.run(run_id)
    return state is not None and not state.incidents[incident_id].open
