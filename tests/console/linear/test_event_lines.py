"""The linear mode's lines: what is said of events, and that no foreign text can forge or break one."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from console import output
from console.linear.event_lines import EventLines
from runtime.judgement.reports.incident_report import NO_ANALYSIS
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Origin,
    Persistence,
)

DATA = Path(__file__).parents[2] / "data"
PAYLOADS: list[dict[str, Any]] = json.loads((DATA / "hostile-text.json").read_text())["payloads"]
NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


def fault(text: str) -> Classification:
    return Classification(
        origin=Origin.TOOL,
        cause=Cause.NETWORK,
        persistence=Persistence.TRANSIENT,
        effect=Effect.NONE,
        user_message=text,
        technical=text,
    )


def story(text: str) -> list[ev.JournalEvent]:
    """A run in which everything that can be foreign is `text`."""
    by = ev.Actor(name=text, channel="cli")
    tool: dict[str, Any] = {"node_id": "s/a/t", "parent_id": "s/a"}
    denied: dict[str, Any] = {"node_id": "s/a/d", "parent_id": "s/a"}
    return [
        ev.RunCreated(ref="x.py:swarm", title=text, input=text, by=by),
        ev.RunStarted(epoch=1),
        ev.NodeOpened(node_id="s", kind="swarm", name=text),
        ev.NodeOpened(node_id="s/a", parent_id="s", kind="agent", name=text),
        ev.Warned(node_id="s/a", text=text),
        ev.StepStarted(
            **tool, kind="tool", name=text, agent=text, attempt=1, epoch=1, requested={"arguments": {text: text}}
        ),
        ev.StepEnded(**tool, attempt=1, fault=fault(text)),
        ev.RetryScheduled(**tool, attempt=2, max_attempts=4, delay_s=1.0, until=NOON, source=text),
        ev.IncidentOpened(
            **tool,
            incident_id="i-1",
            fault=fault(text),
            message=text,
            question=text,
            task=text,
            lineage=(text, text),
            action={"tool": text},
            options=(ev.Option(id="retry", label="Retry operation", hint=text), ev.Option(id="abort", label="Abort")),
            deadline=NOON,
        ),
        ev.AnalysisStarted(**tool, incident_id="i-1", model=text),
        ev.AnalysisAdded(**tool, incident_id="i-1", model=text, text=text),
        ev.IncidentAnswered(
            **tool, incident_id="i-1", revision=1, option="retry", params={"value": text}, reason=text, by=by
        ),
        ev.StepStarted(**tool, kind="tool", name=text, agent=text, attempt=2, epoch=1),
        ev.SwarmLoaded(),
        ev.ClockSetBack(seconds=3_600.0),
        ev.ClockStepped(seconds=-7_200.0),
        ev.RunFrozen(reason=text, by=by),
        ev.RunThawed(by=by),
        ev.RewindRequested(node_id="s/a/t", reason=text, by=by),
        ev.RunRewound(node_id="s/a/t", dropped=1, reason=text, by=by),
        ev.StepStarted(**tool, kind="tool", name=text, agent=text, attempt=1, epoch=1),
        ev.StepEnded(**tool, attempt=2, result={"content": text}),
        ev.StepStarted(kind="tool", name="denied", agent=text, attempt=1, epoch=1, **denied),
        ev.StepEnded(attempt=1, result={"error": text}, by=by, **denied),
        ev.NodeClosed(node_id="s/a", parent_id="s", state="succeeded", output=text),
        ev.AbortRequested(reason=text, by=by),
        ev.RunParked(reason="waiting"),
        ev.RunFinished(state="aborted", error=text),
    ]


def told(text: str, *, ascii_only: bool = False) -> list[str]:
    lines = EventLines(ascii_only=ascii_only)
    state = DurableRun()
    found: list[str] = []
    for seq, event in enumerate(story(text), 1):
        placed = replace(event, seq=seq, run_id="r1", ts=NOON)
        state.apply(placed)
        found += [line.text for line in lines.lines_for(placed, state)]
        if isinstance(placed, ev.IncidentOpened):
            found += [line.text for line in lines.incident(placed, state)]
    return found


def text_of(payload: dict[str, Any]) -> str:
    return str(payload.get("text") or payload["unit"] * payload["repeat"] + payload["tail"])


@pytest.mark.parametrize(
    ("how", "model_told"),
    [
        ({"absorbed": True, "result": {"error": "no"}}, True),
        ({"absorbed": True}, False),  # it went back into the swarm: the agent ends with what it has, or another goes on
        ({"absorbed": True, "result": {"error": "no"}, "by": ev.Actor(name="me")}, False),  # aborted
        ({}, False),
    ],
)
def test_the_model_is_said_to_be_told_only_where_it_is(how: dict[str, Any], model_told: bool) -> None:
    state = DurableRun()
    step: dict[str, Any] = {"node_id": "a/t", "parent_id": "a"}
    state.apply(ev.StepStarted(**step, kind="tool", name="t", agent="a", attempt=1, epoch=1))
    ended = ev.StepEnded(**step, attempt=1, fault=fault("no"), ts=NOON, **how)
    state.apply(ended)
    (line,) = EventLines().lines_for(ended, state)
    assert ("the model is told" in line.text) is model_told


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: str(payload["id"]))
def test_foreign_text_neither_leaks_nor_forges_a_line(payload: dict[str, Any]) -> None:
    raw = text_of(payload)
    plain = told("x")
    found = told(raw)
    rows = raw.count("\n")  # a finished run's own text, and an analysis, may take several lines, all of them indented
    assert len(plain) <= len(found) <= len(plain) + 2 * min(rows, 40)
    for line in found:
        assert "\n" not in line
        assert line.isprintable()
    assert all(line.isascii() for line in told(raw, ascii_only=True))


def test_what_an_operator_reads() -> None:
    lines = "\n".join(line[9:] if line[2:3] == ":" else line for line in told("pump"))
    for expected in (
        "run r1 (pump) created by pump (cli): pump",
        "run r1 started",
        "pump warns: pump",
        'pump · pump(pump="pump") failed: network: pump',
        "pump · denied() not done, decided by pump (cli): pump",
        "retries: attempt 2 of 4 in 1.0s, by pump",
        "the clock was set back by 1h00m or more: waits that were under way end earlier by as much",
        "the clock was set back by 2h00m: waits are as long as they were",
        "run r1 frozen by pump (cli); under way and coming to an end: 1: pump",
        "rewind to s/a/t requested by pump (cli): pump",
        "rewound to s/a/t by pump (cli); nodes dropped: 1",
        "◆ incident i-1 waits for an answer",
        "    [1] retry - Retry operation: Calls pump once more with the same arguments (attempt 2).",
        "    what: pump",
        "    [2] abort - Abort… (the safe default): Ends the whole run; what is done is kept.",
        "    by itself: Abort (abort), at ",
        "incident i-1: pump is asked what went wrong",
        "incident i-1: analysis by the model pump\n    pump",
        "incident i-1 answered by pump (cli): retry",
        "run r1 waits for a person",
        "run r1 aborted",
    ):
        assert expected in lines


def test_events_without_a_line_say_nothing() -> None:
    state = DurableRun()
    assert EventLines().lines_for(ev.StepSettled(node_id="s"), state) == []


def test_why_there_is_no_analysis_is_said_once_in_a_run() -> None:
    lines, state = EventLines(), DurableRun()

    def told(incident_id: str, reason: str) -> list[str]:
        added = ev.AnalysisAdded(incident_id=incident_id, text=NO_ANALYSIS, fallback=True, reason=reason, ts=NOON)
        return [line.text.partition("incident ")[2] for line in lines.lines_for(added, state)]

    assert told("i-1", "no provider key: set A_KEY") == ["i-1: no analysis: no provider key: set A_KEY"]
    assert told("i-2", "no provider key: set A_KEY") == []
    assert told("i-3", "a:b did not answer: timeout") == ["i-3: no analysis: a:b did not answer: timeout"]
    assert told("i-4", "") == [f"i-4: no analysis: {NO_ANALYSIS}"], "an earlier program wrote no reason"


class Stream(io.TextIOWrapper):
    """A stream of a given encoding that remembers what was written."""

    def __init__(self, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)

    def written(self) -> bytes:
        found = self.buffer
        assert isinstance(found, io.BytesIO)
        return found.getvalue()


def test_json_is_one_line_of_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream("utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    output.print_json({"id": "x", "text": "a\n\x1b[2J\u202e\ud800 é"})
    written = stream.written()
    assert written.count(b"\n") == 1
    assert written.isascii()
    assert b"\x1b" not in written
    assert json.loads(written)["text"] == "a\n\x1b[2J\u202e\ud800 é"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_words_fit_the_encoding_of_the_stream(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    stream = Stream(encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    output.print_line("é \x1b[31m 漢 \ud800")
    output.print_table(("id", "what"), [("[red]a[/x]", "b\x07"), ("é", "漢")])
    written = stream.written()
    assert b"\x1b" not in written
    assert b"[red]a[/x]" in written
    assert written.decode(encoding)


@pytest.mark.parametrize("columns", ["80", "120", "200"])
def test_a_long_cell_takes_no_room_from_the_ids_before_it(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    stream = Stream("utf-8")
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", columns)
    row = (
        "i-ppmbejrv",
        "261121-044441-acer",
        "17",
        "now",
        "wait_retry retry switch_model result skip abort",
        "x" * 300,
    )
    output.print_table(("incident", "run", "same", "age", "options", "what"), [row])
    _, shown = stream.written().decode().splitlines()
    assert shown.split()[:4] == ["i-ppmbejrv", "261121-044441-acer", "17", "now"]
    assert shown.rstrip().endswith("x…")
    assert len(shown) <= int(columns)


def test_in_a_pipe_nothing_is_cut_and_nothing_stands_behind_the_last_word(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 5_000
    output.print_table(("run", "what"), [("r-1", long), ("漢", "\x1b[2Jb\nc")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["run  what", f"r-1  {long}"]
    assert lines[2].startswith("漢   ")
    assert lines[2].isprintable()
    assert all(line == line.rstrip() for line in lines)


def test_only_harmless_text_is_copied_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_raw('{"a": 1}\nWorkingDirectory=/home/jürgen/日本\n')
    assert capsys.readouterr().out == '{"a": 1}\nWorkingDirectory=/home/jürgen/日本\n'
    reordered, invisible = ("/ב/x 7", "/ا/x 7", "\u0661"), ("\u115f", "\u2800", "e\ufe0f")
    for foreign in ("\x1b[2J", "\x9b2J", "a\u202eb", "a\rb", "\udce9", *reordered, *invisible):
        with pytest.raises(ValueError, match="printable characters"):
            output.print_raw(foreign)
    assert capsys.readouterr().out == ""


def test_notes_leave_stdout_alone(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_note("said aside")
    output.print_prompt("well?")
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err == "said aside\nwell? "
