"""Files and stdin that are not what they should be: a sentence that names them, exit code 2, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orbiter.text_input import (
    UnreadableText,
    decode,
    read_bytes,
    read_text,
)
from runtime.config.environment import InvalidEnvironment, read_env_file
from tests.console.program import PROGRAM, Program, environment
from tests.workspaces import kept
from tests.workspaces.kept import Verbs

LATIN = "caf\xe9".encode("latin-1")


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _holding(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


BAD_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda _: None, "No such file"),
    "directory": (Path.mkdir, "is a directory, not a file"),
    "pipe": (_fifo, "is a pipe, not a file"),
    "latin-1": (_holding(b"A=b\nNAME=" + LATIN), "is not UTF-8 text: byte 0xe9 in line 2"),
    "utf-16": (_holding("NAME=x".encode("utf-16")), "is not UTF-8 text"),
    "binary": (_holding(b"\x7fELF\x02\x01\x00\x00\xff\xfe"), "is not UTF-8 text"),
    "large": (_holding(b"#" * 9_000_000), "is too large"),
    "endless": (lambda path: path.symlink_to("/dev/zero"), "is too large"),
    "loop": (lambda path: path.symlink_to(path), "symbolic links"),
}
BAD_VARIABLES = {
    "word": (b"only hunter2", "line 1: write NAME=value"),
    "name": (b"A=1\n1B=hunter2", "line 2: write NAME=value"),
    "quote": (b"A='hunter2", "the value's ' is not closed"),
    "nul": (b"A=hunter2\0c", "line 1: a variable cannot hold a NUL byte"),
}


@pytest.fixture
def made(tmp_path: Path) -> Callable[[Callable[[Path], object]], Path]:
    def make(how: Callable[[Path], object]) -> Path:
        how(tmp_path / "given")
        return tmp_path / "given"

    return make


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_file_is_read_by_one_rule(made: Callable[[Callable[[Path], object]], Path], kind: str) -> None:
    how, told = BAD_FILES[kind]
    file = made(how)
    with pytest.raises(UnreadableText, match=told):
        read_text(file)
    with pytest.raises(InvalidEnvironment, match=told):
        read_env_file(file)


@pytest.mark.parametrize("kind", BAD_VARIABLES)
def test_a_line_of_an_env_file_is_named_and_its_value_is_not(tmp_path: Path, kind: str) -> None:
    data, told = BAD_VARIABLES[kind]
    (tmp_path / "given").write_bytes(data)
    with pytest.raises(InvalidEnvironment, match=told) as raised:
        read_env_file(tmp_path / "given")
    assert "hunter2" not in str(raised.value)


def test_a_byte_order_mark_and_an_empty_file_are_text(tmp_path: Path) -> None:
    assert decode("\ufeffcaf\xe9".encode(), "it") == "caf\xe9"
    assert read_bytes(Path(os.devnull)) == b""
    assert read_env_file(Path(os.devnull)) == {}
    (tmp_path / "given").write_bytes(b"\xef\xbb\xbfexport A = 'b' # c\r\n\r\nB=\xc3\xa9\r\n")
    assert read_env_file(tmp_path / "given") == {"A": "b", "B": "\xe9"}


# -- the options and verbs ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def verbs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verbs]:
    root = kept.opened("parked", tmp_path_factory.mktemp("inputs"))
    (root / "bad").mkdir()
    for kind, (how, _) in BAD_FILES.items():
        how(root / "bad" / kind)
    for kind, (data, _) in BAD_VARIABLES.items():
        (root / "bad" / kind).write_bytes(data)
    with Verbs(root) as found:
        yield found


@pytest.mark.parametrize("kind", BAD_FILES)
@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "--env-file"),
        ("serve", "--foreground", "--env-file"),
        ("serve", "--unit", "--env-file"),
        ("show", "--file"),
        ("report", "--file"),
        ("replay",),
    ],
    ids=" ".join,
)
def test_every_option_that_takes_a_file_reads_it_so(verbs: Verbs, arguments: tuple[str, ...], kind: str) -> None:
    code, out, err = verbs.ended(*arguments, f"bad/{kind}")
    assert (code, out) == (2, ""), err
    if kind != "large" or "--env-file" in arguments:  # an export may be large
        assert BAD_FILES[kind][1] in err
    assert "Traceback" not in err


@pytest.mark.parametrize("kind", BAD_VARIABLES)
@pytest.mark.parametrize("mode", [(), ("--foreground",)])
def test_serve_begins_nothing_with_a_bad_env_file(verbs: Verbs, mode: tuple[str, ...], kind: str) -> None:
    code, out, err = verbs.ended("serve", *mode, "--env-file", f"bad/{kind}")
    assert (code, out) == (2, ""), err
    assert BAD_VARIABLES[kind][1] in err
    assert verbs("runs", "--json")
    assert verbs.ended("stop")[1] == f"no runtime works on {verbs.root}/.orbiter\n"


def _piped(root: Path, data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROGRAM, *arguments], input=data, capture_output=True, timeout=50, check=False, cwd=root, env=environment()
    )


def test_stdin_that_is_not_utf8_is_refused(verbs: Verbs) -> None:
    before = verbs("runs", "--json", "--limit", "1000"), verbs("incidents", "--json")
    (incident, *_) = (each["id"] for each in verbs.json("incidents"))
    for arguments in (("run", "swarms.py:plain", "-"), ("answer", incident, "result", "--value", "-")):
        done = _piped(verbs.root, b"first\n" + LATIN, *arguments)
        assert done.returncode == 2, done.stderr
        assert b"stdin is not UTF-8 text: byte 0xe9 in line 2" in done.stderr
        assert done.stdout == b""
    assert (verbs("runs", "--json", "--limit", "1000"), verbs("incidents", "--json")) == before


def test_the_env_file_counts_in_the_foreground_too(program: Program) -> None:
    (program.directory / "keys.env").write_text("FROM_FILE='given there'\n")
    tells = "import os\nprint('found', os.environ.get('FROM_FILE'))\nfrom keeper import swarm\n"
    (program.directory / "tells.py").write_text(tells)
    with program.start("serve", "--foreground", "--env-file", "keys.env") as process:
        assert process.stderr is not None
        assert "driving the runs" in process.stderr.readline()
        assert program("run", "tells.py:swarm", "x").returncode == 3
        process.terminate()
        assert "output: found given there\n" in process.stderr.read()
        assert process.wait(timeout=60) == 0
