"""The verbs on a journal, in processes of their own: what they print, where, and with which exit code."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from console.cli import cli
from tests.console.program import Program

Park = Callable[[], str]


def test_a_run_without_a_terminal_waits_with_exit_code_3(program: Program, parked: Park) -> None:
    parked()
    (run,) = program.json("runs")
    assert run["state"] == "waiting"
    assert run["open_incidents"] == 1
    assert program.logged("looked.log") == ["tea"]
    assert program.logged("stored.log") == []


def test_an_answer_with_nothing_alive_and_then_serve_goes_on_from_the_failed_step(
    program: Program, parked: Park
) -> None:
    incident = parked()
    done = program("answer", incident, "grant", "--json")
    assert done.returncode == 0
    assert '"option": "grant"' in done.stdout
    assert "nothing drives this workspace" in done.stderr
    with program.serving():
        assert program.until_over() == "completed"
    assert program.logged("looked.log") == ["tea"]
    assert program.logged("stored.log") == ["a.txt"]
    (shown,) = program.json("show", program.json("runs")[0]["id"])
    assert shown["output"] == "kept: stored"
    assert shown["incidents"][0]["answer"]["by"]["channel"] == "cli"


def test_resume_takes_up_the_run_that_waits(program: Program, parked: Park) -> None:
    program("answer", parked(), "grant")
    done = program("run", "keeper.py:swarm", "tea", "--resume")
    assert done.returncode == 0, done.stderr
    assert len(program.json("runs")) == 1
    assert program.logged("looked.log") == ["tea"]
    assert program.logged("stored.log") == ["a.txt"]


def test_resume_begins_nothing_again_that_has_ended(program: Program, parked: Park) -> None:
    program("answer", parked(), "grant")
    assert program("run", "keeper.py:swarm", "tea", "--resume").returncode == 0
    (run,) = program.json("runs")
    again = program("run", "keeper.py:swarm", "tea", "--resume")
    assert (again.returncode, again.stdout.splitlines()[-1].strip()) == (0, "kept: stored")
    assert f"run {run['id']} has ended already: it is completed; without --resume a new run begins" in again.stderr
    assert program.json("runs") == [run]
    assert (program.logged("looked.log"), program.logged("stored.log")) == (["tea"], ["a.txt"])


def test_resume_answers_no_task_with_the_result_of_another(program: Program) -> None:
    """Though both begin alike for longer than a summary keeps; without INPUT only a run without INPUT counts."""
    (program.directory / "teller.py").write_text(TELLER)
    same, other = (f"{'As always, be kind. ' * 20}{number}" for number in (1, 2))
    told = [same]
    assert program("run", "teller.py:swarm", same).returncode == 0
    for given, begins in ((other, True), (other, False), (same, False), ("", True), ("", False), (same[:200], True)):
        done = program("run", "teller.py:swarm", *filter(None, [given]), "--resume")
        assert (done.returncode, "there was nothing to resume" in done.stderr) == (0, begins), done.stderr
        told += [given] * begins
        assert program.logged("told.log") == [repr(each) for each in told]


def test_answers_while_another_process_drives(program: Program, parked: Park) -> None:
    with program.serving():
        incident = parked()
        assert program("answer", incident, "deny", "--message", "not today").returncode == 0
        assert program.until_over() == "completed"
    assert program.json("show", program.json("runs")[0]["id"])[0]["output"].startswith("kept: Denied by the operator")
    assert program.logged("stored.log") == []


def test_a_second_answer_is_refused_and_says_who_was_first(program: Program, parked: Park) -> None:
    incident = parked()
    assert program("answer", incident, "grant").returncode == 0
    late = program("answer", incident, "abort")
    assert late.returncode == 2
    assert "'grant'" in late.stderr
    assert late.stdout == ""


def test_a_report_reads_and_parses(program: Program, parked: Park) -> None:
    incident = parked()
    done = program("report", incident)
    assert done.returncode == 0
    assert "ERROR REPORT" in done.stdout
    assert "store" in done.stdout
    (report,) = program.json("report", incident)
    assert (report["id"], report["state"]) == (incident, "open")
    assert report["options"][0]["id"] == "grant"


def test_a_report_says_what_each_answer_will_do(program: Program, parked: Park) -> None:
    incident = parked()
    (report,) = program.json("report", incident)
    told = program("report", incident, "--plain").stdout
    for option in report["options"]:
        safe = " (the safe default)" if option["id"] == report["safe"] else ""
        assert f"- {option['id']}{safe}: {report['explanation']['consequences'][option['id']]['text']}\n" in told


def test_abort_ends_a_run_that_nothing_drives(program: Program, parked: Park) -> None:
    parked()
    run = program.json("runs")[0]["id"]
    refused = program("abort", "")
    assert refused.returncode == 2
    assert "unknown run ''" in refused.stderr, "an empty variable of a script begins every id"
    (told,) = program.json("abort", run, "--reason", "no longer needed")
    assert told["id"] == run
    assert told["state"] == "queued"
    assert program("run", "keeper.py:swarm", "tea", "--resume").returncode == 1
    assert program.json("show", run)[0]["state"] == "aborted"
    again = program("abort", run)
    assert again.returncode == 2
    assert "aborted" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "missing.py:swarm", "x"], "no such file"),
        (["run", "keeper.py:nothing", "x"], "it defines: swarm"),
        (["run", "keeper.py", "x"], "path/to/file.py:name"),
        (["run", "broken.py:swarm", "x"], "broken.py, line 2"),
        (["run", "console.py:swarm", "x"], "would hide"),
        (["run", "other.py:number", "x"], "other.py:number is an int, not an agent or a swarm: name the variable"),
        (["run", "other.py:swarm", "x"], "it defines nothing that runs: write an agent or a swarm into it"),
        (["--state", "broken.py", "runs"], "broken.py must be a directory"),
        (["--state", "broken.py", "serve"], "name another with --state DIR"),
        (["show", "nonesuch"], "orbiter-console runs"),
        (["report", "nonesuch"], "orbiter-console incidents"),
        (["answer", "nonesuch", "retry"], "orbiter-console incidents"),
        (["abort", "nonesuch"], "orbiter-console runs"),
        (["demo", "--model", "gpt"], "provider:name"),
        (["--embedded", "demo"], "not for demo: --embedded; write it after the verb: demo --embedded"),
        (["--embedded", "runs"], "not for runs: --embedded\n"),
        (["nonesuch"], "unknown verb 'nonesuch'"),
        (["serve", "--python", "nonesuch/python"], "nonesuch/python"),
    ],
)
def test_bad_input_says_what_to_do_and_exits_with_2(program: Program, arguments: list[str], told: str) -> None:
    (program.directory / "broken.py").write_text("import os\nswarm = = 3\n")
    (program.directory / "console.py").write_text("swarm = 3\n")
    (program.directory / "other.py").write_text("number = 3\n")
    done = program(*arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_bad_answers_change_nothing(program: Program, parked: Park) -> None:
    incident = parked()
    for wrong, told in (
        (["retry"], "takes grant, deny"),
        (["grant", "--for", "ever"], "once, run, swarm, always"),
        (["grant", "--arguments", "[1]"], "that is JSON, but no object"),
        (["grant", "--arguments", "{"], "not JSON"),
    ):
        done = program("answer", incident, *wrong)
        assert done.returncode == 2
        assert told in done.stderr
    assert [each["id"] for each in program.json("incidents")] == [incident]


TELLER = """
from orbiter import Agent
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Reply


