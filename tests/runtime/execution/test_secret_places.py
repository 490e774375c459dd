"""One redactor for whatever leaves a run: the analysing model, the log, exports, notices."""

from __future__ import annotations

import json
import logging
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from console import logs
from orbiter.redaction import REDACTED
from runtime.daemon.log_file import RotatingLogHandler
from runtime.execution.secret_vault import make_redactor, mask_texts
from runtime.judgement.reports import export_file, incident_report
from runtime.judgement.reports.analysis_prompt import analysis_evidence, analysis_prompt, last_messages
from runtime.judgement.reports.notices import Notice, escape_sequences
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Node, fold_events
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Impact,
    Origin,
    Persistence,
)
from runtime.worker.duties.model_panel import masked_prompt
from runtime.worker.duties.notifier import webhook_body

ENVIRONMENT = "plain-words-of-mine"
SECRETS = {
    "client secret in JSON in JSON in JSON": json.dumps({"a": json.dumps({"client_secret": "Xk29dLqPz07v"})}),
    "cookie in an argument": "api_key=Set-Cookie: session=Xk29dLqPz07v; Path=/",
    "cookie": "Cookie: theme=dark; sid=Xk29dLqPz07v",
    "environment": f"the token {ENVIRONMENT} was refused",
    "aws": "denied for wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "broken": "key sk-proj-AbCd0123EfGh\n4567IjKlXk29dLqPz07v is wrong",
    "slack": "xoxb-12345678901-123456789012-Xk29dLqPz07vAbCdEfGh",
    "database": "postgres://app:Xk29dLqPz07v@db/app",
}
LEFT = ("Xk29dLqPz07v", ENVIRONMENT, "bPxRfiCYEXAMPLEKEY")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET_TOKEN", ENVIRONMENT)
    monkeypatch.setenv("MY_API_KEY", "true")


def opened(said: str) -> tuple[ev.RunCreated, ev.IncidentOpened]:
    fault = Classification(
        origin=Origin.TOOL,
        cause=Cause.TOOL_FAILED,
        persistence=Persistence.UNKNOWN,
        impact=Impact.NODE,
        user_message=said,
        technical=said,
        metadata={"body": said},
    )
    now = ev.utc_now()
    incident = ev.IncidentOpened(
        run_id="r1", seq=2, node_id="n", incident_id="i1", fault=fault, message=said, task=said, ts=now,
        action={"command": json.dumps([said])}, traceback=said, causes=(said, said),
    )  # fmt: skip
    return ev.RunCreated(run_id="r1", ref="x:y", ts=now - timedelta(seconds=5)), incident


@pytest.mark.parametrize("said", SECRETS.values(), ids=SECRETS)
def test_a_secret_is_in_nothing_that_leaves_the_run(said: str, tmp_path: Path) -> None:
    created, incident = opened(said)
    state = fold_events([created, incident])
    header = export_file.ExportHeader(orbiter_export=1, run_id="r1", exported_at=incident.ts)
    record = logging.LogRecord("x", logging.WARNING, "", 0, "failed: %s", (said,), None)
    handler = RotatingLogHandler(tmp_path / "runtime.log", descriptors=())
    texts = {
        "analysis": analysis_prompt(state, incident_report.build_report(state, incident), make_redactor(), [said]),
        "export": "\n".join(export_file.export_lines([created, incident], header, make_redactor())),
        "webhook": json.dumps(
            make_redactor().value(webhook_body(Notice("webhook", (incident,)), make_redactor().value))
        ),
        "terminal": escape_sequences(Notice("terminal", (incident,)), make_redactor().text),
        "log of the runtime": handler.format(record),
        "log of the console": logs.log_text(record),
    }
    for place, text in texts.items():
        assert not [each for each in LEFT if each in text], place
        assert REDACTED in text, place
    assert len(export_file.read_export(texts["export"]).events) == 2
    json.loads(texts["analysis"])


