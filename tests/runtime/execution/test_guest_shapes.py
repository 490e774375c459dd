"""Agents in the shapes that users of their frameworks write: they give what they give alone, also in a second life."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.bench import Bench
from tests.runtime.guest_bench import LANGGRAPH, effects, output_alone, two_lives

FILE = LANGGRAPH.with_name("guest_shapes.py")


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
    state = await two_lives(bench, FILE, name, at="/llm~")
    assert state.output == output
    assert sorted(effects(bench)) == sorted(done)
    assert await output_alone(FILE, name, tmp_path / "alone", monkeypatch) == output
