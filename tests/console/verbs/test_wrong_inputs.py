"""Wrong inputs on the command line: each gets a sentence and exit code 2; none shows an internal of the program."""

from __future__ import annotations

import errno
import re
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from console.cli import cli
from console.verbs.base import run_verb
from runtime.record.journal import JournalError
from tests.console.program import PROGRAM, SWARM, Program, environment
from tests.workspaces import kept
from tests.workspaces.kept import Verbs

DEEP = "[" * 3_000
NO_TEXT = "caf\udce9"
"""What Python makes of an argument that is Latin-1."""
LONG = "x" * 5_000
INTERNALS = re.compile(
    r"Traceback|pydantic|Extra inputs|Input should|Field required|\b\w+Error\b|NoneType|\[Errno|is closed|"
    r"(?:orbiter|runtime|console|screens)/\w+\.py"
)

WRONG = [
    # arguments, what is said
    (["run", "swarms.py:note"], "swarms.py:note is a tool, not an agent or a swarm"),
    (["run", "swarms.py:effect"], "is a function that takes arguments, not an agent or a swarm"),
    (["run", "swarms.py:Count"], "is a class, not an agent or a swarm"),
    (["run", "json:loads"], "is a function that takes arguments"),
    (["run", "swarms.py"], "swarms.py:workflow"),
    (["run", "swarms.py:"], "swarms.py:workflow"),
    (["run", ".:plain"], "'.:plain' is not a reference to a swarm"),
    (["run", "..swarms:plain"], "'..swarms:plain' is not a reference to a swarm"),
    (["run", "swarms.py:plain", NO_TEXT], "must be UTF-8 text"),
    (["run", "swarms.py:plain", "x", "--budget", "max_step=3"], "did you mean 'max_steps'?"),
    (["run", "swarms.py:plain", "x", "--budget", "max_steps=-1"], "max_steps must be a whole number of 1 or more"),
    (["run", "swarms.py:plain", "x", "--budget", "max_steps=2.5"], "max_steps must be a whole number of 1 or more"),
    (["run", "swarms.py:plain", "x", "--budget", "=3"], "no limit is called ''"),
    (["run", "swarms.py:plain", "x", "--budget", f"max_steps={'1' * 5_000}"], "NAME=NUMBER"),
    (["show", NO_TEXT], "must be UTF-8 text"),
    (["waits", NO_TEXT], "must be UTF-8 text"),
    (["report", NO_TEXT], "must be UTF-8 text"),
    (["abort", NO_TEXT], "must be UTF-8 text"),
    (["abort", "{run}", "--reason", NO_TEXT], "must be UTF-8 text"),
    (["inject", "{run}", "auth", NO_TEXT], "must be UTF-8 text"),
    (["log", "--grep", NO_TEXT], "must be UTF-8 text"),
    (["runs", "--in", NO_TEXT], "is not one of"),
    (["answer", NO_TEXT, "retry"], "must be UTF-8 text"),
    (["answer", "{auth}", "result", "--value", NO_TEXT], "must be UTF-8 text"),
    (["answer", "i-7kq2", "result", "page 1"], "orbiter-console answer i-7kq2 result --value 'page 1'"),
    (["answer", "i-7kq2", "result", "\x1b[2Jpage", NO_TEXT], "answer i-7kq2 result --value "),
    (["answer", "{reach}", "edit", "--arguments", DEEP], "nested too deeply"),
    (["answer", "{reach}", "edit", "--arguments", '{"a":' * 3_000], "nested too deeply"),
    (["answer", "{reach}", "edit", "--arguments", '{"host": NaN}'], "NaN is not a number in JSON"),
    (["answer", "{reach}", "edit", "--arguments", '{"host": 1e999}'], "the number 1e999 is too large"),
    (["answer", "{reach}", "edit", "--arguments", "null"], 'give an object, for example {"path": "a.md"}'),
    (["answer", "{reach}", "edit", "--arguments", '{"host": "up", "n": ' + "1" * 5_000 + "}"], "not JSON"),
    (["rewind", "{run}", "auth~0", "--arguments", DEEP], "nested too deeply"),
    (["rewind", "{run}", "auth~0", "--arguments", '{"n": 1e999}'], "the number 1e999 is too large"),
    (["export", "{run}", "--output", LONG], "File name too long"),
    (["prune", "--max-size", "1" * 5_000], "is more than any disk holds"),
    (["--state", LONG, "runs"], "File name too long"),
    (["--host", ""], "is not a host: write [user@]host[:path]"),
    (["--host", NO_TEXT], "is not a host: write [user@]host[:path]"),
]


@pytest.fixture(scope="module")
def verbs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verbs]:
    """Verbs in a workspace with runs and incidents."""
    with Verbs(kept.opened("parked", tmp_path_factory.mktemp("wrong"))) as found:
        yield found


