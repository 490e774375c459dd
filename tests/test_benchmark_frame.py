"""The frame of the benchmarks: what a ratio is, and how it is printed. What they measure is not asserted here."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

import benchmarks
from benchmarks import Ratio, modules
from benchmarks.__main__ import main, show
from benchmarks.soak import growth


def test_a_goal_is_the_most_that_it_should_be() -> None:
    assert Ratio("a", 2.0, 2.0).met
    assert not Ratio("a", 2.1, 2.0).met
    assert Ratio("a", 99.0).met


def test_lines_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    show("journal", Ratio("append", 3.14159, 2.0, "12 us"), as_json=False)
    show("journal", Ratio("append", 3.5, None, "12 us"), as_json=True)
    line, as_json = capsys.readouterr().out.splitlines()
    assert line.split() == ["journal", "append", "3.14", "goal", "2", "MISSED", "12", "us"]
    assert json.loads(as_json) == {
        "module": "journal", "name": "append", "value": 3.5, "goal": None, "note": "12 us", "met": True,
    }  # fmt: skip


def test_every_benchmark_starts() -> None:
    """It imports names of the program, which move. Those of guests load three frameworks: they are left out here."""
    loaded = [import_module(path) for name, path in modules().items() if name not in ("guests", "guest_loops")]
    assert sum(callable(getattr(each, "run", None)) for each in loaded) > 12


def test_a_benchmark_is_named_by_its_last_part_alone() -> None:
    files = [path.stem for path in Path(benchmarks.__file__).parent.rglob("*.py") if not path.stem.startswith("__")]
    assert len(files) == len({*files})
    assert modules().keys() >= {*files}


def test_a_benchmark_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "nonsense"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert "unknown benchmark nonsense; the benchmarks are: " in said
    assert "journal" in said


@pytest.mark.parametrize(
    ("minutes", "mib_an_hour", "steps", "verdict"),
    [
        (20, 0.0, {}, "flat"),
        (20, 3.0, {12.0: 1.8}, "flat"),
        (20, 40.0, {}, "grows"),
        (20, 0.0, dict.fromkeys(range(6, 20), 1.0), "grows"),
        (20, 0.0, {1.0: 30.0}, "flat"),
        (5, 0.0, {3.0: 1.8}, "too short to tell"),
        (5, 120.0, {}, "grows"),
    ],
    ids=["still", "one-step", "leak", "leak-in-steps", "warm-up", "step-in-a-short-one", "leak-in-a-short-one"],
)
def test_a_soak_tells_a_leak_from_a_step_of_the_allocator(
    minutes: int, mib_an_hour: float, steps: dict[float, float], verdict: str
) -> None:
    context = [at * 10.0 for at in range(minutes * 6)]
    points = [
        (at, 60 + mib_an_hour * at / 3600 + sum(mib for when, mib in steps.items() if at >= when * 60))
        for at in context
    ]
    points[len(points) * 3 // 4] = (context[len(points) * 3 // 4], 90.0)  # one look in the middle of a collection
    assert growth(points).verdict == verdict


def test_a_soak_of_a_moment_is_refused() -> None:
    with pytest.raises(ValueError, match="looks are too few"):
        growth([(0.0, 60.0)])
