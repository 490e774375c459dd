"""The demo from end to end: four real faults, each answered, and nothing that had succeeded carried out twice."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.console.program import PROGRAM, Program, environment

FILES = {
    "README.md": "# A project\n",
    "tool.py": "x = 1\n",
    "data.json": "{}\n",
    "notes.txt": "costs $$5 and ${result}\n",
}
STEPS = {"list_files": 1, "read_file": 4, "check_file": 4, "ask_reader": 1, "write_report": 1}
"""What the demo's tools do once each for these files; `fetch_index` is tried as often as an operator says so."""


@pytest.fixture
def project(program: Program) -> Program:
    (program.directory / "keeper.py").unlink()
    for name, text in FILES.items():
        (program.directory / name).write_text(text)
    return program


def calls(project: Program) -> list[dict[str, Any]]:
    return [json.loads(line) for line in project.logged(".orbiter/demo/calls.jsonl")]


def counted(project: Program) -> Counter[str]:
    return Counter(str(call["tool"]) for call in calls(project))


def test_it_meets_four_kinds_of_fault_and_comes_to_its_end(project: Program) -> None:
    done = project("demo")
    assert done.returncode == 0, done.stderr
    report = project.directory / ".orbiter" / "reports" / "survey.md"
    assert "For the maintainers" in report.read_text()
    assert all(name in report.read_text() for name in FILES)
    assert "costs $$5 and ${result}" in report.read_text()
    last = done.stdout.splitlines()[-1]
    assert last.startswith("written: the report to .orbiter/reports/survey.md")
    assert "journal.db" in last
    (run,) = project.json("runs")
    (shown,) = project.json("show", run["id"])
    answers = [(each["fault"]["cause"], each["answer"]["option"]) for each in shown["incidents"]]
    assert ("service_unavailable", "retry") in answers
    assert ("permission_denied", "grant") in answers
    assert {"input", "retry", "skip", "grant"} == {option for _, option in answers}
    assert {each["answer"]["by"]["name"] for each in shown["incidents"]} == {"demo operator"}
    assert {each["answer"]["by"]["channel"] for each in shown["incidents"]} == {"rule"}


def test_a_second_one_at_once_meets_the_same_faults(project: Program) -> None:
    for _ in range(2):
        assert project("demo").returncode == 0
    # How often each arises may differ: a call of the catalogue that comes too early asks once more.
    first, second = (
        {each["fault"]["cause"] for each in project.json("show", run["id"])[0]["incidents"]}
        for run in project.json("runs")
    )
    assert first == second
    assert "circuit_open" not in first
    assert project.json("breakers") == []


def test_nothing_that_had_succeeded_is_carried_out_again(project: Program) -> None:
    project("demo")
    found = counted(project)
    assert {name: found[name] for name in STEPS} == STEPS
    # Two calls, each of two attempts, an answer and up to two attempts: the catalogue comes back when one of them was
    # refused four times, for which the other may have been too early.
    assert 7 <= found["fetch_index"] <= 8


def test_siblings_go_on_while_a_node_waits(project: Program) -> None:
    done = project("demo", "--json")
    assert done.returncode == 0
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    retried = next(n for n, event in enumerate(events) if event["type"] == "step.retry_scheduled")
    heard = next(
        n for n, event in enumerate(events) if event["type"] == "incident.opened" and "reader" in event["lineage"]
    )
    between = [event["node_id"] for event in events[retried:heard] if event["type"] == "step.ended"]
    assert any("checker" in node for node in between)


@pytest.mark.parametrize("seen", ["node.opened", "step.started", "incident.opened", "incident.answered"])
def test_killed_in_mid_run_it_goes_on_with_resume(project: Program, seen: str) -> None:
    with project.start("demo", "--json") as process:
        for line in process.stdout:
            if json.loads(line)["type"] == seen:
                process.send_signal(signal.SIGKILL)
                break
        process.wait(timeout=60)
    before = project.json("show", project.json("runs")[0]["id"])[0]
    done_before = {node["id"] for node in before["nodes"] if node["kind"] == "tool" and node["state"] == "succeeded"}
    marks = len(calls(project))
    done = project("demo", "--resume")
    assert done.returncode == 0, done.stderr
    (run,) = project.json("runs")
    assert run["state"] == "completed"
    again = Counter((call["tool"], call.get("path", "")) for call in calls(project)[marks:])
    after = project.json("show", run["id"])[0]
    for node in after["nodes"]:
        if node["id"] in done_before:
            assert again[node["name"], node["requested"]["arguments"].get("path", "")] == 0
    assert counted(project)["write_report"] == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_by_a_signal_it_lets_go_in_order(project: Program, number: signal.Signals) -> None:
    with project.start("demo", "--json") as process:
        next(line for line in process.stdout if json.loads(line)["type"] == "step.retry_scheduled")
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "--resume" in err
    assert "Traceback" not in err
    (run,) = project.json("runs")
    assert run["state"] == "queued"
    assert project("demo", "--resume").returncode == 0
    assert counted(project)["write_report"] == 1


