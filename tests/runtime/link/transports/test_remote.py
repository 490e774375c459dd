"""A console on another machine: `dial-stdio` as a real process, and ssh (a stand-in that runs what ssh would, here)."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.daemon import daemon
from runtime.link.client.client import CommandRefused, LinkClient
from runtime.link.transports.ssh import SshTransport
from runtime.link.transports.ssh_host import InvalidHost, SshHost
from runtime.link.transports.ssh_process import MAX_STDERR_BYTES
from runtime.link.transports.transport import Unreachable
from tests.runtime.link.link_bench import Bench, watched

REMOTE = f"{sys.executable} -m console"
FAKE_SSH = """#!/bin/sh
# options up to --, the host, then what the far shell gets
echo "$@" >> "$0.log"
while [ "$1" != "--" ]; do shift; done
shift 2
cd "$(dirname "$0")" || exit 1
[ -f noise ] && cat noise
[ -f refuse ] && { cat refuse >&2; exit 255; }
exec sh -c "$1"
"""


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    path = tmp_path / "ssh"
    path.write_text(FAKE_SSH)
    path.chmod(0o755)
    return path


@pytest.fixture
async def consoles() -> AsyncIterator[list[LinkClient]]:
    made: list[LinkClient] = []
    yield made
    for console in made:
        await console.close()


def _console(consoles: list[LinkClient], ssh: Path, path: Path, **settings: Any) -> LinkClient:
    transport = SshTransport(SshHost("far", path=str(path)), remote=REMOTE, ssh=[str(ssh)], **settings)
    console = LinkClient(transport)
    consoles.append(console)
    console.start()
    return console


async def test_a_console_over_ssh_sees_and_acts(bench: Bench, ssh: Path, consoles: list[LinkClient]) -> None:
    driver = await bench.started()
    await driver.incident("i-1")
    await bench.serve()
    (ssh.parent / "noise").write_text("Welcome to far.example\n")
    console = _console(consoles, ssh, bench.workspace)
    await console.wait_until(lambda: console.ready)
    await watched(console)
    await console.command("answer", incident_id="i-1", option="retry", revision=1)
    await console.wait_until(lambda: not console.incidents)
    said = ssh.with_name("ssh.log").read_text()
    assert "-T -a -x -e none" in said
    assert "-o ServerAliveInterval=5 -o ServerAliveCountMax=3" in said
    assert "-- far" in said


async def test_ssh_is_killed_in_mid_stream_and_the_console_goes_on(
    bench: Bench, ssh: Path, consoles: list[LinkClient]
) -> None:
    driver = await bench.started()
    await bench.serve()
    console = _console(consoles, ssh, bench.workspace)
    await watched(console)
    transport = console.transport
    assert isinstance(transport, SshTransport)
    for number in range(3):
        process = transport._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        await driver.nodes(*(f"n{number}-{i}" for i in range(50)))
        await console.wait_until(lambda: transport._process is not process and console.status.phase == "connected")  # noqa: B023
    await driver.nodes("last")
    await console.wait_until(lambda: (state := console.run("run-1")) is not None and "last" in state.nodes)
    assert console.run("run-1") == await driver.truth()
    assert "BatchMode=yes" in ssh.with_name("ssh.log").read_text().splitlines()[-1]
    assert console.snapshots == ["first"]


async def test_a_viewers_key_can_only_look_and_a_name_is_set_by_the_forced_command(
    bench: Bench, ssh: Path, consoles: list[LinkClient]
) -> None:
    await bench.started()
    await bench.serve()
    console = _console(consoles, ssh, bench.workspace, viewer=True)
    await console.wait_until(lambda: console.ready)
    with pytest.raises(CommandRefused, match="viewer"):
        await console.command("abort", run_id="run-1")
    pump = [*shlex.split(REMOTE), "dial-stdio", "--as", "anna"]
    process = await asyncio.create_subprocess_exec(
        *pump, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=bench.workspace
    )
    assert process.stdin is not None
    assert process.stdout is not None
    hello = json.loads(await process.stdout.readline())
    assert hello["t"] == "hello"
    process.stdin.write(b'{"t":"command","id":"x","verb":"abort","args":{"run_id":"run-1"}}\n')
    assert json.loads(await process.stdout.readline())["ok"]
    process.stdin.close()
    assert await process.wait() == 0
    journal = await bench.open()
    by = [event.by.name for event in await journal.read("run-1") if event.type == "run.abort_requested"]  # type: ignore[attr-defined]
    assert len(by) == 1
    assert by[0].startswith("anna (")


@pytest.mark.parametrize(("name", "called"), [(b"Zo\xeb", "Zo?"), ("Zoë".encode(), "Zoë"), (b"z" * 101, "z" * 100)])
async def test_any_name_of_a_forced_command_is_the_one_that_counts(bench: Bench, name: bytes, called: str) -> None:
    await bench.started()
    await bench.serve()
    process = await asyncio.create_subprocess_exec(
        *shlex.split(REMOTE), "dial-stdio", "--as", name,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=bench.workspace, env={**os.environ, "PYTHONUTF8": "1"},
    )  # fmt: skip
    said = b'{"t":"as","name":"eve"}\n{"t":"command","id":"x","verb":"abort","args":{"run_id":"run-1"}}\n'
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(said)
    lines = [json.loads(await process.stdout.readline()) for _ in range(3)]
    assert [line["t"] for line in lines] == ["hello", "refused", "reply"]
    process.stdin.close()
    assert await process.wait() == 0
    journal = await bench.open()
    (by,) = [event.by.name for event in await journal.read("run-1") if event.type == "run.abort_requested"]  # type: ignore[attr-defined]
    assert by.startswith(f"{called} (")


async def test_what_goes_wrong_is_said_in_a_line(tmp_path: Path, ssh: Path, consoles: list[LinkClient]) -> None:
    console = _console(consoles, ssh, tmp_path)
    await console.wait_until(lambda: console.status.phase == "lost")
    assert "no runtime works on far:" in console.status.reason
    (tmp_path / "refuse").write_text("far: Permission denied (publickey).\n")
    denied = _console(consoles, ssh, tmp_path)
    await denied.wait_until(lambda: denied.status.phase == "lost")
    assert denied.status.reason == "ssh: far: Permission denied (publickey): a login is needed"
    assert denied.needs_login
    with pytest.raises(Unreachable) as again:  # a dial that follows keeps the reason
        await denied.transport.connect()
    assert str(again.value) == denied.status.reason
    (tmp_path / "refuse").write_text(  # as OpenSSH 9.2 says it where the jump host wants a login
        "anna@jump: Permission denied (publickey).\nkex_exchange_identification: Connection closed by remote host\n"
        "Connection closed by UNKNOWN port 65535\n"
    )
    jumping = _console(consoles, ssh, tmp_path)
    await jumping.wait_until(lambda: jumping.status.phase == "lost")
    assert jumping.status.reason == "ssh: anna@jump: Permission denied (publickey): a login is needed"
    (tmp_path / "refuse").write_text("ssh: connect to host far port 22: Network is unreachable\n")
    away = _console(consoles, ssh, tmp_path)
    await away.wait_until(lambda: "Network is unreachable" in away.status.reason)
    assert away.status.phase == "connecting"
    (tmp_path / "refuse").unlink()
    missing = LinkClient(SshTransport(SshHost("far"), remote="no-such-program", ssh=[str(ssh)]))
    consoles.append(missing)
    missing.start()
    await missing.wait_until(lambda: missing.status.phase == "lost")
    assert "no program 'no-such-program' in the PATH" in missing.status.reason
    none = LinkClient(SshTransport(SshHost("far"), ssh=[str(tmp_path / "no-ssh")]))
    consoles.append(none)
    none.start()
    await none.wait_until(lambda: none.status.phase == "lost")
    assert "cannot run" in none.status.reason


def test_a_login_that_nothing_comes_of_says_so_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.link.transports.ssh.CONNECT_TIMEOUT_S", 0.05)
    silent = tmp_path / "ssh"
    silent.write_text(f"#!/bin/sh\nwhile [ ! -f {tmp_path}/enough ]; do sleep 0.05; done\nexit 69\n")
    silent.chmod(0o755)
    said: list[str] = []

    def hear(text: str) -> None:
        said.append(text)
        (tmp_path / "enough").touch()

    transport = SshTransport(SshHost("far"), ssh=[str(silent)], says=hear)
    with pytest.raises(Unreachable, match="no runtime works on far"):
        transport.login()
    asyncio.run(transport.close())
    assert said[0] == "nothing was heard from far for 0.05 seconds; ctrl+c gives up"


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("echo 'far: Permission denied (publickey).' >&2; exit 255", "ssh: far: Permission denied (publickey)"),
        (
            "echo 'This account is not available.'; exit 1",
            "far: exit code 1; it printed: This account is not available.",
        ),
        ("echo Welcome; echo 'sh: cd: no such directory' >&2; exit 69", "no runtime works on far"),
    ],
)
def test_why_a_login_failed_is_said_in_the_far_sides_words(tmp_path: Path, does: str, said: str) -> None:
    (tmp_path / "ssh").write_text(f"#!/bin/sh\n{does}\n")
    (tmp_path / "ssh").chmod(0o755)
    transport = SshTransport(SshHost("far"), ssh=[str(tmp_path / "ssh")])
    with pytest.raises(Unreachable) as caught:
        transport.login()
    asyncio.run(transport.close())
    assert str(caught.value) == said


def test_a_far_side_that_says_megabytes_before_the_hello_is_heard_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "ssh").write_text(
        f"#!{sys.executable}\nimport sys\n"
        "sys.stderr.write('\\x1b[31mnoise\\n' * 500_000 + 'far: Permission denied (publickey).\\n')\nsys.exit(255)\n"
    )
    (tmp_path / "ssh").chmod(0o755)
    said: list[str] = []
    transport = SshTransport(SshHost("far"), ssh=[str(tmp_path / "ssh")], says=said.append)
    with pytest.raises(Unreachable, match=r"far: Permission denied \(publickey\)"):  # its last words are kept
        transport.login()
    asyncio.run(transport.close())
    assert sum(map(len, said)) <= MAX_STDERR_BYTES + 100
    assert said[-1] == f"the far side has said {MAX_STDERR_BYTES} bytes; the rest is not shown"


async def test_revive_starts_a_runtime_over_there(tmp_path: Path, ssh: Path, consoles: list[LinkClient]) -> None:
    console = _console(consoles, ssh, tmp_path)
    await console.wait_until(lambda: console.status.phase == "lost")
    try:
        await console.revive()
        await console.wait_until(lambda: console.ready)
        assert console.hello is not None
        assert console.hello.workspace == str(tmp_path)
    finally:
        await asyncio.to_thread(daemon.stop, tmp_path / ".orbiter")


def test_the_pump_imports_nothing_heavy() -> None:
    modules = "runtime.link.transports.dial_stdio, console.verbs.program.dial_stdio, console.cli"
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "textual", "rich", "asyncio", "httpx", "anthropic", "openai", "orbiter", "sqlite3"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("far", SshHost("far")),
        ("anna@far.example", SshHost("far.example", "anna")),
        ("anna@far:~/work", SshHost("far", "anna", "~/work")),
        ("far:/srv/a b", SshHost("far", "", "/srv/a b")),
        ("[::1]:/srv", SshHost("::1", "", "/srv")),
        ("far:with:colon", SshHost("far", "", "with:colon")),
    ],
)
def test_hosts_as_they_are_typed(text: str, host: SshHost) -> None:
    assert SshHost.parse(text) == host


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-oProxyCommand=x",
        "-x@far",
        "a@-far",
        "@far",
        "far host",
        "a@b@c",
        "far\n",
        "far:\x1b",
        "fa`id`r",
        "$(id)",
        "a;b@far",
        "far|id",
        "-",
        "a\\b@far",
    ],
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(InvalidHost):
        SshHost.parse(text)


@given(st.text(min_size=1, max_size=30).filter(lambda path: "\0" not in path and not path.startswith("~")))
def test_any_path_reaches_the_far_shell_as_one_word(path: str) -> None:
    if any(0xD800 <= ord(char) < 0xE000 for char in path):
        return
    command = SshTransport(SshHost("far", path=path), remote="prog").remote_command()
    where = shlex.split(command)[1]
    assert where == (f"./{path}" if path.startswith("-") else path)
    assert shlex.split(command)[2:] == ["&&", "exec", "prog", "dial-stdio"]


def test_a_home_is_expanded_over_there_and_nothing_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "a $(touch hit) b").mkdir(parents=True)
    transport = SshTransport(SshHost("far", path="~/a $(touch hit) b"), remote="pwd #")
    env = {**os.environ, "HOME": str(home)}
    where = transport.remote_command().partition(" && ")[0]
    done = subprocess.run(["sh", "-c", f"{where} && pwd"], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(home / "a $(touch hit) b")
    assert not list(tmp_path.rglob("hit"))
