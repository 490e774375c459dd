"""`orbiter-console --host`: the console in a real terminal here, its runtimes behind a real sshd."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from runtime.daemon import daemon
from runtime.link.wire import protocol as p
from runtime.record.state.durable_run import Summary
from tests.console.mcp.scene import called, refused
from tests.console.program import SWARM, Program, environment
from tests.console.pseudo_terminal import IDLE_BYTES, Terminal
from tests.runtime.link.transports.sshd_bench import REMOTE, Sshd
from tests.workspaces import kept

pytestmark = pytest.mark.timeout(180)


class Home:
    """An operator's home: an ssh that finds the test's server, an `orbiter.toml` that names hosts."""

    def __init__(self, place: Path, sshd: Sshd) -> None:
        self.place = place
        self.sshd = sshd
        self.use("key")
        (place / "config" / "orbiter").mkdir(parents=True)

    def use(self, key: str, *options: str) -> None:
        path = self.place / "bin" / "ssh"
        path.parent.mkdir(exist_ok=True)
        words = ["/usr/bin/env", "PATH=/usr/local/bin:/usr/bin:/bin", *self.sshd.ssh(key, *options)]
        path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        path.chmod(0o755)

    def hosts(self, **workspaces: Path) -> None:
        (self.place / "config" / "orbiter" / "orbiter.toml").write_text(
            "".join(
                f'[hosts.{name}]\naddress = "far:{path}"\ncommand = "{REMOTE}"\n' for name, path in workspaces.items()
            )
        )

    def console(self, *arguments: str, cwd: Path | None = None) -> Terminal:
        return Terminal(
            "-m",
            "console",
            *arguments,
            size=(120, 30),
            cwd=cwd or self.place,
            PATH=f"{self.place / 'bin'}:/usr/bin:/bin",
            XDG_CONFIG_HOME=str(self.place / "config"),
        )


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="orb-") as path:
        yield Path(path)


@pytest.fixture
def home(place: Path) -> Iterator[Home]:
    for name in ("sshd", "home", "one", "two"):
        (place / name).mkdir()
    server = Sshd(place / "sshd")
    try:
        server.key()
        made = Home(place / "home", server)
        made.hosts(one=place / "one", two=place / "two")
        yield made
    finally:
        server.close()
        for name in ("one", "two"):
            daemon.stop(place / name / ".orbiter")


def parked(directory: Path) -> Program:
    """A workspace in which a run waits for leave to write."""
    program = Program(directory)
    (directory / "swarm.py").write_text(SWARM)
    done = program("run", "swarm.py:swarm", "note")
    assert done.returncode == 3, done.stderr
    return program


def test_a_decision_is_made_from_afar_and_the_runtime_goes_on(home: Home, place: Path) -> None:
    program = parked(place / "one")
    with home.console("--host", "one", "--start") as terminal:
        terminal.until("asks permission")
        terminal.press("\r", then="press a key")
        terminal.press("g", then="completed")
        assert terminal.ended("q") == 0
    assert [run["state"] for run in program.json("runs")] == ["completed"]
    assert daemon.running_runtime(place / "one" / ".orbiter") is not None


def test_one_inbox_over_two_hosts_says_where_and_a_missing_runtime_is_started_by_a_key(home: Home, place: Path) -> None:
    one, two = parked(place / "one"), parked(place / "two")
    daemon.ensure_runtime(place / "one" / ".orbiter")
    with home.console("--host", "one", "--host", "two") as terminal:
        terminal.until("no runtime works on far:")
        terminal.until("Needs a decision")
        terminal.press("b", then="two")
        terminal.until("  2")
        terminal.press("\r", then="press a key")
        terminal.press("g", then="completed")
        assert terminal.ended("q") == 0
    assert sorted(run["state"] for program in (one, two) for run in program.json("runs")) == ["completed", "waiting"]


def test_who_may_only_look_is_told_so_and_is_offered_nothing_to_do(home: Home, place: Path) -> None:
    program = parked(place / "one")
    daemon.ensure_runtime(place / "one" / ".orbiter")
    with home.console("--host", "one", "--viewer") as terminal:
        terminal.until("one link ")
        terminal.until("view only")
        assert "freeze" not in terminal.text
        terminal.press("\r", then="this login may not answer; an operator's login may")
        assert "Grant permission" not in terminal.text
        terminal.press("g")
        terminal.press("p", then="A viewer may look, not act")
        assert terminal.ended("q") == 0
    assert [run["state"] for run in program.json("runs")] == ["waiting"]


async def test_an_agent_here_asks_and_proposes_over_there_and_may_not_grant(home: Home, place: Path) -> None:
    program = await asyncio.to_thread(parked, place / "one")
    await asyncio.to_thread(daemon.ensure_runtime, place / "one" / ".orbiter")
    environ = {**environment(), "PATH": f"{home.place / 'bin'}:/usr/bin:/bin"}
    environ["XDG_CONFIG_HOME"] = str(home.place / "config")
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "console", "mcp", "--host", "one"], cwd=home.place, env=environ
    )
    known = types.Implementation(name="claude-code", title="Claude Code", version="2.1")
    async with Client(server, client_info=known) as client:
        (incident,) = await called(client, "list_incidents")
        asked = {"incident_id": incident["id"], "option": "grant", "reason": "it is harmless"}
        assert "fs.write" in (await called(client, "get_report", incident_id=incident["id"]))["markdown"]
        done = await called(client, "propose_answer", **asked, params={"for": "once"})
        assert (done["state"], done["option"]) == ("proposed", "grant")
        assert "never answered by an agent" in await refused(client, "answer_incident", **asked)
    audit = [each for each in program.json("audit") if each["channel"] == "mcp"]
    assert sorted(each["what"] for each in audit) == ["proposed", "was refused"]
    assert all(each["person"].startswith("Claude Code (") for each in audit)
    assert [run["state"] for run in program.json("runs")] == ["waiting"]


def test_another_version_over_there_is_said_with_its_cure_in_any_width(home: Home, place: Path) -> None:
    hello = p.Hello(
        proto=p.PROTOCOL_VERSION + 1, epoch="e", position=0, role="operator", peer="x", program="orbiter-console 9.0"
    )
    (place / "one" / "told").write_bytes(hello.line() + b"\n")
    home.sshd.key("newer", options=f'command="cat {place}/one/told -"')
    home.use("newer")
    with home.console("--host", "one") as terminal:
        terminal.resize(80, 24)
        terminal.until("Another version")
        terminal.until("install one version at both ends")
        terminal.until("orbiter-console stop")
        assert "brings it back" not in terminal.text
        assert terminal.ended("q") == 0


def test_the_crumbs_name_the_host_and_say_how_far_it_is(home: Home, place: Path) -> None:
    daemon.ensure_runtime(place / "one" / ".orbiter")
    with home.console("--host", "one") as terminal:
        terminal.until("one link ")
        assert terminal.at_rest() <= IDLE_BYTES, "it comes to rest, though the link is measured on"
        assert terminal.ended("q") == 0


def test_the_whole_console_over_ssh_in_a_terminal_is_modest(home: Home, place: Path) -> None:
    kept.opened("parked", place / "one")  # old runs: in the first minute of one its clock moves once a second
    there = f"cd {place / 'one'} && TERM=xterm-256color exec {REMOTE}"
    command = [*home.sshd.ssh("key"), "-tt", "far", there]
    with Terminal("-c", f"import os; os.execvp('ssh', {command!r})", size=(120, 30)) as terminal:
        terminal.until("asks permission")
        terminal.press("j", then=";48;5;")
        for number in (1000, 1002, 1003, 1006):
            assert f"\x1b[?{number}h" not in terminal.text, "the mouse is left to the terminal"
        assert "38;2;" not in terminal.text, "256 colours"
        assert terminal.at_rest() <= IDLE_BYTES, "nothing happens, next to nothing is sent"
        assert terminal.ended("q") == 0
        assert "\x1b[?1049l" in terminal.text, "the terminal is given back"


def test_ssh_asks_before_the_app_has_the_terminal_and_again_when_a_login_is_needed(home: Home, place: Path) -> None:
    daemon.ensure_runtime(place / "one" / ".orbiter")
    home.sshd.key("locked", passphrase="open sesame")
    home.use("locked", "-o", "StrictHostKeyChecking=ask")
    (place / "sshd" / "known_hosts").unlink()
    with home.console("--host", "one") as terminal:
        terminal.until("Are you sure you want to continue connecting")
        terminal.press("yes\n", then="Enter passphrase for key")
        terminal.press("open sesame\n", then="inbox")
        for pid in home.sshd.sessions():
            home.sshd.end(pid)
        terminal.until("a login is needed")
        terminal.until("logs in again")
        terminal.press("r", then="Enter passphrase for key")
        terminal.press("open sesame\n", then="inbox")
        assert terminal.ended("q") == 0
    assert "open sesame" not in terminal.text


def test_a_host_that_cannot_be_reached_for_a_while_is_said_and_tried_again(home: Home, place: Path) -> None:
    daemon.ensure_runtime(place / "one" / ".orbiter")
    with home.console("--host", "one") as terminal:
        terminal.until("inbox")
        home.use("key", "-o", "Port=1")
        for pid in home.sshd.sessions():
            home.sshd.end(pid)
        terminal.until("connecting: ssh: ")
        home.use("key")
        assert Program(place / "one")("stop").returncode == 0
        terminal.until("No runtime")
        assert terminal.ended("q") == 0


def test_what_keeps_it_from_opening_is_one_line_before_any_screen(home: Home, place: Path) -> None:
    (place / "one" / "orbiter.toml").write_text('[hosts.trap]\naddress = "far"\ncommand = "touch hit"\n')
    cases = {
        ("--host", "-oProxyCommand=touch${IFS}hit"): (2, "neither a host nor a user begins with '-'"),
        ("--host", "far:/nowhere-at-all"): (1, "nowhere-at-all"),
        ("--host", "far"): (1, "far has no program 'orbiter-console' in the PATH"),
        ("--host", "nobody@far"): (1, "Permission denied"),
        ("--host", "trap"): (2, "must not name hosts"),
        ("--host", "far", "--embedded"): (2, "give one of them"),
        ("--viewer",): (2, "are for --host"),
    }
    for arguments, (code, words) in cases.items():
        with home.console(*arguments, cwd=place / "one") as terminal:
            assert terminal.ended() == code, terminal.text
            assert words in terminal.text.strip().splitlines()[-1], "whatever ssh said before"
            assert "\x1b[?1049h" not in terminal.text, "no screen was opened"
    assert not list(place.rglob("hit"))


def test_nothing_from_the_far_side_reaches_the_terminal_unsanitised(home: Home, place: Path) -> None:
    daemon.ensure_runtime(place / "one" / ".orbiter")
    script = place / "hostile"
    script.write_text(
        f"""