def test_the_same_swarm_runs_on_a_real_models_client(project: Program) -> None:
    """The vendors' own SDKs, against a peer on loopback that says nothing clever but speaks their protocols."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    llmock = [str(Path(sys.executable).with_name("llmock")), "serve", "-p", str(port)]
    with subprocess.Popen(llmock, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as peer:
        try:
            while not answers(port):
                assert peer.poll() is None
            keys = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
            done = project.with_environment(keys)("demo", "--model", "openai:gpt-4.1")
        finally:
            peer.kill()
    assert done.returncode == 0, done.stderr
    (run,) = project.json("runs")
    (shown,) = project.json("show", run["id"])
    models = {node["name"] for node in shown["nodes"] if node["kind"] == "llm"}
    assert models == {"openai:gpt-4.1"}
    assert len([node for node in shown["nodes"] if node["kind"] == "agent"]) == 5


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def test_resume_with_nothing_unfinished_begins_anew(project: Program) -> None:
    done = project("demo", "--resume")
    assert done.returncode == 0
    assert "a new run begins" in done.stderr


class Terminal:
    """A pseudo-terminal with the program in it, and a person who types."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self._leader, follower = pty.openpty()
        self.process = subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=directory,
            env={**environment(), "TERM": "xterm-256color"},
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)
        self.seen = ""

    def until(self, text: str, *, seconds: float = 30) -> str:
        """What was written up to and with `text`, since the last time."""
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self._leader], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{text!r} did not come; the end of what did: {self.seen[-2000:]}"
            try:
                piece = os.read(self._leader, 65536)
            except OSError as exc:  # EIO: no process is left at the other end
                raise AssertionError(f"{text!r} did not come before the end: {self.seen[-2000:]}") from exc
            self.seen += piece.decode()
        found, _, self.seen = self.seen.partition(text)
        return found + text

    def type(self, line: str) -> None:
        time.sleep(0.5)  # a person reads first: what comes sooner than 0.4 s is not taken for an answer
        os.write(self._leader, line.encode() + b"\n")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._leader)


def test_at_a_terminal_it_asks(project: Program) -> None:
    terminal = Terminal(project.directory, "demo", "--linear")
    try:
        while True:
            asked = terminal.until("q to leave it]:").rpartition("waits for an answer")[2]
            if "question:" in asked:
                terminal.type("input")
                terminal.until("your answer (Enter: back")
                terminal.type("my aunt")
            elif "permission" in asked:
                terminal.type("1")
                terminal.until("for how long?")
                terminal.type("once")
                break
            elif "fetch_index" in asked:
                terminal.type("skip")
                terminal.until("what the steps after it get")
                terminal.type("")
            else:
                terminal.type("retry")
        terminal.until("written: the report")
        assert terminal.process.wait(timeout=60) == 0
    finally:
        terminal.close()
    assert "For my aunt." in (project.directory / ".orbiter/reports/survey.md").read_text()
    (shown,) = project.json("show", project.json("runs")[0]["id"])
    assert {each["answer"]["by"]["channel"] for each in shown["incidents"]} == {"cli"}


def test_who_reads_no_further_is_told_how_it_goes_on(project: Program) -> None:
    piped = f"{PROGRAM[0]} demo | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", piped],
        cwd=project.directory,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGPIPE
    assert len(done.stdout.splitlines()) == 1
    assert "the same with --resume goes on" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert project("demo", "--resume").returncode == 0
    assert max(counted(project)["write_report"], counted(project)["ask_reader"]) == 1


def test_what_was_typed_before_a_question_answers_nothing(project: Program) -> None:
    terminal = Terminal(project.directory, "demo", "--linear")
    try:
        terminal.until(" started")
        terminal.type("abort\nabort\nabort")
        terminal.until("q to leave it]:")
        terminal.type("q")
        assert terminal.process.wait(timeout=60) == 3
    finally:
        terminal.close()
    (run,) = project.json("runs")
    assert run["open_incidents"] >= 1
