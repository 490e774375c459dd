"""Tools that are made, changed or named at run time, and tools whose values are not JSON: they give what they give
alone, also in a second life.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.swarms import guest_toolsets as agents  # the frameworks, before a limit of time holds for the import
from tests.runtime.bench import Bench
from tests.runtime.guest_bench import effects, output_alone, starts, two_lives

FILE = Path(agents.__file__)
start = starts(FILE)


@pytest.mark.parametrize(
    ("name", "done"),
    [
        ("at_run_time", ["note booked 1", "note found 2"]),
        ("decorated", ["note booked 1", "note found 2"]),
        ("prepared", ["note booked 1", "note found 2"]),
        ("searched", ["note booked 2", "note found 1"]),
        ("named", [f"note booked {row}" for row in range(1, 6)]),
        ("binary", ["note load b'abc'", "note photo", "note scan", "note where"]),
        ("values", ["note fetched 1", "note measured 1", "note point 1"]),
        ("enabled", ["note hidden", "note switched"]),
    ],
)
async def test_it_gives_what_it_gives_alone_also_in_a_second_life(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, done: list[str]
) -> None:
    state = await two_lives(bench, FILE, name, at="/llm~")
    assert {each.opened.message for each in state.incidents.values()} == {"out of reach"}
    assert sorted(effects(bench)) == done
    assert await output_alone(FILE, name, tmp_path / "alone", monkeypatch) == state.output


async def test_a_name_that_two_tool_sets_have_is_refused_as_by_the_framework_alone(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        (asked,) = await bench.incidents(await start(bench, "same_names"))
    assert "defines a tool whose name conflicts" in asked.opened.message
    assert effects(bench) == []


async def test_what_a_tool_would_put_into_the_conversation_is_refused_in_words(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        (asked,) = await bench.incidents(await start(bench, "enqueuing"))
    assert asked.opened.node_id == "enqueuing~0/push~0.0"
    assert "`ctx.enqueue()` is not supported inside a durable step" in asked.opened.message
