"""The verbs on a workspace on Postgres; a journal carried there and back. Each machine has a home of its own."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.operations.decisions import Decisions
from runtime.operations.run_controls import RunControls
from runtime.record.places import open_journal
from runtime.record.state.events import Actor, dump_event
from tests.console.program import SWARM, Program

SLOW = '''"""One agent with a tool that takes as long as the test wants."""

import pathlib
import time

from orbiter import Agent, Swarm, tool
from orbiter.models.scripted.provider import Call, Reply, script


@tool(idempotent=True)
def wait() -> str:
    """Wait until there is a file."""
    with open("waited.log", "a") as log:
        log.write("waits\\n")
    while not pathlib.Path("go").exists():
        time.sleep(0.02)
    return "done"


@script("waiter")
def waiter(messages, tools):
    return [Reply(calls=[Call("wait", {})]), Reply("waited")][sum(message.role == "assistant" for message in messages)]


swarm = Swarm(agents=[Agent(name="waiter", model="scripted:waiter", tools=[wait])])
'''

Machine = Callable[[str], Program]


@pytest.fixture
def machine(tmp_path: Path, postgres_url: str) -> Machine:
    """The program in one workspace on Postgres, as on the machine of this name."""
    place = tmp_path / "work"
    place.mkdir()
    (place / "keeper.py").write_text(SWARM)
    (place / "slow.py").write_text(SLOW)

    def made(name: str) -> Program:
        home = tmp_path / name
        home.mkdir(exist_ok=True)
        return Program(place, {"ORBITER_WORKSPACE": postgres_url, "HOME": str(home)})

    assert made("here")("database", "init").returncode == 0
    return made


def test_a_run_is_started_answered_and_carried_on(machine: Machine, postgres_url: str) -> None:
    here = machine("here")
    assert here.json("runs") == []
    done = here("run", "keeper.py:swarm", "tea")
    assert done.returncode == 3, done.stderr
    (run,) = here.json("runs")
    assert run["state"] == "waiting"
    (incident,) = here.json("incidents")
    assert here("report", str(incident["id"])).returncode == 0
    assert here("answer", str(incident["id"]), "grant").returncode == 0
    with here.serving():
        assert here.until_over() == "completed"
        (told,) = here.json("show", str(run["id"]))
        assert told["state"] == "completed"
    assert here.logged("stored.log") == ["a.txt"]
    assert not (here.directory / ".orbiter").exists()
    checked = here("doctor", "--json")
    findings = {row["id"]: row for row in map(json.loads, checked.stdout.splitlines())}
    assert findings["integrity"]["state"] == "ok"
    assert "PostgreSQL" in findings["journal"]["detail"]
    option = Program(here.directory, {"HOME": str(here.directory)})("--workspace", postgres_url, "runs", "--json")
    assert [json.loads(line)["id"] for line in option.stdout.splitlines()] == [run["id"]]


def test_an_answer_of_another_machine_is_acted_on(machine: Machine) -> None:
    here, there = machine("here"), machine("there")
    with here.serving():
        assert there("run", "keeper.py:swarm", "tea").returncode == 3
        (incident,) = there.json("incidents")
        assert there("answer", str(incident["id"]), "grant").returncode == 0
        assert there.until_over() == "completed"
    assert here.logged("looked.log") == ["tea"]


def test_that_nothing_drives_is_said_where_no_machine_does(machine: Machine) -> None:
    here, there = machine("here"), machine("there")
    assert there("run", "keeper.py:swarm", "tea").returncode == 3
    (run,) = there.json("runs")
    (incident,) = there.json("incidents")
    assert "nothing drives this workspace" in there("freeze", str(run["id"])).stderr
    with here.start("worker"):
        while not there.json("workers")[0]["workers"]:
            pass  # it has not said yet that it is there
        for words in (["thaw", str(run["id"])], ["answer", str(incident["id"]), "grant"]):
            done = there(*words)
            assert (done.returncode, "nothing drives" in done.stderr) == (0, False), done.stderr
        assert there.until_over() == "completed"


def test_the_runs_of_a_machine_that_dies_go_on_at_another(machine: Machine) -> None:
    here, there = machine("here"), machine("there")
    with here.start("run", "slow.py:swarm", "x") as dying:
        while not here.logged("waited.log"):
            assert dying.poll() is None
        dying.send_signal(signal.SIGKILL)
    with there.serving():
        (here.directory / "go").touch()
        assert there.until_over() == "completed"
    (run,) = there.json("runs")
    (shown,) = there.json("show", str(run["id"]))
    assert shown["state"] == "completed"
    assert here.logged("waited.log") == ["waits", "waits"], "the step that was cut off is carried out once more"


def test_a_journal_goes_to_postgres_and_back_with_what_waits(machine: Machine, tmp_path: Path) -> None:
    here = machine("here")
    before = Program(here.directory, {"HOME": str(tmp_path / "here")})
    assert before("run", "keeper.py:swarm", "tea").returncode == 3
    (incident,) = before.json("incidents")
    refused = here("database", "export", ".orbiter")
    assert (refused.returncode, "holds a journal" in refused.stderr) == (1, True)
    (moved,) = here.json("database", "import", ".orbiter")
    assert moved["events"] > 0
    assert here.json("incidents") == [incident]
    again = here("database", "import", ".orbiter")
    assert (again.returncode, "is not empty" in again.stderr) == (1, True)
    assert here("answer", str(incident["id"]), "grant").returncode == 0
    with here.serving():
        assert here.until_over() == "completed"
        busy = here("database", "export", "back")
        assert busy.returncode == 0, "nothing is driven any more"
    back = before.with_environment({"HOME": str(tmp_path / "here"), "ORBITER_STATE": "back"})
    (shown,) = back.json("runs")
    assert shown["state"] == "completed"
    assert len(list((here.directory / "back").glob("*.db"))) == 1

    async def events(place: Path | str) -> list[str]:
        async with await open_journal(place, readonly=True) as journal:
            return [dump_event(placed.event) for placed in await journal.latest(limit=1_000)]

    url = here._variables["ORBITER_WORKSPACE"]
    assert asyncio.run(events(here.directory / "back")) == asyncio.run(events(url))


def test_what_is_driven_is_not_exported(machine: Machine) -> None:
    here = machine("here")
    with here.start("run", "slow.py:swarm", "x") as driving:
        while not here.logged("waited.log"):
            assert driving.poll() is None
        refused = here("database", "export", "copy")
        assert (refused.returncode, "runs are driven now" in refused.stderr) == (1, True)
        assert not list((here.directory / "copy").glob("*"))
        (here.directory / "go").touch()
        assert driving.wait(timeout=50) == 0


def test_a_password_in_the_address_is_refused_and_not_repeated(program: Program) -> None:
    for words in (["runs"], ["serve"], ["database", "init"], []):
        done = program("--workspace", "postgres://ann:hunter2@host/db?workspace=news", *words)
        assert done.returncode == 2
        assert "must not hold a password" in done.stderr
        assert "hunter2" not in done.stdout + done.stderr


def test_mistakes_with_databases_are_said_in_words(program: Program) -> None:
    for words, told in (
        (["database", "init"], "name a workspace on Postgres: orbiter-console --workspace 'postgres://"),
        (["--workspace", "here", "runs"], "a directory by --state"),
        (
            ["--workspace", "postgres://127.0.0.1:1/db?workspace=news", "database", "import", "nowhere"],
            "is not a directory: name a state directory, for example .orbiter",
        ),
    ):
        done = program(*words)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False)
        assert told in done.stderr
    alone = program.with_environment({"HOME": str(program.directory)})
    address = ("--workspace", "postgres://127.0.0.1:1/db?workspace=news")
    findings = {row["id"]: row for row in map(json.loads, alone(*address, "doctor", "--json").stdout.splitlines())}
    assert (findings["journal"]["state"], findings["journal"]["advice"]) == ("fail", ""), "the journal is not a file"
    gone = alone(*address, "runs")
    assert gone.returncode == 1
    assert gone.stderr.startswith("cannot connect in postgres://127.0.0.1:1/db?workspace=news: ")
    assert "Traceback" not in gone.stderr


NEW_WORKER = ("worker", "--code", "v2", "--queue", "default", "--queue", "mail")


def test_workers_drain_and_a_run_that_has_no_worker_is_told_of(machine: Machine, postgres_url: str) -> None:
    here = machine("here")
    refused = Program(here.directory)("worker")
    assert (refused.returncode, "worker needs a workspace on Postgres" in refused.stderr) == (2, True)
    with here.start("worker", "--slots", "2", "--code", "v1") as old, here.start(*NEW_WORKER) as new:
        assert any("2 slots, code v1" in line for line in old.stderr)
        assert any("code v2, queue default, mail" in line for line in new.stderr)
        (told,) = here.json("workers")
        assert sorted((each["code"], each["slots"], each["state"]) for each in told["workers"]) == [
            ("v1", 2, "working"),
            ("v2", 64, "working"),
        ]
        run = asyncio.run(start_labelled(postgres_url, here.directory, "v1"))
        while not here.logged("waited.log"):
            assert old.poll() is None
        old.send_signal(signal.SIGTERM)
        while "draining" not in [each["state"] for each in here.json("workers")[0]["workers"]]:
            assert old.poll() is None
        (here.directory / "go").touch()
        assert old.wait(timeout=60) == 0
        (told,) = here.json("workers")
        assert [(each["code"], each["queues"]) for each in told["workers"]] == [("v2", ["default", "mail"])]
        assert told["unserved"] == [{"code": "v1", "queue": "default", "runs": [run], "queue_error": "", "refused": ""}]
        inbox = here("incidents")
        assert "waits for a worker with code 'v1'" in inbox.stderr
        (moved,) = here.json("move", run, "--code", "v2", "--queue", "mail")
        assert moved["id"] == run
        assert here.until_over() == "completed"
        assert here.logged("waited.log") == ["waits"], "the step under way came to its end"
        assert here.json("workers")[0]["unserved"] == []


def test_a_followed_run_says_that_no_worker_takes_its_queue(machine: Machine) -> None:
    here = machine("here")
    (here.directory / "go").touch()
    with here.start("run", "--queue", "gpu", "slow.py:swarm", "x") as followed:
        said = followed.stderr.readline()
        assert "1 run waits for a worker" in said
        assert "gpu" in said
        assert "move RUN" in said
        with here.start("worker", "--queue", "gpu") as worker:
            assert followed.wait(timeout=50) == 0
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(timeout=60) == 0


async def start_labelled(url: str, root: Path, code: str) -> str:
    """A run for code of this label."""
    async with await open_journal(url) as journal:
        by = Actor(name="ann", channel="cli")
        controls = RunControls(journal)
        await controls.freeze(by=by)
        run = await Decisions(journal, root).start(f"{root / 'slow.py'}:swarm", "x", by=by)
        await controls.move(run, code=code, by=by)
        await controls.thaw(by=by)
    return run
