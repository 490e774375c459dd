"""In a real pseudo-terminal: clipboard and title, keys and preferences out of `orbiter.toml`, the mouse."""

from __future__ import annotations

import base64
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.console.program import Program
from tests.console.pseudo_terminal import ROOT, ConsoleTerminal, Terminal


def home(program: Program) -> dict[str, str]:
    """Variables for a home in which nothing is configured but what the test writes."""
    return {"HOME": str(program.directory / "home"), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "TMUX": "", "STY": ""}


def opened(program: Program, *arguments: str, **variables: str) -> Terminal:
    return ConsoleTerminal("--embedded", *arguments, cwd=program.directory, **{**home(program), **variables})  # type: ignore[arg-type]


def test_the_title_comes_back_at_the_end_and_the_theme_chosen_the_last_time_is_shown(
    program: Program, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    (kept / "orbiter").mkdir(parents=True)
    (kept / "orbiter" / "theme").write_text("orbiter-contrast-light\n")
    with opened(program, XDG_STATE_HOME=str(kept)) as terminal:
        terminal.until("No runs yet")
        terminal.until(f"\x1b]2;orbiter {program.directory.name}\x07")
        assert terminal.ended("q") == 0
    assert terminal.text.index("\x1b[22;2t") < terminal.text.index("\x1b]2;orbiter")
    assert terminal.text.rindex("\x1b]2;\x07\x1b[23;2t") > terminal.text.rindex("\x1b]2;orbiter")
    assert "48;2;255;255;255" in terminal.text


def test_the_title_can_be_left_alone_and_the_mouse_be_taken_over_ssh(program: Program) -> None:
    (program.directory / "orbiter.toml").write_text("[console]\ntitle = false\nmouse = true\n")
    variables = {**home(program), "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}
    with Terminal("-m", "console", "--embedded", cwd=program.directory, **variables) as terminal:  # type: ignore[arg-type]
        terminal.until("No runs yet")
        assert terminal.ended("q") == 0
    assert "\x1b]2;" not in terminal.text
    assert "\x1b[22;2t" not in terminal.text
    assert "\x1b[?1003h" in terminal.text


def test_a_copy_is_wrapped_for_tmux_and_the_mouse_is_left_to_it(program: Program) -> None:
    with opened(program, TMUX="/tmp/tmux-1/default,1,0", TERM="screen-256color") as terminal:
        terminal.until("No runs yet")
        terminal.press("y", then="OSC 52")
        assert terminal.ended("q") == 0
    (passed,) = re.findall("\x1bPtmux;\x1b\x1b\\]52;c;([A-Za-z0-9+/=]+)\x07\x1b\\\\", terminal.text)
    assert "No runs yet" in base64.b64decode(passed).decode()
    assert "\x1b[?1003h" not in terminal.text


def test_keys_of_the_file_are_in_force_and_the_verb_prints_them(program: Program) -> None:
    (program.directory / "orbiter.toml").write_text(
        '[keys]\npreset = "vim"\n[keys.app]\nquit = ["f10"]\n[console]\nmouse = true\n'
    )
    with opened(program, "--no-mouse") as terminal:
        terminal.until("No runs yet")
        terminal.press("q")
        assert terminal.ended("\x1b[21~") == 0
    assert "\x1b[?1003h" not in terminal.text
    found = {each["id"]: each["keys"] for each in program.json("keys")}
    assert found["app.quit"] == ["f10", "ctrl+q"]
    assert found["list.last"] == ["end", "G"]
    assert {each["id"]: each["keys"] for each in program.json("keys", "--preset", "default")}["list.last"] == ["end"]


@pytest.mark.parametrize("arguments", [("keys",), ("--embedded",)], ids=["verb", "console"])
def test_keys_that_cannot_be_are_refused_with_file_line_and_advice(
    program: Program, arguments: tuple[str, ...]
) -> None:
    path = program.directory / "orbiter.toml"
    path.write_text('[keys.run]\nzom = ["Z"]\nzoom = ["n"]\nfind_fault = ["ctrl+wat"]\n')
    with ConsoleTerminal(*arguments, cwd=program.directory, **home(program)) as terminal:  # type: ignore[arg-type]
        assert terminal.ended() == 2
    said = terminal.text.replace("\r\n", "\n")
    assert program("config").returncode == 2
    assert f"{path}:2: keys.run.zom: unknown action 'run.zom': did you mean 'run.zoom'?" in said
    assert f"{path}:3: keys.run.zoom: 'n' also does app.next_decision" in said
    assert f"{path}:4: keys.run.find_fault: 'ctrl+wat' is not a key" in said
    assert "\x1b[?1049h" not in said, "the screen was not opened for it"


def test_an_unknown_preset_is_bad_input(program: Program) -> None:
    done = program("keys", "--preset", "emcas")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown preset 'emcas'" in done.stderr


def test_the_rest_of_the_program_knows_the_sections_of_the_console(program: Program) -> None:
    (program.directory / "orbiter.toml").write_text('[console]\nmouse = false\n[keys.run]\nzoom = ["Z"]\n')
    found = {each["id"]: each for each in program.json("config", "--set")}
    assert found["console.mouse"]["value"] is False
    assert found["keys.run.zoom"]["value"] == ["Z"]


def test_a_terminal_that_is_gone_without_a_word_ends_the_console(program: Program) -> None:
    """Not its controlling one: no signal says so, only reading and writing fail."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "console", "--embedded"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=program.directory,
        env={**os.environ, **home(program), "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    os.close(follower)
    shown = b""
    while b"No runs yet" not in shown:
        shown += os.read(leader, 65536)
    os.close(leader)
    assert process.wait(timeout=60) == 128 + signal.SIGHUP
