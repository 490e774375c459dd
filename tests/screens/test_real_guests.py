"""What agents of LangChain and graphs of LangGraph ask with `interrupt()`, answered in the console on a real runtime.

The same patterns are answered from the command line's side in tests/runtime/execution/test_langgraph.py.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from console.app.app import OrbiterApp
from runtime.link.client.client import LinkClient
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config
from screens.pages.run import RunScreen
from screens.shell.context import ConsoleContext
from screens.widgets.prompts.prompt import Prompt
from tests.present import present
from tests.runtime.guest_bench import LANGGRAPH
from tests.screens.waiting import until


@asynccontextmanager
async def on_a_run(root: Path, name: str, text: str) -> AsyncIterator[tuple[Pilot[None], LinkClient, str]]:
    """A run of this graph, opened in the console."""
    with EmbeddedRuntime(root / ".orbiter", build_execution_config(root, {})) as runtime:
        link = LinkClient(runtime.transport())
        link.start()
        run_id = str((await link.command("start", ref=f"{LANGGRAPH}:{name}", input=text))["id"])
        app = OrbiterApp(ConsoleContext(link, arm_after=0.0), run_id=run_id)
        try:
            async with app.run_test(size=(120, 40)) as pilot:
                await until(pilot, lambda: isinstance(app.screen, RunScreen))
                yield pilot, link, run_id
        finally:
            await link.close()


async def answered(pilot: Pilot[None], link: LinkClient, run_id: str, answers: Mapping[str, Sequence[str]]) -> None:
    """Give each question its keys, in the order in which the prompt shows them."""
    screen, left = pilot.app.screen, dict(answers)
    assert isinstance(screen, RunScreen)
    while left:
        await until(pilot, lambda: _takes_an_answer(link, run_id, screen.prompt))
        shown = present(screen.prompt.opened)
        await pilot.press(*left.pop(shown.question or shown.action["tool"]))
        await until(pilot, partial(_is_answered, link, run_id, shown.incident_id))


def _takes_an_answer(link: LinkClient, run_id: str, prompt: Prompt) -> bool:
    """Whether the prompt shows something that waits, and takes keys: in the field of a question, the field has them."""
    if prompt.opened is None or not prompt.armed or _is_answered(link, run_id, prompt.opened.incident_id):
        return False
    typed = prompt.has_focus_within and isinstance(prompt.screen.focused, TextArea | Input)
    return typed if prompt.opened.question else prompt.mode == "choose"


def _is_answered(link: LinkClient, run_id: str, incident_id: str) -> bool:
    state = link.run(run_id)
    return state is None or not state.incidents[incident_id].open


async def output(pilot: Pilot[None], link: LinkClient, run_id: str) -> str:
    await until(pilot, lambda: link.summaries[run_id].state == "completed")
    await until(pilot, lambda: (state := link.run(run_id)) is not None and bool(state.output))
    state = present(link.run(run_id))
    return state.output


@pytest.fixture(autouse=True)
def _effects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))


async def test_each_of_two_actions_that_wait_is_approved_in_the_prompt(tmp_path: Path) -> None:
    async with on_a_run(tmp_path, "banker", "go") as (pilot, link, run_id):
        for _ in range(2):
            await answered(pilot, link, run_id, {"approve pay": ["g"]})
        assert await output(pilot, link, run_id) == "the end: paid ann 1; paid bob 2"
    assert (tmp_path / "effects").read_text().count("note paid") == 2


async def test_questions_in_parallel_in_a_loop_and_in_a_graph_within_a_node_are_typed(tmp_path: Path) -> None:
    answers = {
        "left of t?": [*"L", "enter"],
        "right of t?": [*"R", "enter"],
        "how many?": [*"many", "enter"],
        "'many' is not a number. how many?": ["3", "enter"],
        "deep of t?": [*"D", "enter"],
        "which one?": [*"red", "enter", "3", "enter"],  # a form: the colour, then the size
    }
    async with on_a_run(tmp_path, "questions", '{"text": "t", "notes": []}') as (pilot, link, run_id):
        await answered(pilot, link, run_id, answers)
        notes = json.loads(await output(pilot, link, run_id))["notes"]
    assert notes == ["left=L", "right=R", "n=3", "deep=D", "red 3"]


async def test_questions_of_tools_side_by_side_are_typed_and_any_json_reaches_the_tool(tmp_path: Path) -> None:
    answers = {
        "first x?": [*'{"a": [1, null]}', "enter"],
        "first y?": [*"true", "enter"],
        'second x?\n{"so far": {"a": [1, null]}}': [*'"3"', "enter"],
        'second y?\n{"so far": true}': [*"2.5", "enter"],
    }
    async with on_a_run(tmp_path, "asking", "go") as (pilot, link, run_id):
        await answered(pilot, link, run_id, answers)
        assert await output(pilot, link, run_id) == "the end: x: {'a': [1, None]} 3; y: True 2.5"