def tell(messages, tools):
    with open("told.log", "a") as log:
        print(repr(messages[-1].content), file=log)
    return Reply("told")


script("teller", tell)
swarm = Agent(name="teller", model="scripted:teller")
"""


DYING = '''
import os, signal
from orbiter import Agent, Swarm, tool
from orbiter.models.scripted.provider import Call, Reply, Script, script

script("dying", Script([Reply(calls=[Call("send")]), "sent: ${result}"]))


@tool
def send() -> str:
    """Send a letter: not to be done twice."""
    with open("sent.log", "a") as log:
        print("letter", file=log)
    if os.environ.get("DIE"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "sent"


swarm = Swarm(agents=[Agent(name="clerk", model="scripted:dying", tools=[send])])
'''


def test_a_step_in_doubt_is_asked_about_and_not_done_again(program: Program) -> None:
    (program.directory / "dying.py").write_text(DYING)
    assert program.with_environment({"DIE": "1"})("run", "dying.py:swarm", "write").returncode == -signal.SIGKILL
    assert program.logged("sent.log") == ["letter"]
    assert program("run", "dying.py:swarm", "write", "--resume").returncode == 3
    (incident,) = program.json("incidents")
    assert incident["in_doubt"]
    assert [option["id"] for option in incident["options"]][:2] == ["result", "retry"]
    assert program("answer", incident["id"], "result", "--value", "it was posted").returncode == 0
    assert program("run", "dying.py:swarm", "write", "--resume").returncode == 0
    assert program.logged("sent.log") == ["letter"]
    assert program.json("show", program.json("runs")[0]["id"])[0]["output"] == "sent: it was posted"


BROKEN_STAGE = """
from orbiter import Agent, Swarm
from orbiter.models.scripted.provider import Script, script

