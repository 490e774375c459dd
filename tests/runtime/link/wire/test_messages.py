"""The first words of a link, which are read without pydantic."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runtime.link.wire import protocol as p
from runtime.link.wire.message_parser import InvalidMessage, parse_console_message, parse_message
from runtime.record.inbox_row import InboxRow
from runtime.record.state.events import GrantAdded, IncidentOpened
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)
from runtime.record.state.summary import Summary

FAULT = Classification(origin=Origin.TOOL, cause=Cause.UNKNOWN, persistence=Persistence.UNKNOWN)
OPENED = IncidentOpened(run_id="r", incident_id="i", fault=FAULT, message='"half" an emoji', seq=3)
GRANT = GrantAdded(grant_id="g", subject="s", verb="net", pattern="*", lifetime="always")
OPENED_WITH_A_NEW_CAUSE = {
    "type": "incident.opened",
    "incident_id": "i",
    "ts": "2026-11-23T12:00:00Z",
    "fault": {"origin": "tool", "cause": "of a newer program", "persistence": "unknown"},
}
WORDS: list[p.RuntimeMessage] = [
    p.Hello(epoch="e", position=3, role="viewer", peer="x", program="y", keys=("openai",), pid=7),
    p.WorkspaceSnapshot(position=1, why="first"),
    p.WorkspaceSnapshot(2, "gap", (Summary("r", title="t"),), (InboxRow("r", OPENED, "t\n"),), (GRANT,), more=True),
    p.WorkspaceChange(position=4),
    p.WorkspaceChange(5, summary=Summary("r")),
    p.WorkspaceChange(6, incident=InboxRow("r", OPENED)),
    p.WorkspaceChange(7, closed="i", grants=()),
    p.WorkspaceChange(8, grants=(GRANT,)),
    p.Pong(id=9, held_up="run r1: disk full", slow="run r2: still importing"),
]


@pytest.mark.parametrize("said", WORDS)
def test_what_a_runtime_says_is_read_as_it_was_said(said: p.RuntimeMessage) -> None:
    assert parse_message(said.line()) == said
    assert b"\n" not in said.line()


EARLIER = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "link-lines.jsonl").read_text("utf-8").splitlines()
]
"""What an earlier program wrote, which had codecs of its own. Never made again."""


def is_kept(before: Any, now: Any) -> bool:
    """Whether a value says all that it said before; a member that came since is nothing against it."""
    if isinstance(before, dict) and isinstance(now, dict):
        return all(is_kept(value, now.get(name)) for name, value in before.items())
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(is_kept, before, now))
    return not before or before == now


@pytest.mark.parametrize("said", EARLIER, ids=lambda said: str(said["line"])[6:40])
def test_lines_of_an_earlier_program_are_read_and_written_with_the_same_fields(said: dict[str, str]) -> None:
    read = parse_message if said["from"] == "runtime" else parse_console_message
    message = read(said["line"].encode())
    assert read(message.line()) == message
    before, now = json.loads(said["line"]), json.loads(message.line())
    assert [name for name, value in before.items() if not is_kept(value, now.get(name))] == []


@pytest.mark.parametrize("said", [p.Attach(epoch="e", position=4, program="x"), p.Ack(taken=3), p.Ping(id=8)])
def test_what_a_console_says_first_is_read_by_a_runtime(said: p.Message) -> None:
    assert parse_console_message(said.line()) == said


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ({"t": "hello", "epoch": "e"}, "position: is missing|argument"),
        ({"t": "hello", "epoch": 1, "position": 1, "role": "viewer", "peer": "", "program": ""}, "^epoch: "),
        ({"t": "hello", "epoch": "", "position": 1, "role": "god", "peer": "", "program": ""}, "^role: "),
        ({"t": "snapshot", "why": "first"}, "^position: is missing"),
        ({"t": "snapshot", "position": "1", "why": "first"}, "^position: "),
        ({"t": "snapshot", "position": 1, "why": "because"}, "^why: "),
        ({"t": "snapshot", "position": 1, "why": "first", "summaries": {}}, "^summaries: "),
        ({"t": "snapshot", "position": 1, "why": "first", "summaries": [{"id": "r", "steps": "x"}]}, "^steps: "),
        ({"t": "snapshot", "position": 1, "why": "first", "incidents": [{}]}, "^incidents: "),
        (
            {"t": "changed", "position": 1, "incident": {"run_id": "r", "opened": {"v": 1}}},
            "^opened: incident_id is missing",
        ),
        ({"t": "changed", "position": 1, "incident": {"run_id": "r", "opened": OPENED_WITH_A_NEW_CAUSE}}, "^cause: "),
        ({"t": "changed", "position": 1, "grants": [{"v": "x"}]}, "^v: |^grant_id: "),
        ({"t": "pong", "id": "x"}, "^id: "),
    ],
)
def test_what_cannot_be_read_is_named(said: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidMessage, match=where) as caught:
        parse_message(json.dumps(said, separators=(",", ":")).encode())
    assert caught.value.error == "bad_message"


@pytest.mark.parametrize("line", [b'{"t":"snapshot"', b'{"t":"hello",]', b'{"t":"pong","id":' + b"[" * 100_000])
def test_what_is_no_json_is_said(line: bytes) -> None:
    with pytest.raises(InvalidMessage) as caught:
        parse_message(line)
    assert caught.value.error == "not_json"


def test_the_event_of_a_row_is_the_one_that_was_told() -> None:
    told = parse_message(p.WorkspaceChange(6, incident=InboxRow("r", OPENED)).line())
    assert isinstance(told, p.WorkspaceChange)
    assert told.incident is not None
    assert told.incident.opened == OPENED


def test_an_inbox_is_shown_before_pydantic_is_loaded() -> None:
    line = p.WorkspaceSnapshot(1, "first", (Summary("r"),), (InboxRow("r", OPENED),), (GRANT,)).line()
    code = f"""
import sys
from datetime import UTC, datetime
import console.app.app, console.app.startup, screens.pages.inbox, screens.shell.context
from runtime.link.wire.message_parser import parse_message
from screens.render.glyphs import ASCII_GLYPHS
from screens.views.lists.inbox import inbox_rows
from screens.views.shared.render_context import RenderContext
told = parse_message({line!r})
runs = {{row.id: row for row in told.summaries}}
assert len(inbox_rows(runs, told.incidents, RenderContext(datetime.now(UTC), ASCII_GLYPHS))) > 2
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pydantic", "runtime.record.state.events", "runtime.judgement.recovery.options", "yaml"} & set(
        done.stdout.split()
    )
