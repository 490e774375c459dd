"""Agents in the shapes that users of their frameworks write: they give what they give alone, also in a second life."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.swarms.loader import load_swarm
from tests.runtime.bench import Bench
from tests.runtime.guest_bench import LANGGRAPH, effects, parked, starts

FILE = LANGGRAPH.with_name("guest_shapes.py")
start = starts(FILE)


@pytest.mark.parametrize(
    ("name", "gives"),
    [
        ("toolsets", ("row=1; booked 2; booked 3", ["note found 1", "note booked 2", "note booked 3"])),
        ("typed", ("1, 3", ["note found 1", "note found all 2"])),
        ("given_a_model", ("booked 4", ["note booked 4"])),
        ("wrong_arguments", ("counted 2", ["note counted 2"])),
    ],
)
async def test_it_gives_what_it_gives_alone_also_in_a_second_life(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, gives: tuple[str, list[str]]
) -> None:
    output, done = gives
    async with bench.driving(grace_s=0.0):
        run = await start(bench, name)
        (asked,) = await bench.incidents(run)
        assert "/llm~" in asked.opened.node_id
        await bench.until(run, parked)
    async with bench.driving(grace_s=0.0):
        state = await bench.ended_by(asked, "retry")
    assert (state.output, state.lives) == (output, 2)
    assert sorted(effects(bench)) == sorted(done)
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "reached").touch()
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "alone" / "effects"))
    alone = load_swarm(f"{FILE}:{name}", tmp_path)
    assert (await alone.run("go")).output == output