script("echo", Script(["got: ${input}"], repeat=True))


def instructions(name):
    raise RuntimeError("no instructions today")


swarm = Swarm(
    agents=[
        Agent(name="first", model="scripted:echo", instructions=instructions),
        Agent(name="second", model="scripted:echo"),
    ]
)
"""


def test_a_skipped_agent_is_passed_over_and_the_next_one_runs(program: Program) -> None:
    (program.directory / "stages.py").write_text(BROKEN_STAGE)
    assert program("run", "stages.py:swarm", "tea").returncode == 3
    (incident,) = program.json("incidents")
    assert "no instructions today" in incident["message"]
    assert program("answer", incident["id"], "skip", "--value", "coffee").returncode == 0
    done = program("run", "stages.py:swarm", "tea", "--resume")
    assert done.returncode == 0, done.stderr
    (shown,) = program.json("show", program.json("runs")[0]["id"])
    assert shown["output"] == "got: coffee"
    assert shown["state"] == "degraded"


def test_a_missing_key_is_said_before_anything_begins(program: Program) -> None:
    done = program("demo", "--model", "groq:llama-3")
    assert done.returncode == 2
    assert "GROQ_API_KEY" in done.stderr
    assert program.json("runs") == []


def test_lists_of_an_empty_workspace_are_empty(program: Program) -> None:
    for verb in ("runs", "incidents"):
        assert program.json(verb) == []
        done = program(verb)
        assert (done.returncode, done.stdout) == (0, "")
    assert not (program.directory / ".orbiter").exists()


def test_state_may_lie_elsewhere(program: Program, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    assert program("--state", elsewhere, "run", "keeper.py:swarm", "tea").returncode == 3
    assert len(program.json("runs", "--state", elsewhere)) == 1
    assert program.json("runs") == []


def test_doctor_finds_this_installation_sound(program: Program, parked: Park) -> None:
    found = {each["id"]: each for each in program.json("doctor")}
    assert found["python"]["state"] == "ok"
    assert "does not exist yet" in found["state"]["detail"]
    parked()
    found = {each["id"]: each for each in program.json("doctor")}
    assert "1 run, 1 open incident" in found["journal"]["detail"]


def test_doctor_says_what_is_broken(program: Program) -> None:
    state = program.directory / ".orbiter"
    state.mkdir()
    (state / "journal.db").write_bytes(b"this is not a database, whatever its name says" * 100)
    done = program("doctor")
    assert done.returncode == 1
    assert "fail journal" in done.stdout


def test_the_examples_run_as_they_stand(program: Program) -> None:
    examples = Path(__file__).parents[3] / "examples"
    review = program("run", f"{examples}/review.py:swarm", f"{examples}/review.py")
    assert review.returncode == 0, review.stderr
    assert "Without a docstring" in review.stdout
    helpdesk = program("run", f"{examples}/helpdesk.py:swarm", "What would returning 3 lamps cost?")
    assert helpdesk.returncode == 0, helpdesk.stderr
    assert "64.60" in helpdesk.stdout


def test_what_is_logged_goes_through_the_gate(program: Program) -> None:
    (program.directory / "evil.py").write_text(
        "from orbiter import Agent\n"
        "from orbiter.models.scripted.provider import script\n"
        "@script('evil/model')\n"
        "def said(messages, tools):\n"
        "    raise ValueError('key invalid \\x1b]0;owned\\x07\\x1b[2J bad\\nFORGED')\n"
        "swarm = Agent(name='evil', model='scripted:evil/model')\n"
    )
    done = program("run", "evil.py:swarm", "hi")
    assert done.returncode == 3, done.stderr
    for stream in (done.stdout, done.stderr):
        assert "\x1b" not in stream
        assert "\x07" not in stream
        assert not any(line.startswith("FORGED") for line in stream.splitlines())
    assert "owned" in done.stdout + done.stderr


def test_what_was_typed_comes_back_through_the_gate() -> None:
    hostile = "a\x1b]0;owned\x07\u202e\x9b2J\nFORGED: line"
    for asked in (["runs", hostile], [hostile], ["runs", f"--{hostile}"], ["classify", hostile], ["replay", hostile]):
        done = CliRunner().invoke(cli, asked)
        assert done.exit_code == 2, done.output
        assert "owned" in done.output
        assert not any(char in done.output for char in "\x1b\x07\x9b\u202e")
        assert "\nFORGED" not in done.output
        assert CliRunner().invoke(cli, asked, env={"ORBITER_ASCII": "1"}).output.isascii()
