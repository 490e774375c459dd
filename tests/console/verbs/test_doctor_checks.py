"""`doctor`: what each check finds in a world made for it."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from console.checks import mcp_servers, settings, state, terminal, traces
from console.checks.finding import (
    Check,
    CheckContext,
    Finding,
    TimedChecks,
    program_output,
)
from console.verbs.program.doctor import CHECKS
from console.workspace import Workspace
from runtime.config.loader import load_configuration
from runtime.record.journal import JournalError
from runtime.record.places import open_journal
from runtime.record.sqlite.schema import sqlite_errors
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from tests.console.linear.test_answering import FAULT
from tests.runtime.execution.lost_runs import lose

SECRET = "sk-live-4f9d1c"


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path, tmp_path / ".orbiter")


def found(check: Check, place: Workspace, environment: Mapping[str, str] | None = None) -> dict[str, Finding]:
    given = {"HOME": str(place.root), "PATH": os.environ["PATH"], **(environment or {})}
    return {each.id: each for each in check(CheckContext(given, place))}


@pytest.mark.parametrize(
    ("name", "words", "free", "advice"),
    [
        ("SQLITE_IOERR_SHMSIZE", "disk I/O error", 0, "make room first"),  # what SQLite says where the disk is full
        ("SQLITE_IOERR_READ", "disk I/O error", 2**20, ""),
        ("SQLITE_READONLY_DIRECTORY", "attempt to write a readonly database", 2**30, "the file is not damaged"),
        ("SQLITE_CANTOPEN", "unable to open database file", 2**30, "the file is not damaged"),
        ("SQLITE_CORRUPT", "database disk image is malformed", 0, ""),
    ],
)
def test_no_backup_is_to_be_restored_where_the_file_is_not_to_blame(
    tmp_path: Path, name: str, words: str, free: int, advice: str
) -> None:
    exc = sqlite3.OperationalError(words)
    exc.sqlite_errorname = name
    with pytest.raises(JournalError) as told, sqlite_errors("cannot open the journal", tmp_path):
        raise exc
    found = state._instead(told.value, free)
    assert found.startswith(advice)
    assert bool(found) is bool(advice)


async def test_runs_that_wait_for_nothing_are_counted(place: Workspace) -> None:
    place.state.mkdir()
    async with await open_journal(place.state) as journal:
        for run in ("r1", "r2"):
            await journal.create(ev.RunCreated(run_id=run, ref="x"), Summary(id=run))
            lease = await journal.claim(run, "gone", 60)
            assert lease is not None
            opened = ev.IncidentOpened(incident_id=f"i-{run}", fault=FAULT)
            await journal.append(lease, [ev.RunStarted(epoch=1), opened])
            await journal.answer(ev.IncidentAnswered(incident_id=f"i-{run}", revision=1, option="abort"))
            await journal.release(lease)
    assert "lost runs" not in await asyncio.to_thread(found, state.check_journal, place)
    lose(place.state / "journal.db", ["r1", "r2"])
    told = (await asyncio.to_thread(found, state.check_journal, place))["lost runs"]
    assert (told.state, told.detail) == ("warn", "2 runs wait for nothing: r1, r2")
    assert "serve" in told.advice


# -- checks in worlds of their own -----------------------------------------------------------------------------


def test_a_state_directory_is_looked_at_before_and_after_it_is_made(place: Workspace) -> None:
    assert found(state.check_state_directory, place)["state"].state == "ok"
    assert not place.state.exists()
    place.state.mkdir(mode=0o700)
    assert "mode 0700" in found(state.check_state_directory, place)["state"].detail
    place.state.chmod(0o755)
    seen = found(state.check_state_directory, place)["state"]
    assert (seen.state, seen.advice) == ("warn", f"chmod 700 {place.state}")
    place.state.rmdir()
    place.state.write_text("")
    assert found(state.check_state_directory, place)["state"].state == "fail"


def test_what_was_kept_of_a_state_directory_that_was_taken_away_is_told(place: Workspace) -> None:
    kept = place.state.with_name(".orbiter.rescued-20261122-101500")
    kept.mkdir()
    assert "rescued" not in found(state.check_state_directory, place)
    (kept / "journal.db").touch()
    told = found(state.check_state_directory, place)["rescued"]
    assert told.state == "warn"
    assert f"orbiter-console --state {kept} runs" in told.advice


def test_a_state_directory_that_cannot_be_written_fails(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    place.state.mkdir(mode=0o700)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as for everybody but root
    assert "--state DIR" in found(state.check_state_directory, place)["state"].advice


@pytest.mark.parametrize(("free", "told"), [(10**12, "ok"), (500 * 2**20, "warn"), (10 * 2**20, "fail")])
def test_a_disk_that_runs_full_is_said(place: Workspace, monkeypatch: pytest.MonkeyPatch, free: int, told: str) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": free}))
    monkeypatch.setattr(state, "_file_system", lambda _: "ext4")
    seen = found(state.check_disk, place)["disk"]
    assert seen.state == told
    assert bool(seen.advice) == (told != "ok")


@pytest.mark.parametrize(("kind", "told"), [("ext4", "ok"), ("nfs4", "warn"), ("fuse.sshfs", "warn")])
def test_a_file_system_of_another_machine_is_said(
    place: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, told: str
) -> None:
    table = tmp_path / "mountinfo"
    name = str(tmp_path).replace(" ", "\\040")
    table.write_text(f"1 0 8:1 / / rw - ext3 /dev/a rw\n2 1 8:2 / {name} rw shared:1 - {kind} host:/x rw\n")
    assert state._file_system(tmp_path, table) == kind
    assert state._file_system(Path("/"), table) == "ext3"
    monkeypatch.setattr(state, "_file_system", lambda _: kind)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10**12}))
    assert found(state.check_disk, place)["disk"].state == told


@pytest.mark.parametrize(
    ("environment", "told", "words"),
    [
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "ok", "24 bits"),
        ({"TERM": "xterm-256color"}, "ok", "256"),
        ({"TERM": "linux"}, "warn", "16"),
        ({}, "warn", "TERM is not set"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "ok", "NO_COLOR"),
    ],
)
def test_the_depth_of_colour_is_told(place: Workspace, environment: dict[str, str], told: str, words: str) -> None:
    seen = found(terminal.check_colors, place, environment)["colours"]
    assert seen.state == told
    assert words in seen.detail
    assert bool(seen.advice) == (told == "warn")


FAKE_TMUX = """#!{python}
import sys
print({{"-V": "tmux 3.4", "set-clipboard": {clipboard!r}, "allow-passthrough": "off",
       "default-terminal": {kind!r}, "escape-time": {escape!r}, "#{{client_utf8}}": {utf8!r}}}[sys.argv[-1]])
