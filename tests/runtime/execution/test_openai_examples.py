"""What examples of the OpenAI Agents SDK do, under a runtime that ends in the middle."""

from __future__ import annotations

from tests.runtime.bench import Bench
from tests.runtime.guest_bench import OPENAI_AGENTS, starts, two_lives

FILE = OPENAI_AGENTS.with_name("openai_examples.py")


async def test_what_a_handoff_and_a_tool_change_of_the_context_is_there_in_another_life(bench: Bench) -> None:
    state = await two_lives(bench, FILE, "desk", "grant")
    assert state.output == "done: bought 12A in train timetable"
    assert [each for each in bench.effects if each.startswith("note")] == [
        "note found a train", "note chose 12A", "note bought train timetable 12A",
    ]  # fmt: skip


async def test_objects_that_tools_give_are_of_their_classes_in_another_life(bench: Bench) -> None:
    state = await two_lives(bench, FILE, "observer", "grant")
    assert state.output == "Bern: clear, 3"
    assert bench.effects.count("note looked at Bern") == 1
    found = state.nodes["observer~0/look_out~0.0"].result
    assert found["content"] == "city='Bern' sky='clear'"


async def test_what_a_tool_gives_is_checked_by_its_output_type(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await starts(FILE)(bench, "checking"))
    assert state.output.startswith("heard: ")
    assert "Bern" in state.output
