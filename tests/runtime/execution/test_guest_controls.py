"""What an operator does to a run of a guest, for every framework alike: freeze, rewind to a call, abort.

The table of all acts, with the test of each framework, is in `test_guest_acts`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.operations.run_controls import RunControls
from tests.runtime.bench import ME, Bench
from tests.runtime.guest_bench import LANGGRAPH, OPENAI_AGENTS, PYDANTIC_AI, effects, options, starts

FRAMEWORKS = pytest.mark.parametrize(
    "file", [PYDANTIC_AI, LANGGRAPH, OPENAI_AGENTS], ids=["pydantic-ai", "langchain", "openai-agents"]
)


@FRAMEWORKS
async def test_a_frozen_agent_asks_its_model_only_after_it_is_thawed(bench: Bench, file: Path) -> None:
    start, controls = starts(file), RunControls(bench.journal)
    async with bench.driving():
        run = await start(bench, "broken")
        (failed,) = await bench.incidents(run)
        assert await controls.freeze(run, by=ME) == [run]
        await bench.answer(failed, "result", value="fine")
        await bench.ended(await start(bench, "plain"))  # another run meanwhile goes its way
        frozen = await bench.state(run)
        assert (frozen.phase, [key for key in frozen.nodes if "/llm~" in key]) == ("frozen", ["broken~0/llm~0"])
        await controls.thaw(run, by=ME)
        state = await bench.ended(run)
    assert state.output == "went on: fine"
    assert bench.effects.count("reach h") == 1


@FRAMEWORKS
async def test_a_run_is_turned_back_to_its_first_call_and_does_all_again(bench: Bench, file: Path) -> None:
    async with bench.driving():
        run = await starts(file)(bench, "parallel")
        before = await bench.ended(run)
        await RunControls(bench.journal).rewind(run, "parallel~0/llm~0", confirm=True, by=ME)
        state = await bench.until(run, lambda state: state.phase == "completed" and state.lives > 1)
    assert state.output == before.output
    assert sorted(effects(bench)) == sorted(["note p0", "note p1", "note p2", "look p"] * 2)


@pytest.mark.parametrize(
    ("file", "name"),
    [(PYDANTIC_AI, "broken"), (LANGGRAPH, "broken"), (OPENAI_AGENTS, "broken"), (LANGGRAPH, "nodes")],
    ids=["pydantic-ai", "langchain", "openai-agents", "coarse"],
)
async def test_a_run_that_waits_is_aborted_and_its_tool_is_not_called_again(
    bench: Bench, file: Path, name: str
) -> None:
    (bench.root / "down").touch()
    async with bench.driving():
        run = await starts(file)(bench, name)
        (failed,) = await bench.incidents(run)
        done = effects(bench)
        await bench.decisions.abort(run, reason="enough", by=ME)
        state = await bench.ended(run)
    assert (state.phase, state.open_incidents) == ("aborted", [])
    assert effects(bench) == done
    # Neither a failed tool nor a node of a graph has a model of which the program knows.
    assert "switch_model" not in options(failed)


async def test_langchains_agent_is_turned_back_to_a_later_call_and_its_tools_are_not_called_again(bench: Bench) -> None:
    async with bench.driving():
        run = await starts(LANGGRAPH)(bench, "parallel")
        before = await bench.ended(run)
        await RunControls(bench.journal).rewind(run, "parallel~0/llm~1", confirm=True, by=ME)
        state = await bench.until(run, lambda state: state.phase == "completed" and state.lives > 1)
    assert state.output == before.output
    assert sorted(effects(bench)) == ["look p", "note p0", "note p1", "note p2"]
    assert bench.effects.count("look model") == 3