hostile() {{ printf 'say \\033]52;c;aGl0\\007\\033]0;title\\007\\033cthis [/int] \\302\\233\\n'; }}
hostile >&2
hostile
[ -f {place}/seen ] && exit 3
touch {place}/seen
eval "$SSH_ORIGINAL_COMMAND"
"""
    )
    home.sshd.key("hostile", options=f'command="sh {script}"')
    home.use("hostile")
    with home.console("--host", "one") as terminal:
        terminal.until("inbox")
        before = terminal.text.partition("\x1b[?1049h")[0]
        assert "this [/int]" in before, "what ssh said during the login"
        for pid in home.sshd.sessions():
            home.sshd.end(pid)
        terminal.until("exit code 3")
        terminal.until("this [/int]")
        assert terminal.ended("q") == 0
        screen = terminal.text
    with home.console("--host", "one") as terminal:
        assert terminal.ended() == 1
        after = terminal.text
    assert "exit code 3" in after
    for shown in (screen, after):
        for leak in ("\x1b]52", "\x1b]0;", "\x1bc", "\x9b"):
            assert leak not in shown


HOSTILE = "\x1b]52;c;aGl0\x07\x1b]0;title\x07\x1bc[/int] \x9b \u202e$(touch hit)`touch hit`"


@pytest.mark.parametrize("proto", [p.PROTOCOL_VERSION, 99])
def test_a_hostile_runtime_can_neither_write_escapes_nor_run_or_write_anything(
    home: Home, place: Path, proto: int
) -> None:
    hello = p.Hello(
        proto=proto,
        epoch="e",
        position=0,
        role="operator",
        peer=HOSTILE,
        program=HOSTILE,
        workspace=HOSTILE,
        keys=(HOSTILE,),
    )
    summary = Summary(id="../../hit", ref=HOSTILE, title=f"a title {HOSTILE}", state="running")
    refused = p.MessageRefused(error="x", message=HOSTILE)
    told = p.WorkspaceSnapshot(position=1, why="first", summaries=(summary,))
    (place / "one" / "told").write_bytes(b"".join(each.line() + b"\n" for each in (hello, told, refused)))
    home.sshd.key("hostile", options=f'command="cat {place}/one/told - "')
    home.use("hostile")
    before = sorted(path for path in home.place.rglob("*"))
    with home.console("--host", "one") as terminal:
        terminal.until("a title" if proto == p.PROTOCOL_VERSION else "Another version")
        for key in ("j", "Y", "\r", "y"):
            terminal.press(key)
            terminal.quiet(0.3)
        assert terminal.ended("\x11") == 0
        for leak in ("\x1b]0;", "\x1bc", "\x9b", "\u202e"):
            assert leak not in terminal.text
        copied = re.findall(r"\x1b\]52;[^;]*;([^\x07\x1b]*)", terminal.text)
        assert "aGl0" not in copied, "only the operator copies, and what is shown"
    assert sorted(path for path in home.place.rglob("*")) == before
    assert not list(place.rglob("hit"))
