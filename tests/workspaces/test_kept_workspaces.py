"""Workspaces that an older program made: today's program reports the same of them, and drives them to the same ends.

See `tests/data/workspaces/README.md`.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.pseudo_terminal import ConsoleTerminal
from tests.workspaces import kept
from tests.workspaces.kept import DATA, Verbs
from tests.workspaces.scenarios import CONTROLLED, FINISHED, HEADLESS, KILLED, PARKED

WORKSPACES = {"parked": (*FINISHED, *PARKED), "killed": KILLED, "controlled": CONTROLLED, "headless": HEADLESS}
REPEATABLE = ("look", "watch", "dump", "think", "asked", "quiz", "enter")
"""How the lines begin that effects leave which may be repeated."""


@pytest.fixture
def verbs(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Verbs]:
    """The program of today in a copy of the workspace."""
    with Verbs(kept.opened(request.param, tmp_path)) as found:
        yield found


def recorded(name: str, what: str) -> Any:
    return json.loads(gzip.decompress((DATA / name / f"{what}.json.gz").read_bytes()))


def once(effects: list[str]) -> Counter[str]:
    return Counter(each for each in effects if not each.startswith(REPEATABLE))


@pytest.mark.parametrize(("verbs", "name"), [(name, name) for name in WORKSPACES], indirect=["verbs"])
def test_a_kept_workspace_is_reported_and_resumed_as_by_the_program_that_made_it(verbs: Verbs, name: str) -> None:
    record, ends = recorded(name, "record"), recorded(name, "outcome")
    reported = kept.report(verbs)
    assert kept.differences(record, reported) == []
    kept.resume(verbs, WORKSPACES[name])
    assert once(verbs.effects()) == once(ends["effects"])
    assert set(verbs.effects()) == set(ends["effects"])
    reached = kept.outcome(kept.report(verbs), (run["id"] for run in record["runs"]))
    assert kept.differences(*map(kept.without_wording, (ends["runs"], reached))) == []


@pytest.mark.parametrize(("file", "text"), [("finished", "team done"), ("waiting", "third_saver")])
def test_a_kept_export_is_shown(tmp_path: Path, file: str, text: str) -> None:
    with Verbs(tmp_path) as found:
        shown = found("show", "--file", str(DATA / f"{file}.export"))
        (run,) = found.json("show", "--file", str(DATA / f"{file}.export"))
    assert text in shown
    assert run["state"] == {"finished": "completed", "waiting": "waiting"}[file]
    (like,) = [each for each in recorded("parked", "record")["runs"] if each["id"] == run["id"]]
    assert [each["id"] for each in run["nodes"]] == [each["id"] for each in like["nodes"]]
    assert [each["fingerprint"] for each in run["incidents"]] == [each["fingerprint"] for each in like["incidents"]]


@pytest.mark.parametrize(("file", "text"), [("finished", "team done"), ("waiting", "third_saver")])
def test_a_kept_export_is_replayed(tmp_path: Path, file: str, text: str) -> None:
    export = str(DATA / f"{file}.export")
    with ConsoleTerminal("replay", export, cwd=tmp_path, size=(120, 40)) as terminal:
        terminal.until(text)
        terminal.press("q")
        assert terminal.ended() == 0