"""


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (("on", "tmux-256color", "1", "20"), []),
        (("on", "tmux-256color", "0", "20"), ["tmux -u"]),
        (("on", "tmux-256color", "1", "500"), ["set -s escape-time 20"]),
        (("external", "tmux-256color", "1", "10"), ["set-clipboard on"]),
        (("off", "screen", "0", "500"), ["set-clipboard on", "default-terminal", "esc", "; attach with tmux -u"]),
    ],
)
def test_tmux_is_asked_what_it_lets_through(
    place: Workspace, monkeypatch: pytest.MonkeyPatch, told: tuple[str, str, str, str], words: list[str]
) -> None:
    clipboard, kind, utf8, escape = told
    tmux = place.root / "bin" / "tmux"
    tmux.parent.mkdir()
    tmux.write_text(FAKE_TMUX.format(python=sys.executable, clipboard=clipboard, kind=kind, utf8=utf8, escape=escape))
    tmux.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmux.parent))
    seen = found(terminal.check_multiplexer, place, {"TMUX": "/tmp/tmux,1,0"})["multiplexer"]
    assert seen.state == ("warn" if words else "ok")
    assert all(word in seen.advice for word in words)
    assert f"set-clipboard {clipboard}" in seen.detail
    assert seen.detail.split(", no UTF-8")[0].endswith(f"escape-time {escape}")
    assert found(terminal.check_multiplexer, place) == {}
    tmux.unlink()
    assert "tmux does not answer" in found(terminal.check_multiplexer, place, {"TMUX": "x"})["multiplexer"].detail


def test_keys_of_the_console_that_clash_fail(place: Workspace) -> None:
    (place.root / "orbiter.toml").write_text('[keys.app]\nhelp = ["q"]\n')
    seen = found(settings.check_keymap, place)["keymap"]
    assert seen.state == "fail"
    assert "orbiter.toml:2" in seen.detail


def test_hosts_that_the_workspace_names_are_told_and_not_in_force(place: Workspace) -> None:
    own = place.root / "own" / "orbiter" / "orbiter.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[hosts.lab]\naddress = "lab"\n[hosts.big]\naddress = "big"\n')
    workspace = Workspace(place.root / "work", place.root / "work" / ".orbiter")
    workspace.root.mkdir()
    environment = {"XDG_CONFIG_HOME": str(place.root / "own")}
    assert set(found(settings.check_settings, workspace, environment)) == {"settings"}
    (workspace.root / "orbiter.toml").write_text('[hosts.big]\ncommand = "touch hit"\n')
    seen = found(settings.check_settings, workspace, environment)
    assert (seen["settings"].state, seen["hosts"].state) == ("ok", "warn")
    assert f"{workspace.root / 'orbiter.toml'}:2: a workspace's file must not name hosts" in seen["hosts"].detail
    assert seen["hosts"].detail.endswith(f"put [hosts.big] into {own}")
    in_force = {each.key for each in load_configuration(workspace.root, environment).values()}
    assert "hosts.lab.address" in in_force
    assert "hosts.big.address" not in in_force


def test_themes_of_the_users_own_are_judged(place: Workspace) -> None:
    themes = place.state / "themes"
    themes.mkdir(parents=True)
    (themes / "good.yaml").write_text("base: orbiter-dark\n")
    (themes / "faint.yaml").write_text('base: orbiter-dark\ninks:\n  ink: "#222222"\n')
    (themes / "broken.yaml").write_text("base: orbiter-drak\n")
    seen = found(settings.check_themes, place, {"ORBITER_THEME": "good", "TERM": "xterm-256color"})
    assert {name: each.state for name, each in seen.items()} == {
        "theme": "ok",
        "theme good": "ok",
        "theme faint": "warn",
        "theme broken": "fail",
    }
    assert "ink on panel is 1.0:1" in seen["theme faint"].detail
    assert found(settings.check_themes, place, {"ORBITER_THEME": "gud"})["theme"].state == "fail"


def test_keys_of_providers_are_present_or_not(place: Workspace) -> None:
    seen = found(settings.check_provider_keys, place)
    assert (seen["keys"].state, "ANTHROPIC_API_KEY" in seen["keys"].detail) == ("warn", True)
    seen = found(settings.check_provider_keys, place, {"ANTHROPIC_API_KEY": SECRET})
    assert (seen["ANTHROPIC_API_KEY"].state, seen["keys"].state) == ("ok", "ok")
    assert SECRET not in repr(seen)


def test_ssh_is_told_and_whether_we_are_looked_at_over_it(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "OpenSSH" in found(settings.check_ssh, place)["ssh"].detail
    seen = found(settings.check_ssh, place, {"SSH_CONNECTION": "192.0.2.7 50000 192.0.2.1 22"})["ssh"]
    assert "over SSH from 192.0.2.7" in seen.detail
    monkeypatch.setenv("PATH", str(place.root))
    seen = found(settings.check_ssh, place)["ssh"]
    assert (seen.state, "OpenSSH" in seen.advice) == ("warn", True)


# -- that it comes to an end -----------------------------------------------------------------------------------


def test_a_check_that_finds_no_end_is_left_and_said(place: Workspace) -> None:
    stuck, release = threading.Event(), threading.Event()

    def endless(world: CheckContext) -> Iterator[Finding]:
        yield Finding("first", "ok", "fine")
        stuck.set()
        release.wait()

    limited = TimedChecks(CheckContext({}, place))
    first, last = limited.findings("endless", endless, 0.05)
    assert stuck.is_set()
    assert (first.id, last.id, last.state) == ("first", "endless", "fail")
    assert limited.left == ["endless"]
    release.set()


def test_a_check_that_fails_itself_is_a_finding(place: Workspace) -> None:
    def broken(world: CheckContext) -> Iterator[Finding]:
        yield Finding("broken", "ok", world.environment["TERM"])

    limited = TimedChecks(CheckContext({}, place))
    (seen,) = limited.findings("broken", broken)
    assert (seen.id, seen.state) == ("broken", "fail")
    assert "KeyError: 'TERM'" in seen.detail
    assert limited.left == []


def test_a_program_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text(f"#!{sys.executable}\nimport signal\nsignal.pause()\n")
    slow.chmod(stat.S_IRWXU)
    assert program_output(str(slow), seconds=0.2) is None
    assert program_output("no-such-program-anywhere") is None
    assert program_output(sys.executable, "-c", "raise SystemExit(3)") is None
    assert program_output(sys.executable, "-c", "print('here')") == "here"


def test_every_check_has_a_name_of_its_own_and_finds_something_in_this_world(place: Workspace) -> None:
    quiet = {"multiplexer", "mcp"}
    for name, check in CHECKS.items():
        assert name in quiet or list(check(CheckContext({"HOME": str(place.root)}, place))), name


# -- MCP servers -------------------------------------------------------------------------------------------------------


def test_an_mcp_server_that_cannot_be_used_is_told_beside_the_others(place: Workspace) -> None:
    servers = {"old": {"type": "sse", "url": "http://b"}, "files": {"command": "a"}}
    (place.root / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    told = found(mcp_servers.check_mcp_servers, place)
    assert {name: each.state for name, each in told.items()} == {"mcp old": "warn", "mcp files": "warn"}
    assert 'the type "sse"' in told["mcp old"].detail
    assert told["mcp files"].advice == "orbiter-console mcp-approve files, if you trust it"


# -- traces ------------------------------------------------------------------------------------------------------------


def test_traces_say_where_they_go_and_what_keeps_them_back(place: Workspace) -> None:
    assert found(traces.check_traces, place)["traces"].detail == "not sent: [otel] enabled is false"
    (place.root / "orbiter.toml").write_text("[otel]\nenabled = true\n")
    told = found(traces.check_traces, place, {"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"})["traces"]
    assert (told.state, "does not begin with http:// or https://" in told.detail) == ("fail", True)
    receiver = {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://user:hidden@otel.example:4318/api?key=hidden"}
    told = found(traces.check_traces, place, receiver)["traces"]
    assert (told.state, told.detail) == ("ok", "sent to https://otel.example:4318; nothing was sent yet")

    async def note(event: ev.JournalEvent) -> None:
        async with await open_journal(place.state) as journal:
            await journal.post(ev.WORKSPACE_RUN_ID, event)

    asyncio.run(note(ev.TracesSent(position=0)))  # where sending begins
    told = found(traces.check_traces, place, receiver)["traces"]
    assert told.detail == "sent to https://otel.example:4318; nothing was sent yet"
    asyncio.run(note(ev.TracesHeldBack(reason="Connection \x1b[2Jrefused")))
    told = found(traces.check_traces, place, receiver)["traces"]
    assert told.state == "warn"
    assert "held back since" in told.detail
    assert "refused" in told.detail
    assert "\x1b" not in told.detail
    asyncio.run(note(ev.TracesSent(position=3, spans=2)))
    assert found(traces.check_traces, place, receiver)["traces"].detail.startswith(
        "sent to https://otel.example:4318; last"
    )
