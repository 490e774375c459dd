"""Killed with SIGKILL after the n-th append, for every n: the run goes on from there, and nothing is done twice
unasked.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.record.events import Record, StepEnded, StepStarted
from runtime.record.journal import OpenIncident
from runtime.record.sqlite import SqliteJournal
from runtime.record.state import fold
from runtime.work.desk import Desk
from tests.runtime.work.bench import ME, ZOO

LIVES = Path(__file__).parents[2] / "data" / "lives.py"


class Lives:
    """The process from which lives are forked."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(LIVES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=LIVES.parents[2]
        )

    def live(self, state: Path, *, die_after: int = 0) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        env = {"ORBITER_TEST_EFFECTS": str(state / "effects")}
        print(
            json.dumps({"state": str(state), "die_after": die_after, "env": env}), file=self.process.stdin, flush=True
        )
        status: int = json.loads(self.process.stdout.readline())["status"]
        return status


@contextmanager
def forking() -> Iterator[Lives]:
    """The process, which must end well."""
    found = Lives()
    yield found
    assert found.process.stdin is not None
    found.process.stdin.close()
    assert found.process.stdout is not None
    found.process.stdout.close()
    assert found.process.wait() == 0


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    with forking() as found:
        yield found


def _answer_for(incident: OpenIncident) -> tuple[str, dict[str, str]]:
    """What a person would say: in doubt they have looked and it had happened; else what is asked for."""
    if incident.opened.in_doubt:
        return "result", {"value": "it had happened"}
    offered = [option.id for option in incident.opened.options]
    if "input" in offered:
        return "input", {"value": "the team"}
    return ("grant" if "grant" in offered else "retry"), {}


async def to_the_end(lives: Lives, root: Path, journal: SqliteJournal, run: str, die_after: int) -> tuple[int, int]:
    """Live, die, live on, answering what is asked, until the run has ended. Returns how often it died and was in
    doubt.
    """
    desk = Desk(journal, root)
    died = doubts = 0
    for life in range(12):
        status = lives.live(root, die_after=die_after if not life else 0)
        assert status in (0, -signal.SIGKILL)
        died += status == -signal.SIGKILL
        for incident in await journal.incidents(run):
            doubts += incident.opened.in_doubt
            option, params = _answer_for(incident)
            await desk.answer(incident.opened.incident_id, option, params, by=ME)
        summary = await journal.summary(run)
        assert summary is not None
        if summary.state not in ("queued", "running", "waiting"):
            return died, doubts
    raise AssertionError(f"the run never ended: {summary}")


def _check(events: list[Record], effects: Counter[str], expected: Counter[str], doubts: int, output: str) -> None:
    state = fold(events)
    assert (state.phase, state.anomalies) == ("completed", 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    results = Counter(
        event.node_id for event in events if isinstance(event, StepEnded) and (event.fault is None or event.absorbed)
    )
    assert max(results.values()) == 1, "a step was recorded twice"
    starts = Counter(event.node_id for event in events if isinstance(event, StepStarted) and event.kind == "tool")
    for node_id, count in starts.items():
        node = state.nodes[node_id]
        # Begun again only if it may be, or after somebody was asked.
        assert count == 1 or node.idempotent or node.incidents, node_id
    for what, count in effects.items():
        limit = 2 if what.startswith(("look", "asked")) else 1
        assert count <= limit, f"{what} was done {count} times"
    missing = expected - effects
    assert sum(missing.values()) <= doubts, f"never done and never asked about: {missing}"
    assert output in state.output


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("name", "expected", "output"),
    [
        ("workflow", ["note one", "note two", "note p0", "note p1", "note p2", "look p"], "done: three notes"),
        ("stage", ["note one", "note two", "asked for whom?", "save out.md"], "done: "),
        ("team", ["note one", "note two", "asked for whom?"], "team done"),
        ("handoff", ["note handed"], "took over"),
    ],
)
async def test_killed_after_every_append(
    lives: Lives, tmp_path: Path, name: str, expected: list[str], output: str
) -> None:
    deaths = 0
    for n in range(1, 200):
        root = tmp_path / str(n)
        root.mkdir()
        async with await SqliteJournal.open(root / "journal.db") as journal:
            run = await Desk(journal, root).start(f"{ZOO}:{name}", "go", by=ME)
            died, doubts = await to_the_end(lives, root, journal, run, n)
            events = await journal.read(run)
        world = root / "effects"
        effects = Counter(world.read_text().splitlines()) if world.exists() else Counter[str]()
        _check(events, effects, Counter(expected), doubts, output)
        deaths += died
        if not died:
            break
    else:
        raise AssertionError("the run never lived to its end")
    print(f"{name}: killed {deaths} times, at every append")
    assert deaths >= len(expected)
