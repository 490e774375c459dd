"""Command lines that really run one of three stub programs, in every way that a shell has; and a shell that runs them.

`Stubs` runs a text in a real shell whose PATH holds stubs that note their names, and the real programs that run others.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from pathlib import Path

STUBS = ("rm", "git", "ls")
RUNNERS = ("env", "xargs", "nohup", "timeout", "nice", "find", "sh", "bash", "cat")

FORMS = (
    "{c}", "{c}; ls", "ls; {c}", "true && {c}", "false || {c}", "ls | {c}", "ls & {c}", "ls\n{c}",
    "({c})", "{{ {c}; }}",
    "! {c}", "echo $({c})", 'echo "$({c})"', "echo `{b}`", "cat <({c})", "if true; then {c}; fi", "if {c}; then ls; fi",
    "for x in a; do {c}; done", "while {c}; do break; done", "case x in x) {c};; esac",
    "case x in (a) ls;; *) {c};; esac",
    "f() {{ {c}; }}; f", "function g {{ {c}; }}; g", "echo $(case x in x) {c};; esac)", "A=b {c}", "A=b B='c d' {c}",
    ">out {c}", "2>&1 {c}", "{c} >out", "<<< x {c}", "cat <<E\n$({c})\nE\nls", "cat <<'E'\n$(git)\nE\n{c}", "time {c}",
    "exec {c}", "command {c}", "builtin command {c}", "env {c}", "env -i PATH=$PATH {c}", "env -u A B=c {c}",
    "nohup {c}", "timeout 9 {c}", "timeout -s KILL 9 {c}", "nice -n 1 {c}", "nice {c}", "echo a | xargs {c}",
    "echo a | xargs -n 1 -P 2 {c}", "find . -maxdepth 0 -exec {c} \\;", "sh -c {q}", "bash -c {q}", "bash -ec {q}",
    "bash -O extglob -c {q}", "eval {q}", "eval {c}", "env -S {q}", "trap {q} EXIT", "sh -c 'eval \"$1\"' x {q}",
    "echo ${{x:-$({c})}}", "echo $(( 1 + $({c}; echo 1) ))", "[[ -z '' ]] && {c}", "[ -z '' ] && {c}", "ls # x\n{c}",
    "coproc {c}", "{c} &", "a=(1 2); {c}", "\\\n{c}", "bin/{c}", "./bin/{c}", "bash <<< {q}", "sh <<E\n{c}\nE\n",
    "xargs -a out {c}", "{{ ls; }} 2>&1; {c}", "time -p {c}", "exec -a n {c}", "echo 'x' \"y\" | cat; {c}",
    "shopt -s expand_aliases\nalias k={q}\nk", "set -- a; {c}", "echo a#b; {c}", "x=1; {c}",
    "until true; do ls; done; {c}",
)  # fmt: skip
"""``{c}``: a command. ``{b}``: one between backquotes. ``{q}``: one as a quoted word."""


def spelled(name: str, chance: random.Random) -> str:
    """A name in one of the spellings that a shell takes for it."""
    first, rest = name[0], name[1:]
    return chance.choice(
        [
            name, name, name, f"'{name}'", f'"{name}"', f"\\{name}", f"{first}''{rest}", f'{first}"{rest}"',
            f"{first}\\{rest}", f"{first}\\\n{rest}", f"$'{name}'", f"$'\\x{ord(first):x}{rest}'", f'$"{name}"',
            f"$'\\{ord(first):o}'{rest}",
        ]
    )  # fmt: skip


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def line(chance: random.Random, depth: int = 2) -> str:
    """A command line that may run a stub."""
    command = f"{spelled(chance.choice(STUBS), chance)} {chance.choice(['x', '-rf /x', '$HOME', ''])}".strip()
    for _ in range(chance.randint(0, depth)):
        before, command = command, ""
        form = chance.choice(FORMS)
        if not ("{b}" in form and set(before) & set("`\\$'\"")):
            command = form.format(c=before, b=before, q=quoted(before))
        command = command or before
    return command


class Stubs:
    """A folder with the stubs, and one to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.work, self._log = folder, folder / "work", folder / "log"
        (folder / "bin").mkdir()
        for name in STUBS:
            stub = folder / "bin" / name
            stub.write_text(f"#!/bin/sh\necho {name} >> '{self._log}'\nexit 1\n")
            stub.chmod(0o755)
        for name in RUNNERS:
            (folder / "bin" / name).symlink_to(str(shutil.which(name)))

    def ran(self, shell: str, text: str) -> list[str]:
        """The stubs that a shell ran for a text, in their order."""
        shutil.rmtree(self.work, ignore_errors=True)
        self._log.unlink(missing_ok=True)
        self.work.mkdir()
        (self.work / "bin").symlink_to(self.folder / "bin")
        (self.work / "out").write_text("a\n")
        process = subprocess.Popen(
            [str(shutil.which(shell)), "-c", text],
            cwd=self.work,
            env={"PATH": str(self.folder / "bin"), "HOME": str(self.work)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            # The pipe closes when the last process that the text began has ended.
            process.communicate(timeout=20)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return self._log.read_text().split() if self._log.exists() else []