@pytest.fixture(scope="module")
def names(verbs: Verbs) -> dict[str, str]:
    """An id of each kind."""
    nodes = {each["node_id"].rpartition("/")[2]: each["id"] for each in verbs.json("incidents")}
    return {
        "{reach}": next(found for node, found in nodes.items() if node.startswith("reach")),
        "{auth}": next(each["id"] for each in verbs.json("incidents") if each["title"] == "auth"),
        "{run}": next(each["id"] for each in verbs.json("runs", "--limit", "1000") if each["input"] == "auth"),
    }


@pytest.mark.parametrize(("arguments", "told"), WRONG, ids=[" ".join(each)[:50] for each, _ in WRONG])
def test_a_wrong_input_gets_a_sentence(verbs: Verbs, names: dict[str, str], arguments: list[str], told: str) -> None:
    code, out, err = verbs.ended(*(names.get(each, each) for each in arguments))
    assert code == 2, err
    assert told in err
    assert out == ""
    typed = " ".join(arguments)
    assert [found for found in INTERNALS.findall(err) if found not in typed] == []


def test_nothing_was_answered_by_wrong_inputs(verbs: Verbs, names: dict[str, str]) -> None:
    opened = {each["id"] for each in verbs.json("incidents")}
    assert {names["{reach}"], names["{auth}"]} <= opened


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--state", "/dev/null/x", "run", "keep.py:swarm", "tea"], "choose another, for example --state ~/.orbiter"),
        (["--state", "/dev/null/x", "serve", "--foreground"], "choose another, for example --state ~/.orbiter"),
        (["mcp", "--directory", "/not-there"], "example --directory ~/project"),
    ],
)
def test_a_path_that_cannot_be_used_is_bad_input_and_named(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "keep.py").write_text(SWARM)
    done = Program(tmp_path)(*arguments)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert re.search("cannot (make|be) .*(/dev/null/x|used)", done.stderr)
    assert INTERNALS.search(done.stderr) is None, done.stderr


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file", "/x"), 2, "/x: No such file"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 2, "/x: Permission denied"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), 1, "Connection refused"),
        (FileNotFoundError(errno.ENOENT, "No such file"), 1, "No such file"),
    ],
)
def test_which_error_of_the_system_is_bad_input(
    capsys: pytest.CaptureFixture[str], raised: OSError, code: int, said: str
) -> None:
    async def body() -> int:
        raise raised

    assert run_verb(body) == code
    assert capsys.readouterr().err == f"{said}\n"


