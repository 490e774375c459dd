"""`log`, `budgets`, `breakers --all`: what the console's screens show, from the command line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from console.cli import cli
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)

DOWN = Classification(
    origin=Origin.MODEL,
    cause=Cause.SERVICE_UNAVAILABLE,
    persistence=Persistence.TRANSIENT,
    technical="503 \x1b[2Jgone",
)


async def written(place: Path) -> None:
    async with await open_journal(place) as journal:
        created = ev.RunCreated(
            run_id="r-1", ref="a.py:a", title="nightly", input="go", options={"budget": {"max_llm_calls": 1}}
        )
        state = DurableRun()
        state.apply(created)
        await journal.create(created, state.summary())
        lease = await journal.claim("r-1", "test", 60)
        assert lease is not None
        step: dict[str, Any] = {"node_id": "swarm~0/ann~0/openai:gpt~0", "parent_id": "swarm~0/ann~0"}
        events = [
            ev.RunStarted(epoch=1),
            ev.NodeOpened(node_id="swarm~0", kind="swarm", name="swarm"),
            ev.NodeOpened(node_id="swarm~0/ann~0", parent_id="swarm~0", kind="agent", name="ann"),
            ev.StepStarted(**step, kind="llm", name="openai:gpt", agent="ann", attempt=1, epoch=1),
            ev.StepEnded(**step, attempt=1, fault=DOWN),
        ]
        for event in events:
            state.apply(event)
        await journal.append(lease, events, summary=state.summary())
        for failures, reason in ((1, "the service is down"), (0, "a call succeeded")):
            changed = ev.BreakerChanged(key="model:openai:gpt", failures=failures, reason=reason)
            await journal.post(ev.WORKSPACE_RUN_ID, changed)


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ORBITER_STATE", raising=False)
    asyncio.run(written(tmp_path / ".orbiter"))
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def test_the_log_is_printed_filtered_and_as_json(said: Path) -> None:
    lines = run("log").stdout.splitlines()
    assert "nightly created by the runtime: go" in lines[0]
    assert any("breaker model:openai:gpt is closed" in line for line in lines)
    (fault,) = run("log", "r-1", "--faults").stdout.splitlines()
    assert "ann · openai:gpt failed: service_unavailable: 503 ␛[2Jgone" in fault
    assert run("log", "--grep", "!nightly", "--limit", "2").stdout.count("\n") == 2
    (row,) = map(json.loads, run("log", "r-1", "--json", "--limit", "1").stdout.splitlines())
    assert (row["id"], row["level"], row["type"]) == ("r-1:6", "error", "step.ended")
    refused = run("log", "--grep", "(")
    assert refused.exit_code == 2
    assert "not a valid regular expression" in refused.stderr
    assert run("log", "r-9").exit_code == 2
    (said / ".orbiter" / "runtime.log").write_text("INFO up\nERROR \x1b[2Jdown\n")
    assert run("log", "--file", "--grep", "down").stdout == "ERROR ␛[2Jdown\n"


def test_budgets_and_breakers_are_listed(said: Path) -> None:
    (found,) = map(json.loads, run("budgets", "--json").stdout.splitlines())
    assert found["id"] == "r-1"
    (limit,) = found["limits"]
    assert (limit["limit"], limit["used"], limit["allowed"], limit["level"]) == ("max_llm_calls", 1, 1, "hit")
    assert "used up" in run("budgets", "r-1").stdout
    assert "no breaker has counted a failure" in run("breakers").stderr
    (breaker,) = map(json.loads, run("breakers", "--all", "--json").stdout.splitlines())
    assert (breaker["state"], breaker["error"]) == ("closed", "the service is down")
    assert "the service is down" in run("breakers", "--all").stdout
