"""What a shell completes, what a mistyped word is answered with, and which beginnings or ends of an id are enough."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from console.cli import VERBS, cli
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)

BROKEN = Classification(origin=Origin.TOOL, cause=Cause.TOOL_FAILED, persistence=Persistence.PERMANENT)


async def _written(place: Path) -> None:
    async with await open_journal(place) as journal:
        for run_id in ("261121-aa11", "261121-bb22"):
            created = ev.RunCreated(run_id=run_id, ref="a.py:a", title="nightly\x1b[2J", input="go")
            state = DurableRun()
            state.apply(created)
            await journal.create(created, state.summary())
            lease = await journal.claim(run_id, "test", 60)
            assert lease is not None
            options = tuple(ev.Option(id=name, label=name) for name in ("retry", "skip"))
            opened = ev.IncidentOpened(
                incident_id=f"i-{run_id[-4:]}",
                node_id="a~0",
                fingerprint="f",
                fault=BROKEN,
                message="gone",
                options=options,
                safe="skip",
            )
            state.apply(opened)
            await journal.append(lease, [opened], summary=state.summary())


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORBITER_STATE", str(tmp_path / ".orbiter"))
    asyncio.run(_written(tmp_path / ".orbiter"))
    return tmp_path


def completed(*words: str) -> set[str]:
    found = ShellComplete(cli, {}, "orbiter-console", "_COMPLETE").get_completions(list(words[:-1]), words[-1])
    return {item.value for item in found}


def test_ids_and_options_are_completed(workspace: Path) -> None:
    assert completed("show", "26") == {"261121-aa11", "261121-bb22"}
    assert completed("waits", "261121-b") == {"261121-bb22"}
    assert completed("report", "i-a") == {"i-aa11"}
    assert completed("export", "") == {"261121-aa11", "261121-bb22", "i-aa11", "i-bb22"}
    assert completed("answer", "i-aa11", "") == {"retry", "skip"}
    assert completed("gra") == {"grants"}
    assert completed("show", "--state", str(workspace / "elsewhere"), "26") == set()


def test_themes_are_completed(workspace: Path) -> None:
    (workspace / ".orbiter" / "themes").mkdir()
    (workspace / ".orbiter" / "themes" / "orbiter-mine.toml").write_text("")
    found = completed("--theme", "orbiter-")
    assert {"orbiter-mine", "orbiter-contrast-light"} <= found
    assert completed("--theme", "orbiter-contrast-l") == {"orbiter-contrast-light"}


def test_what_cannot_be_read_completes_nothing(workspace: Path) -> None:
    (workspace / ".orbiter" / "journal.db").write_bytes(b"no journal" * 1000)
    assert completed("show", "26") == set()


@pytest.mark.parametrize(
    ("named", "code", "words"),
    [
        ("261121-a", 0, "261121-aa11"),
        ("bb22", 0, "261121-bb22"),
        ("2611", 2, "2 runs begin with '2611': give more"),
        ("cc", 2, "unknown run 'cc'"),
    ],
)
def test_a_run_is_named_by_a_beginning_or_an_end(workspace: Path, named: str, code: int, words: str) -> None:
    assert workspace.exists()
    done = CliRunner().invoke(cli, ["show", named])
    assert done.exit_code == code
    assert words in done.output


def test_a_beginning_of_several_incidents_is_bad_input(workspace: Path) -> None:
    assert workspace.exists()
    done = CliRunner().invoke(cli, ["report", "i-"])
    assert (done.exit_code, "i-aa11, i-bb22" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("shwo", "show"),
        ("inc", "incidents"),
        ("abrot", "abort"),
        ("inbox", "did you mean incidents?"),  # as the console calls it
        ("limits", "did you mean breakers or budgets?"),
        ("permissions", "did you mean grants?"),
        ("xylophone", "--help lists them"),
    ],
)
def test_a_mistyped_verb_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    done = CliRunner().invoke(cli, [typed])
    assert done.exit_code == 2
    assert meant in done.output.partition("unknown verb")[2]


def test_a_state_that_is_none_is_bad_input() -> None:
    done = CliRunner().invoke(cli, ["runs", "--in", "done"])
    assert done.exit_code == 2
    assert "'completed'" in done.output


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_says_what_it_does(name: str) -> None:
    done = CliRunner().invoke(cli, [name, "--help"])
    assert done.exit_code == 0
    assert done.output.startswith("Usage: ")
    assert "--state DIR" in done.output or name == "replay"
