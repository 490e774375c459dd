"""`redact_views = true`: what verbs print, in words and in JSON, and what a console shows has no secret in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from console import output
from console.linear.prompts import read_params
from orbiter.redaction import REDACTED
from runtime.execution.view_redaction import ViewRedactor
from runtime.judgement.recovery.options import make_option
from tests.console.linear.test_prompts import Terminal as Typist
from tests.console.linear.test_prompts import asked_of
from tests.console.program import SWARM, Program
from tests.console.pseudo_terminal import ConsoleTerminal

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]


def _parked(directory: Path, settings: str) -> tuple[Program, list[str]]:
    """A workspace with a run that waits, and what `run` printed."""
    (directory / "swarm.py").write_text(SWARM)
    (directory / "orbiter.toml").write_text(settings)
    program = Program(directory)
    run = program("run", "swarm.py:swarm", f"keep {SECRET}", "--json")
    assert run.returncode == 3, run.stderr
    return program, [run.stdout, run.stderr]


def _printed(program: Program, *arguments: str) -> list[str]:
    done = program(*arguments)
    assert done.returncode == 0, done.stderr
    return [done.stdout, done.stderr]


@pytest.mark.timeout(240)
def test_neither_verbs_nor_a_console_show_a_secret(tmp_path: Path) -> None:
    program, said = _parked(tmp_path, "[redaction]\nredact_views = true\n")
    found = program.json("incidents")[0]
    said.append(str(found))
    said += [*_printed(program, "show", str(found["run_id"])), *_printed(program, "log", "--json")]
    with ConsoleTerminal("--embedded", cwd=tmp_path, size=(120, 40)) as terminal:
        terminal.until("Grant permission for longer")
        assert REDACTED in terminal.text
        said.append(terminal.text)
    assert SECRET not in "".join(said)
    refused = program("answer", str(found["id"]), "deny", "--message", f"not {REDACTED}")
    assert refused.returncode == 2
    assert "type the whole of it" in refused.stderr
    assert program("answer", str(found["id"]), "grant").returncode == 0


def test_without_the_setting_verbs_print_what_the_journal_holds(tmp_path: Path) -> None:
    program, _ = _parked(tmp_path, "")
    assert SECRET in "".join(_printed(program, "log", "--json"))


@pytest.mark.parametrize("settings", ["[redaction\n", '[redaction]\nredact_views = true\npatterns = ["("]\n'])
def test_a_file_that_cannot_be_read_shows_no_secret(
    tmp_path: Path, settings: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from console.verbs.base import run_verb

    async def body() -> int:
        output.print_line(f"use {SECRET}")
        return 0

    (tmp_path / "orbiter.toml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(output, "_mask", None)
    assert run_verb(body) == 0
    assert capsys.readouterr().out == f"use {REDACTED}\n"


async def test_the_linear_mode_shows_masked_arguments_to_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_mask", ViewRedactor(masked=True))
    opened = asked_of()
    opened = replace(opened, action={"arguments": {"path": "x", "api_key": SECRET}})
    typist = Typist("@", editor="ed", texts=(f'{{"path": "y", "api_key": "{REDACTED}"}}',))
    given = await read_params(opened, make_option("edit"), typist)
    assert given == {"arguments": {"path": "y", "api_key": REDACTED}}, "the operation restores it"
    assert SECRET not in typist.began[0][0] + "".join(typist.questions)