def cut_texts(said: str) -> dict[str, str]:
    """What is made of an incident and cut."""
    mask = make_redactor()
    created, incident = opened(said)
    masked = mask_texts(incident, mask.value)
    state = fold_events([created, masked])
    notice = Notice("webhook", (incident,), {"r1": said})
    report = incident_report.build_report(state, masked)
    ended = ev.StepEnded(run_id="r1", seq=1, node_id="n", attempt=1, fault=incident.fault, ts=incident.ts)
    return {
        "webhook": json.dumps(webhook_body(notice, mask.value)["incidents"][0]["explanation"]),
        "notice": notice.body(mask.text),
        "terminal": escape_sequences(notice, mask.text),
        "evidence": "\n".join(analysis_evidence([ended, incident], incident, mask)),
        "analysis": json.dumps(json.loads(analysis_prompt(state, report, mask))["explanation_by_rules"]),
    }


def test_what_is_cut_holds_no_half_of_a_secret() -> None:
    for before in range(20, 320):
        texts = cut_texts("w" * before + f" {ENVIRONMENT} was refused")
        assert not [place for place, text in texts.items() if ENVIRONMENT[:5] in text], before


def test_a_long_result_is_cut_after_its_secrets_are_masked() -> None:
    created, incident = opened("x")
    state = fold_events([created, incident])
    report = replace(incident_report.build_report(state, incident), lineage=("clerk",))
    for before in range(1_170, 1_200):
        result = "w" * before + f" {ENVIRONMENT} " + "w" * 2_000
        state.nodes["s"] = Node("s", "n", "tool", "pay", "clerk", "succeeded", recorded=True, result=result)
        (message,) = last_messages(state, report, make_redactor())
        assert ENVIRONMENT[:5] not in message["content"], before


PATTERN = r"tok-[a-z0-9]{64}"
OWN = f"tok-{'0123456789abcdef' * 4}"
"""A secret that the operator's own pattern finds, and only whole."""


def run_that_says(said: str, result: object) -> list[ev.JournalEvent]:
    """A run in which an agent's task, a tool's arguments and its result say it; then an incident."""
    created, incident = opened("x")
    step: dict[str, Any] = {"run_id": "r1", "node_id": "a~0/pay~0", "ts": created.ts}
    tool: dict[str, Any] = {"kind": "tool", "name": "pay", "agent": "clerk", "attempt": 1, "epoch": 1}
    incident = replace(
        incident, seq=6, node_id="a~0", lineage=("clerk",), task=said[:2_000], causes=(), action={}, message="no"
    )
    return [
        created,
        ev.NodeOpened(
            run_id="r1", seq=2, ts=created.ts, node_id="a~0", kind="agent", name="clerk", info={"task": said}
        ),
        ev.StepStarted(seq=3, parent_id="a~0", requested={"arguments": {"to": said}}, **step, **tool),
        ev.StepEnded(seq=4, attempt=1, result=result, **step),
        incident,
        ev.NodeClosed(run_id="r1", seq=7, ts=created.ts, node_id="a~0", state="failed", output=said),
    ]


def test_a_model_gets_no_half_of_a_secret_from_any_event_of_the_run() -> None:
    for before in (*range(20, 160, 4), *range(1_930, 2_004, 4)):
        events = run_that_says(f"{'w' * before} {OWN} {'w' * 3_000}", "done")
        incident = next(each for each in events if isinstance(each, ev.IncidentOpened))
        assert OWN[:5] not in masked_prompt(events, incident, [PATTERN]), before


def test_a_model_gets_no_half_of_a_secret_of_a_result_that_masking_makes_much_shorter() -> None:
    mask = make_redactor([PATTERN])
    for before in range(0, 80, 4):
        for result in (said := f"{'w' * before} " + f"{OWN} " * 60 + "w" * 3_000, [said]):
            events = run_that_says("short", result)
            state = fold_events(events)
            report = incident_report.build_report(state, opened("x")[1])
            (message,) = last_messages(state, replace(report, lineage=("clerk",)), mask)
            assert not re.search(r"tok-[a-z0-9]", message["content"]), before


def test_a_word_that_is_no_secret_blanks_nothing_out() -> None:
    assert make_redactor().text("it is true that nothing was said") == "it is true that nothing was said"
