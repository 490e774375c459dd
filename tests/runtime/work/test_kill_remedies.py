"""Killed after every append while failures heal: the later life goes on with the same remedy, and counts it once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.record.sqlite import SqliteJournal
from runtime.record.state import fold
from runtime.work.desk import Desk
from runtime.work.returning import LIMITS
from tests.runtime.work import test_kill
from tests.runtime.work.bench import ME
from tests.runtime.work.test_remedies import REPAIR


@pytest.fixture(scope="module")
def lives() -> Iterator[test_kill.Lives]:
    with test_kill.forking() as found:
        yield found


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("name", "text", "phase", "output"),
    [
        ("chained", "go", "completed", "good: go"),
        ("stood_in", "go", "completed", "good: good: go"),
        ("fits", "go", "completed", "read 2 pages"),
        ("team", "once", "degraded", "lead: measured 21 degrees"),
        ("routed", "go", "completed", "good: "),
        ("degraded", "go", "degraded", "good: go"),
    ],
)
async def test_a_remedy_outlives_its_process(  # noqa: PLR0917 - a row of a table
    lives: test_kill.Lives, tmp_path: Path, name: str, text: str, phase: str, output: str
) -> None:
    deaths = 0
    for n in range(1, 100):
        root = tmp_path / str(n)
        root.mkdir()
        async with await SqliteJournal.open(root / "journal.db") as journal:
            run = await Desk(journal, root).start(f"{REPAIR}:{name}", text, by=ME)
            died, doubts = await test_kill.to_the_end(lives, root, journal, run, n)
            events = await journal.read(run)
        state = fold(events)
        assert state.anomalies == 0
        for wish, limit in LIMITS.items():
            assert sum(found.remedy == wish for found in state.returned) <= limit
        if not doubts:
            assert (state.phase, not state.incidents) == (phase, True), n
            assert state.output.startswith(output)
        deaths += died
        if not died:
            break
    else:
        raise AssertionError("the run never lived to its end")
    assert deaths >= 3
