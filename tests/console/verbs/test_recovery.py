"""Permissions, bulk answers, audit, digest and exports from the command line, each a process of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.console.program import Program

QUESTIONS = r"""
from orbiter import Agent, Swarm, tool
from orbiter.ask import ask_operator
from orbiter.models.scripted.provider import Call, Reply, script

SCHEMAS = {
    "several": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    "secret": {"type": "string", "format": "password"},
    "file": None,
}


@tool(idempotent=True)
async def quiz(kind: str) -> str:
    answer = await ask_operator(kind + "?", SCHEMAS[kind])
    with open("answers.log", "a") as log:
        log.write(f"{kind} {type(answer).__name__} {len(answer)}\n")
    return "thanks"


@script("quizzer")
def quizzer(messages, tools):
    said = next(message.content for message in reversed(messages) if message.role == "user")
    turn = sum(message.role == "assistant" for message in messages)
    return [Reply(calls=[Call("quiz", {"kind": said})]), "done"][turn]


swarm = Swarm(agents=[Agent(name="quizzer", model="scripted:quizzer", tools=[quiz])])
"""


def test_a_grant_is_previewed_listed_with_its_uses_and_taken_back(program: Program, parked: Callable[[], str]) -> None:
    incident = parked()
    dry = program("answer", incident, "grant", "--for", "always", "--pattern", "**", "--until", "7d", "--dry-run")
    assert dry.returncode == 0
    assert "keeper may fs.write:**, always until" in dry.stderr
    assert "would have matched 0 past actions and 1 pending" in dry.stderr
    assert program.json("grants") == []
    once = program("answer", incident, "grant", "--dry-run")
    assert once.returncode == 0
    assert f"once: this very call and no other, fs.write:{program.directory}/" in once.stderr
    assert program("answer", incident, "grant", "--for", "ever", "--dry-run").returncode == 2
    assert program("answer", incident, "deny", "--dry-run").returncode == 2
    refused = program("answer", incident, "grant", "--for", "always", "--pattern", "elsewhere/*")
    assert refused.returncode == 2
    assert "does not cover" in refused.stderr
    given = program("answer", incident, "grant", "--for", "always", "--pattern", "*", "--until", "7d")
    assert given.returncode == 0, given.stderr
    assert "1 pending" in given.stderr
    done = program("run", "keeper.py:swarm", "--resume")
    assert done.returncode == 0, done.stderr
    (grant,) = program.json("grants")
    assert (grant["state"], grant["uses"], grant["verb"]) == ("in force", 1, "fs.write")
    assert grant["pattern"] == f"{program.directory}/*"
    assert program.json("revoke", grant["id"]) == [{"id": grant["id"], "state": "revoked"}]
    assert program.json("grants") == []
    (gone,) = program.json("grants", "--all")
    assert (gone["state"], gone["uses"]) == ("revoked", 1)
    again = program("revoke", grant["id"])
    assert again.returncode == 2
    assert "orbiter-console grants" in again.stderr
    # What comes after is asked about again.
    assert program("run", "keeper.py:swarm", "more tea").returncode == 3


@pytest.mark.parametrize("verb", ["audit", "digest"])
def test_a_date_that_is_in_no_calendar_is_refused_by_name(
    program: Program, parked: Callable[[], str], verb: str
) -> None:
    parked()
    for since, said in (("99999999999d", "out of range"), ("yesterday", "must be a date")):
        refused = program(verb, "--since", since)
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr


def test_the_audit_says_who_decided_what_and_the_digest_what_came_since(
    program: Program, parked: Callable[[], str]
) -> None:
    incident = parked()
    assert program("answer", incident, "grant", "--reason", "it is only tea").returncode == 0
    assert program("run", "keeper.py:swarm", "--resume").returncode == 0
    decisions = program.json("audit")
    (answered,) = [each for each in decisions if each["what"] == "answered"]
    assert (answered["option"], answered["channel"], answered["reason"]) == ("grant", "cli", "it is only tea")
    assert answered["seconds"] > 0
    assert answered["incident_id"] == incident
    assert program.json("audit", "--by", "nobody") == []
    assert "it is only tea" in program("audit").stdout
    (first,) = program.json("digest")
    assert (first["started"], first["ended"], first["opened"], first["open_now"]) == (1, {"completed": 1}, 1, 0)
    (second,) = program.json("digest")
    assert (second["started"], second["runs"]) == (0, [])
    assert second["since"] is not None
    (whole,) = program.json("digest", "--since", "1h", "--keep")
    assert whole["started"] == 1
    assert program("audit", "--since", "yesterdayish").returncode == 2


def test_an_export_opens_read_only_elsewhere_and_holds_no_key(
    program: Program, parked: Callable[[], str], tmp_path: Path
) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    program("run", "keeper.py:swarm", f"tea with {key}")
    (incident,) = program.json("incidents")
    place = tmp_path / "elsewhere"
    place.mkdir()
    out = place / "run.orbiter"
    assert program("export", incident["run_id"], "-o", str(out)).returncode == 0
    assert out.stat().st_mode & 0o077 == 0
    assert key not in out.read_text()
    for nowhere in (out / "x", tmp_path):
        told = program("export", incident["run_id"], "-o", str(nowhere))
        assert (told.returncode, "cannot be written" in told.stderr) == (2, True), told.stderr
    over = program("export", incident["run_id"], "-o", str(out))
    assert over.returncode == 2
    assert "--force" in over.stderr
    elsewhere = Program(place)
    (shown,) = elsewhere.json("show", "--file", "run.orbiter")
    assert (shown["id"], shown["state"]) == (incident["run_id"], "waiting")
    assert [each["id"] for each in shown["incidents"]] == [incident["id"]]
    (report,) = elsewhere.json("report", "--file", "run.orbiter")
    assert report["error_type"] == "permission_denied"
    assert "ERROR REPORT" in elsewhere("report", "--file", "run.orbiter").stdout
    assert not (place / ".orbiter").exists()
    assert program("export", incident["run_id"], "--html", str(place / "run.html")).returncode == 0
    assert key not in (place / "run.html").read_text()
    assert elsewhere.json("report", "--file", "run.html") == [report]
    whole = program("export", incident["id"], "-o", "-")
    assert json.loads(whole.stdout.splitlines()[0])["incident_id"] == incident["id"]
    (place / "broken").write_text("{}\n")
    broken = elsewhere("show", "--file", "broken")
    assert broken.returncode == 2
    assert "line 1 is not the header" in broken.stderr


def test_answers_for_all_that_are_the_same_begin_with_one(program: Program, parked: Callable[[], str]) -> None:
    parked()
    for task in ("coffee", "water"):
        assert program("run", "keeper.py:swarm", task).returncode == 3
    waiting = program.json("incidents")
    assert len({each["fingerprint"] for each in waiting}) == 1
    (group,) = program.json("incidents", "--grouped")
    assert (group["id"], group["like_this"]) == (waiting[0]["id"], 3)
    # No process drives them: the first does not prove right, and the others are left alone.
    held = program("answer", waiting[0]["id"], "grant", "--like-this", "--proof", "0.2", "--json")
    assert held.returncode == 1
    states = [json.loads(line)["state"] for line in held.stdout.splitlines()]
    assert states == ["not proven", "held", "held"]
    assert len(program.json("incidents")) == 2
    with program.start("serve", "--foreground") as serving:
        try:
            # It was answered, and now that a process drives it, goes on: the others get what it got.
            done = program("answer", waiting[0]["id"], "grant", "--like-this", "--json")
        finally:
            serving.terminate()
            serving.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["state"] for line in done.stdout.splitlines()] == ["went on"] * 3
    assert program.json("grants") == []
    assert len(program.logged("stored.log")) == 3


def test_answers_may_be_several_a_file_or_a_secret_that_no_file_holds(program: Program) -> None:
    (program.directory / "questions.py").write_text(QUESTIONS)
    (program.directory / "long.txt").write_text("a long answer\n" * 100)

    def asked(kind: str) -> str:
        assert program("run", "questions.py:swarm", kind).returncode == 3
        return str(program.json("incidents")[-1]["id"])

    several = asked("several")
    wrong = program("answer", several, "input", "--value", "c")
    assert wrong.returncode == 2
    assert "should be one of 'a', 'b'" in wrong.stderr
    assert program("answer", several, "input", "--value", "a", "--value", "b").returncode == 0
    assert program("answer", asked("file"), "input", "--file", "long.txt").returncode == 0
    secret = asked("secret")
    with program.start("serve", "--foreground") as serving:
        try:
            # The runtime that will use the secret asks for it: the one that opened the question is gone.
            assert program("answer", secret, "input", "--value", "first hunter2").returncode == 0
            again = next_incident(program, secret)
            given = program("answer", again, "input", "--value", "second hunter2", "--json")
            assert given.returncode == 0, given.stderr
            assert json.loads(given.stdout)["params"] == {"value": "(secret)"}
            wait_for(lambda: len(program.logged("answers.log")) == 3)
        finally:
            serving.terminate()
            serving.communicate(timeout=60)
    assert sorted(program.logged("answers.log")) == ["file str 1400", "secret str 14", "several list 2"]
    for path in (program.directory / ".orbiter").iterdir():
        if path.is_file():
            assert b"hunter2" not in path.read_bytes(), path


def next_incident(program: Program, old: str) -> str:
    found: list[str] = []

    def there() -> bool:
        found[:] = [each["id"] for each in program.json("incidents") if each["id"] != old]
        return bool(found)

    wait_for(there)
    return found[0]


def wait_for(fact: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not fact():
        assert time.monotonic() < until, "it never became true"
        time.sleep(0.05)
