"""The frame of the benchmarks: what a ratio is, and how it is printed. What they measure is not asserted here."""

from __future__ import annotations

import json

import pytest

from benchmarks import Ratio
from benchmarks.__main__ import main, show


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


def test_a_benchmark_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "nonsense"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert "there is no benchmark nonsense; there are: " in said
    assert "journal" in said