def test_a_state_directory_that_may_not_be_written_is_bad_input() -> None:
    async def body() -> int:
        raise JournalError("cannot write") from PermissionError(errno.EACCES, "Permission denied")

    assert run_verb(body) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    "arguments", [["keys"], ["keys", "--json"], ["themes"], ["--help"], ["show", "--help"], ["--version"]]
)
def test_an_output_that_is_full_is_named(tmp_path: Path, arguments: list[str], unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=tmp_path,
            env=environment() | {"PYTHONUNBUFFERED": unbuffered},
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "standard output: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(("arguments", "code"), [(["runs"], 0), (["show", "x"], 2)])
def test_notes_that_cannot_be_written_change_no_result(tmp_path: Path, arguments: list[str], code: int) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=tmp_path,
            env=environment() | {"PYTHONUNBUFFERED": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
        )
    assert (done.returncode, done.stdout) == (code, b"")


@pytest.mark.parametrize(
    "arguments", [["--state", "file", "runs"], ["runs", "--state", "file"], ["stop", "--state", "file"]]
)
def test_a_file_is_no_state_directory_wherever_it_is_named(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "file").write_text("")
    done = Program(tmp_path)(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "file must be a directory" in done.stderr


READERS = [
    ["runs"],
    ["incidents"],
    ["grants"],
    ["audit"],
    ["digest"],
    ["log"],
    ["workers"],
    ["breakers"],
    ["budgets"],
    ["prune", "--older-than", "1d"],
]
"""Verbs that say of a workspace without a run that it has none."""


@pytest.mark.parametrize("arguments", READERS, ids=[each[0] for each in READERS])
def test_a_state_directory_that_is_named_and_missing_is_told(tmp_path: Path, arguments: list[str]) -> None:
    program = Program(tmp_path)
    for words in (["--state", "mistyped", *arguments], [*arguments, "--state", "mistyped", "--json"]):
        done = program(*words)
        assert done.returncode == 0, "programs that wait for a first run ask before it is there"
        assert "--state names a directory that is missing: mistyped." in done.stderr
    assert not (tmp_path / "mistyped").exists()
    assert "missing" not in program(*arguments).stderr, "nothing was named"
    (tmp_path / "mistyped").mkdir()
    assert "missing" not in program("--state", "mistyped", *arguments).stderr


@pytest.mark.parametrize("arguments", [["config"], ["run", "x.py:a", "go"]])
def test_settings_that_are_a_directory_are_not_taken_for_none(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "orbiter.toml").mkdir()  # as a container's mount of a file that is missing makes it
    (tmp_path / "x.py").write_text("from orbiter import Agent\na = Agent(name='a', model='scripted:x')\n")
    done = Program(tmp_path)(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "orbiter.toml is a directory, not a file" in done.stderr


@pytest.mark.parametrize("arguments", [["log", "r-1"], ["budgets", "r-1"], ["show", "r-1"], ["waits", "r-1"]])
def test_a_run_that_is_named_must_exist_even_where_nothing_was_run(tmp_path: Path, arguments: list[str]) -> None:
    done = Program(tmp_path)(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown run 'r-1'" in done.stderr


def test_a_directory_in_place_of_the_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / ".orbiter" / "journal.db").mkdir(parents=True)
    program = Program(tmp_path)
    for verb in (["runs"], ["incidents"], ["show", "x"], ["grants"], ["log"]):
        done = program(*verb)
        assert (done.returncode, done.stdout) == (1, "")
        assert "journal.db is a directory, not a journal" in done.stderr
        assert INTERNALS.search(done.stderr) is None, done.stderr


def test_a_journal_that_cannot_be_opened_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".orbiter").mkdir()
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(str(tmp_path / ".orbiter" / "journal.db"))
        program = Program(tmp_path)
        for _ in range(3):  # a thread that outlived its loop complained more often than not
            done = program("runs")
            assert done.returncode == 1
            assert "unable to open database file" in done.stderr
            assert INTERNALS.search(done.stderr) is None, done.stderr


def test_a_journal_without_its_version_is_not_called_empty(tmp_path: Path) -> None:
    place = kept.opened("headless", tmp_path)
    with closing(sqlite3.connect(place / ".orbiter" / "journal.db")) as journal, journal:
        journal.execute("PRAGMA user_version = 0")
    journal.close()
    program = Program(place)
    for verb in (["runs"], ["run", "swarms.py:plain", "x"], ["show", "x"]):
        done = program(*verb)
        assert done.returncode == 1
        assert "has tables, but its schema version is 0" in done.stderr
        assert "is empty" not in done.stderr
    (command,) = re.findall(r"sqlite3 (\S+) '(.+)'", done.stderr)
    with closing(sqlite3.connect(command[0])) as journal, journal:
        journal.execute(command[1])
    journal.close()
    assert len(program.json("runs")) == 9


@pytest.mark.parametrize("arguments", [["runs"], ["run", "x.py:y"], [], ["--state", "here", "runs"], ["serve"]])
def test_a_deleted_working_directory_is_told(tmp_path: Path, arguments: list[str]) -> None:
    gone = tmp_path / "gone"
    script = 'mkdir "$1" && cd "$1" && rmdir "$1" && shift && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(gone), *PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env=environment(),
    )
    assert done.returncode == 2
    assert "the current directory was deleted" in done.stderr
    assert INTERNALS.search(done.stderr) is None, done.stderr


@pytest.mark.parametrize(
    ("file", "text", "arguments"),
    [
        ("orbiter.toml", f"a = {DEEP}{']' * 3_000}", ["config"]),
        ("orbiter.toml", f"a = {DEEP}{']' * 3_000}", ["run", "scripted.py:agent", "x"]),
        ("deep.yaml", f"turns: {DEEP}{']' * 3_000}", ["run", "scripted.py:agent", "x"]),
        ("deep.yaml", f"turns:\n- {DEEP}{']' * 3_000}", ["run", "scripted.py:agent", "x"]),
    ],
)
def test_a_file_that_is_nested_too_deeply_is_named(
    program: Program, file: str, text: str, arguments: list[str]
) -> None:
    (program.directory / "scripted.py").write_text(
        "from orbiter import Agent\nagent = Agent(name='deep', model='scripted:deep.yaml')\n"
    )
    (program.directory / file).write_text(text)
    done = program(*arguments)
    assert done.returncode == 2, done.stderr
    assert file in done.stderr
    assert "nested too deeply" in done.stderr
    assert INTERNALS.search(done.stderr) is None, done.stderr


def test_a_user_without_a_name_can_decide(program: Program) -> None:
    code = "import pwd; pwd.getpwuid = {}.__getitem__; from console.cli import main; main()"  # as in many containers
    nameless = {name: value for name, value in environment().items() if name not in {"LOGNAME", "USER", "LNAME"}}
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "keeper.py:swarm", "tea"],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env={**nameless, "HOME": str(program.directory)},
        cwd=program.directory,
    )
    assert done.returncode == 3, done.stderr


def test_an_interrupt_while_a_verb_is_loaded_ends_as_one_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("console.cli.import_module", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main(["runs"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
