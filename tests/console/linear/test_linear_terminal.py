"""The linear mode at a real terminal: a standing grant is shown before it is given, a secret is not shown at all."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.console.program import Program
from tests.console.pseudo_terminal import ConsoleTerminal, Terminal

SWARM = r'''
import asyncio

from orbiter import Agent, ParallelGroup, Swarm, tool
from orbiter.ask import ask_operator
from orbiter.models.scripted.provider import Call, Reply, script


@tool(permissions=("fs.write:{path}",))
def store(path: str) -> str:
    """Store a text."""
    return "stored"


@tool(idempotent=True)
async def login(host: str) -> str:
    """Ask for a password."""
    said = await ask_operator(f"password of {host}?", {"type": "string", "format": "password"})
    return f"a password of {len(said)}"


@tool(idempotent=True)
async def later(what: str) -> str:
    """Take a moment, while an operator is being asked."""
    await asyncio.sleep(2)
    return what


script("keeper", [Reply(calls=[Call("store", {"path": "data/a.txt"}), Call("later", {"what": "by the way"})]),
                  Reply(calls=[Call("login", {"host": "db"})]), "done: ${result}"])
swarm = Swarm(agents=[Agent(name="keeper", model="scripted:keeper", tools=[store, login, later])])
'''


def answer(terminal: Terminal, question: str, line: str) -> None:
    terminal.until(question)
    terminal.quiet(0.5)  # a person reads first: what comes sooner is not taken for an answer
    terminal.press(f"{line}\r")


def test_a_grant_is_shown_first_the_question_stands_again_and_a_secret_is_not_seen(program: Program) -> None:
    (program.directory / "asks.py").write_text(SWARM)
    with ConsoleTerminal("run", "asks.py:swarm", "go", cwd=program.directory, size=(160, 40)) as terminal:
        terminal.until(
            "is not granted [1 grant, 2 deny, 3 edit, 4 result, 5 skip, 6 abort, ? the whole report, q to leave it]:"
        )
        assert "see what it would cover, and type yes." in " ".join(terminal.text.split()), "y is a key of the console"
        # A line goes by; the question is said again beneath it.
        while "q to leave it]:" not in terminal.text.partition("done after ")[2]:
            terminal.quiet(0.1)
        terminal.quiet(0.5)
        terminal.press("?\r")
        answer(terminal, "Error Report", "grant")
        answer(terminal, "for how long?", "always")
        answer(terminal, "for which agent", "")
        answer(terminal, "what it covers", "data/*")
        answer(terminal, "until when", "7d")
        terminal.until("would have matched 0 past actions and 1 pending")
        answer(terminal, "type yes to grant it", "y")
        answer(terminal, "nothing is granted", "grant")
        answer(terminal, "for how long?", "once")
        answer(terminal, "password of db?", "input")
        answer(terminal, "the secret; it is not shown", "hunter2 and more")
        terminal.until("done: a password of 16")
        assert terminal.ended() == 0
        assert "hunter2" not in terminal.text
        assert "(secret)" in terminal.text
    assert program.json("grants") == []
    for path in Path(program.directory / ".orbiter").rglob("*"):
        if path.is_file():
            assert b"hunter2" not in path.read_bytes(), path


FIXED = r'''
from orbiter import Agent, Swarm, tool
from orbiter.models.scripted.provider import Call, Reply, script


@tool(failure="fail", idempotent=True)
def take(count: int) -> str:
    """Take so many, but not all."""
    if count > 9:
        raise ValueError("too many")
    return f"took {count}"


script("taker", [Reply(calls=[Call("take", {"count": 10})]), "done: ${result}"])
swarm = Swarm(agents=[Agent(name="taker", model="scripted:taker", tools=[take])])
'''

EDITOR = r"""
import pathlib, sys
path = pathlib.Path(sys.argv[1])
before = path.read_text()
print("EDITING", before.strip(), "with", input("type here: "))
path.write_text(before.replace("10", '"x"') if "10" in before else before.replace('"x"', "7"))
"""


def test_arguments_are_edited_in_ones_own_editor_which_has_the_terminal_meanwhile(program: Program) -> None:
    (program.directory / "fix.py").write_text(FIXED)
    (program.directory / "edit.py").write_text(EDITOR)
    editor = f"{sys.executable} {program.directory / 'edit.py'}"
    where = {"cwd": program.directory, "size": (160, 40)}
    with ConsoleTerminal("run", "fix.py:swarm", "go", EDITOR=editor, VISUAL="", **where) as terminal:  # type: ignore[arg-type]
        answer(terminal, "q to leave it]:", "edit")
        answer(terminal, "@: in ", "@")
        answer(terminal, "type here:", "mine")
        terminal.until("with mine")
        answer(terminal, "Your text is kept", "")
        answer(terminal, "type here:", "again")
        terminal.until("done: took 7")
        assert terminal.ended() == 0
        assert "'count': should be of type integer" in terminal.text


def test_an_export_opens_in_the_console_and_can_only_be_looked_at(program: Program) -> None:
    assert program("run", "keeper.py:swarm", "tea for ada@example.com").returncode == 3
    (incident,) = program.json("incidents")
    out = program.directory / "run.jsonl"
    told = " ".join(program("replay", "--help").stdout.split())
    assert "`export RUN -o run.jsonl`, then `replay run.jsonl`" in told, "as it is done here"
    assert program("export", incident["run_id"], "-o", str(out)).returncode == 0
    elsewhere = program.directory / "elsewhere"
    elsewhere.mkdir()
    with ConsoleTerminal("replay", str(out), cwd=elsewhere, size=(120, 36)) as terminal:
        terminal.until("keeper")
        terminal.until("store")
        terminal.quiet(1.0)
        assert "ada@example.com" not in terminal.text
        terminal.press("a")
        terminal.quiet(0.5)
        assert terminal.ended("q") == 0
    assert not (elsewhere / ".orbiter").exists()
    (still,) = program.json("incidents")
    assert still["id"] == incident["id"]
    for name, said in (("nowhere", "cannot be read"), ("keeper.py", "line 1 is not the header")):
        refused = program("replay", name)
        assert refused.returncode == 2
        assert said in refused.stderr
    assert "needs a terminal" in program("replay", str(out)).stderr
