"""What a console asks of recovery, over the link: previews, bulk answers, ledger, audit, digest, report, export, and a
secret that no file holds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.judgement.reports import export_file
from runtime.link.client.client import CommandRefused, LinkClient
from runtime.service.embedded import EmbeddedRuntime
from tests.runtime.link.linked import linked

ZOO = Path(__file__).parents[3] / "data" / "swarms" / "zoo.py"


@pytest.fixture
async def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LinkClient]:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    given = ExecutionConfig(workspace=str(tmp_path), policy=RetryPolicy(max_attempts=1), redact=(r"hello",))
    with EmbeddedRuntime(tmp_path / ".orbiter", given, listening=False) as runtime:
        async with linked(runtime.transport()) as client:
            yield client


async def waiting(console: LinkClient, name: str, count: int = 1) -> list[Any]:
    before = set(console.incidents)
    for _ in range(count):
        await console.command("start", ref=f"{ZOO}:{name}", input="go")
    await console.wait_until(lambda: len(set(console.incidents) - before) >= count)
    return [row for key, row in console.incidents.items() if key not in before]


async def test_a_grant_is_previewed_given_used_counted_and_audited(console: LinkClient, tmp_path: Path) -> None:
    (row,) = await waiting(console, "twice")
    incident_id, root = row.opened.incident_id, str(tmp_path)
    found = await console.command("preview", incident_id=incident_id, params={"for": "run", "pattern": "data/*"})
    assert found["grant"]["pattern"] == f"{root}/data/*"
    assert found["sentence"] == "would have matched 0 past actions and 1 pending"
    with pytest.raises(CommandRefused, match="does not cover"):
        await console.command("preview", incident_id=incident_id, params={"for": "run", "pattern": "x/*"})
    assert await console.command("ledger") == []
    await console.command("answer", incident_id=incident_id, option="grant", params={"for": "run", "pattern": "data/*"})
    await console.wait_until(lambda: console.summaries[row.run_id].state == "completed")
    (held,) = await console.command("ledger")
    assert (held["state"], held["uses"], held["lifetime"]) == ("in force", 2, "run")
    decisions = await console.command("audit", run_id=row.run_id)
    assert [each["what"] for each in decisions] == ["started", "granted", "answered"]
    assert (await console.command("digest", away=True))["empty"], "no operator looked before"
    made = await console.command("digest")
    assert made["ended"] == {"completed": 1}
    await console.command("looked")
    assert (await console.command("digest"))["empty"]
    exported = await console.command("export", run_id=row.run_id)
    read = export_file.read_export(exported["text"])
    assert (read.state().phase, read.header.run_id) == ("completed", row.run_id)
    with pytest.raises(CommandRefused, match="unknown run"):
        await console.command("export", run_id="nope")


async def test_one_answer_for_all_that_are_the_same(console: LinkClient) -> None:
    rows = await waiting(console, "reacher", 3)
    items = await console.command(
        "answer_like", incident_id=rows[0].opened.incident_id, option="result", params={"value": "by phone"}
    )
    assert [item["state"] for item in items] == ["went on"] * 3
    await console.wait_until(lambda: all(console.summaries[row.run_id].state == "completed" for row in rows))


async def test_the_report_is_there_as_data_and_as_text(console: LinkClient) -> None:
    (row,) = await waiting(console, "mixed")
    found = await console.command("report", incident_id=row.opened.incident_id)
    assert found["markdown"].startswith("⚠️ **ERROR REPORT** - ")
    assert "**Waits For This:**" in found["markdown"]
    assert "- swarm swarm(noter...), then plain" in found["markdown"]
    assert found["attempts"][0]["cause"] == "service_unavailable"
    assert "Attempt 1: service_unavailable" in found["text"]
    assert found["causes"][0].startswith("ModelAPIError: ")
    exported = await console.command("export", incident_id=row.opened.incident_id)
    assert export_file.read_export(exported["text"]).header.incident_id == row.opened.incident_id


async def test_a_secret_goes_through_the_link_and_into_no_file(console: LinkClient, tmp_path: Path) -> None:
    (row,) = await waiting(console, "quiz_secret")
    assert row.opened.secret_key
    await console.command(
        "answer", incident_id=row.opened.incident_id, option="input", params={"value": "correct horse battery"}
    )
    await console.wait_until(lambda: console.summaries[row.run_id].state == "completed")
    assert (tmp_path / "effects").read_text() == f"quiz secret {'*' * 21}\n"
    for path in (tmp_path / ".orbiter").iterdir():
        if path.is_file():
            assert b"correct horse" not in path.read_bytes(), path
