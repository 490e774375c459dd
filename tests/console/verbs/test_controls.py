"""`freeze`, `thaw`, `break`, `inject`, `rewind`, `fork`, `prune`, `doctor`: in processes of their own."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.console.program import Program
from tests.patience import PATIENCE_S

Park = Callable[[], str]


def _run(program: Program) -> str:
    return str(program.json("runs")[0]["id"])


def _stored(program: Program) -> list[str]:
    return [Path(line).name for line in program.logged("stored.log")]


def test_a_frozen_run_is_not_carried_on_until_it_is_thawed(program: Program, parked: Park) -> None:
    incident = parked()
    run = _run(program)
    assert program.json("freeze", run, "--reason", "lunch") == [{"id": run, "state": "frozen"}]
    assert program("answer", incident, "grant").returncode == 0
    assert program("run", "keeper.py:swarm", "tea", "--resume").returncode == 3
    assert program.logged("stored.log") == []
    again = program("freeze", run)
    assert again.returncode == 2
    assert "is frozen" in again.stderr
    assert [each["id"] for each in program.json("thaw", "--all")] == [run]
    assert program.json("thaw", "--swarm", "keeper.py:swarm") == []
    assert program("run", "keeper.py:swarm", "tea", "--resume").returncode == 0
    assert _stored(program) == ["a.txt"]


def test_break_and_inject_reach_the_next_turn(program: Program, parked: Park) -> None:
    incident = parked()
    run = _run(program)
    (broken,) = program.json("break", run, "agent:keep*")
    assert (broken["id"], broken["breakpoint"], broken["cleared"]) == (run, "agent:keep*", False)
    assert program("break", run, "agent:keep*", "--clear").returncode == 0
    assert "has no breakpoint" in program("break", run, "agent:keep*", "--clear").stderr
    (injected,) = program.json("inject", run, "keeper", "and mind the cups")
    assert injected["injection_id"].startswith("m-")
    assert program("answer", incident, "grant").returncode == 0
    assert program("run", "keeper.py:swarm", "tea", "--resume").returncode == 0
    (shown,) = program.json("show", run)
    last = [node for node in shown["nodes"] if node["kind"] == "llm"][-1]
    assert last["requested"]["count"] == 6, "user, two calls with results, and what was injected"


def test_waits_names_what_a_run_and_a_node_of_it_wait_for(program: Program, parked: Park) -> None:
    incident = parked()
    run = _run(program)
    (found,) = program.json("waits", run)
    assert (found["id"], found["kind"], found["incident_id"]) == (run, "permission", incident)
    assert found["chain"][-1]["node_id"] == found["node_id"]
    (again,) = program.json("waits", run, found["node_id"])
    assert [link["node_id"] for link in again["chain"]] == [found["node_id"]]
    said = program("waits", run).stdout
    assert "a permission that an operator has to grant or deny" in said
    assert incident in said
    assert program("waits", run, "nobody").returncode == 2


def test_rewind_asks_before_it_repeats_and_fork_leaves_its_source_alone(program: Program, parked: Park) -> None:
    program("answer", parked(), "grant")
    assert program("run", "keeper.py:swarm", "tea", "--resume").returncode == 0
    run = _run(program)
    (forked,) = program.json("fork", run, "llm~2")
    assert forked["forked_from"] == run
    refused = program("rewind", run, "store~1.0")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert program("rewind", run, "look", "--arguments", "[1]").returncode == 2
    changed = program.json("rewind", run, "store", "--arguments", '{"path": "b.txt", "text": "x"}', "--yes")
    assert changed[0]["node"].endswith("store~1.0")
    with program.start("serve", "--foreground") as serving:
        while not (waiting := program.json("incidents")):
            assert serving.poll() is None
        (incident,) = waiting
        assert incident["action"]["arguments"]["path"] == "b.txt"
        assert program("answer", incident["id"], "grant").returncode == 0
        while {each["state"] for each in program.json("runs")} != {"completed"}:
            assert serving.poll() is None
        serving.terminate()
        assert serving.wait(timeout=60) == 0
    assert _stored(program) == ["a.txt", "b.txt"]
    assert program.logged("looked.log") == ["tea"]


def test_a_run_that_is_moved_to_code_that_is_not_here_is_told_of(program: Program, parked: Park) -> None:
    parked()
    run = _run(program)
    there = program("move", run, "--code", "v1")
    assert (there.returncode, "warning" in there.stderr) == (0, False)
    file = program.directory / "keeper.py"
    file.unlink()
    for given in ("v2", ""):
        moved = program("move", run, "--code", given, "--json")
        assert moved.returncode == 0
        said = f"warning: {file.resolve()} is not on this machine; the worker that takes the run must have it"
        assert said in moved.stderr
    assert "warning" not in program("move", run, "--queue", "mail").stderr


def test_prune_writes_each_run_to_a_directory_before_it_goes(program: Program, parked: Park) -> None:
    parked()
    run = _run(program)
    program("abort", run)
    assert program("run", "keeper.py:swarm", "tea", "--resume").returncode == 1
    exports = program.directory / "kept" / "exports"
    refused = program("prune", "--older-than", "0m", "--whole-partitions")
    assert refused.returncode == 1
    assert "has no partitions: only one on Postgres has" in refused.stderr
    (program.directory / "file").touch()
    refused = program("prune", "--older-than", "0m", "--export", "file")
    assert refused.returncode == 2
    assert "file cannot be made" in refused.stderr
    assert program.json("prune", "--older-than", "0m", "--export", str(exports)) == [{"id": run, "state": "forgotten"}]
    (file,) = exports.iterdir()
    assert file.name == f"{run}.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600
    (shown,) = program.json("show", "--file", str(file))
    assert (shown["id"], shown["state"]) == (run, "aborted")
    assert program.json("runs") == []


def test_prune_forgets_what_is_finished_and_doctor_looks_at_every_page(program: Program, parked: Park) -> None:
    parked()
    run = _run(program)
    assert program.json("prune", "--older-than", "0m", "--max-size", "1") == []
    program("abort", run)
    assert program("run", "keeper.py:swarm", "tea", "--resume").returncode == 1
    copy = program.directory / "copy.db"
    found = {each["id"]: each for each in program.json("doctor", "--backup", str(copy), "--rebuild")}
    assert (found["integrity"]["state"], found["backup"]["state"]) == ("ok", "ok")
    assert found["summaries"]["detail"].startswith("1 ")
    refused = program("doctor", "--backup", str(copy))
    assert refused.returncode == 1
    assert "it exists" in refused.stdout
    for asked in (["--max-size", "1k"], ["--older-than", "0m", "--export", "nowhere"]):
        assert program.json("prune", *asked, "--dry-run") == [{"id": run, "state": "would be forgotten"}]
        assert program("prune", *asked, "--dry-run").stdout == f"{run}\n"
    assert not (program.directory / "nowhere").exists()
    assert [each["id"] for each in program.json("runs")] == [run]
    assert program.json("prune", "--max-size", "1k") == [{"id": run, "state": "forgotten"}]
    assert program.json("runs") == []
    with closing(sqlite3.connect(copy)) as journal, journal:
        journal.execute("DELETE FROM event WHERE seq = 2 AND run != 1")
    copy.rename(program.directory / ".orbiter" / "journal.db")
    hurt = program("doctor")
    assert hurt.returncode == 1
    assert f"run {run}:" in hurt.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["freeze"], "--all"),
        (["freeze", "r", "--all"], "--all"),
        (["thaw", "--all"], "nothing was run here yet"),
        (["revoke", "g"], "nothing was run here yet"),
        (["breakers", "--reset", "model:x"], "nothing was run here yet"),
        (["break", "r", "model:x"], "tool:NAME"),
        (["inject", "r", "a", ""], "empty"),
        (["inject", "r", "a", "hello"], "unknown run 'r'"),
        (["rewind", "r", "n"], "unknown run 'r'"),
        (["fork", "r", "--arguments", "{"], "not JSON"),
        (["prune"], "--older-than"),
        (["prune", "--older-than", "old"], "30d"),
        (["prune", "--max-size", "big"], "500M"),
        (["prune", "--max-size", "1M", "--whole-partitions"], "--older-than 30d"),
    ],
)
def test_what_cannot_be_done_is_said_and_exits_with_2(program: Program, arguments: list[str], told: str) -> None:
    done = program(*arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (program.directory / ".orbiter").exists()


def test_diff_says_where_a_fork_and_its_origin_part(program: Program, parked: Park) -> None:
    parked()
    run = _run(program)
    (forked,) = program.json("fork", run)
    said = program("diff", run, forked["id"])
    assert said.returncode == 0
    assert f"right  {forked['id']}, a fork of {run}" in said.stdout
    assert "they part at" in said.stdout
    same = program("diff", run, run)
    assert same.returncode == 2
    assert "name two, as in: diff RUN FORK" in same.stderr


def test_a_run_that_a_runtime_drives_goes_on_when_the_verb_is_stopped_and_the_verb_says_so(program: Program) -> None:
    with program.serving(), program.start("run", "keeper.py:swarm", "tea", "--json") as following:
        next(line for line in following.stdout if '"incident.opened"' in line)
        following.send_signal(signal.SIGINT)
        _, said = following.communicate(timeout=PATIENCE_S)
        assert following.returncode == 130
        assert f"drives the run on: orbiter-console abort {_run(program)} ends it" in said
