"""An export opened elsewhere: everything of the run is there, and nothing of it can be acted on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from orbiter.redaction import Redactor
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.judgement.reports import export_file
from runtime.link.client.client import CommandRefused, LinkClient
from runtime.record.state import events as ev
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.export_viewer import ExportViewer
from tests.runtime.link.linked import linked

ZOO = Path(__file__).parents[2] / "data" / "swarms" / "zoo.py"


@asynccontextmanager
async def console(runtime: EmbeddedRuntime | ExportViewer) -> AsyncIterator[LinkClient]:
    async with linked(runtime.transport()) as client:
        yield client


@pytest.fixture
async def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A run that waits for a permission, and its incident, each as the text of an export."""
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    given = ExecutionConfig(workspace=str(tmp_path), policy=RetryPolicy(max_attempts=1), analysis="off")
    with EmbeddedRuntime(tmp_path / ".orbiter", given, listening=False) as runtime:
        async with console(runtime) as client:
            await client.command("start", ref=f"{ZOO}:stage", input="mail me at ada@example.com")
            await client.wait_until(lambda: len(client.incidents) == 2)
            (run_id,) = client.summaries
            (incident, *_) = client.incidents
            return {
                "run": (await client.command("export", run_id=run_id))["text"],
                "incident": (await client.command("export", incident_id=incident))["text"],
                "id": incident,
            }


@pytest.mark.parametrize("what", ["run", "incident"])
async def test_an_export_is_shown_as_the_run_was_and_takes_no_command(exported: dict[str, str], what: str) -> None:
    read = export_file.read_export(exported[what])
    replay = await asyncio.to_thread(ExportViewer(read, "elsewhere.orbiter").__enter__)  # as a console opens one
    directory = replay._directory
    with closing(replay):
        assert directory.stat().st_mode & 0o077 == 0
        async with console(replay) as client:
            await client.wait_until(lambda: len(client.incidents) == 2)
            ((run_id, summary),) = client.summaries.items()
            assert (run_id, summary.state) == (read.header.run_id, read.state().phase)
            assert client.role == "viewer"
            events = [ev.parse_event(each) for each in await client.command("events", run_id=run_id)]
            assert [event.seq for event in events] == [event.seq for event in read.events]
            report = await client.command("report", incident_id=exported["id"])
            assert report["text"].startswith("Error Report")
            assert "ada@example.com" not in json.dumps(report)
            for verb, args in {
                "answer": {"incident_id": exported["id"], "option": "abort"},
                "abort": {"run_id": run_id},
                "start": {"ref": f"{ZOO}:plain"},
                "looked": {},
            }.items():
                with pytest.raises(CommandRefused, match="view"):
                    await client.command(verb, **args)
            status = await client.command("status")
            assert (status["driving"], status["workspace"]) == (False, "elsewhere.orbiter")
    assert not directory.exists()


async def test_what_was_granted_goes_along_with_its_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    given = ExecutionConfig(workspace=str(tmp_path), policy=RetryPolicy(max_attempts=1), analysis="off")
    with EmbeddedRuntime(tmp_path / ".orbiter", given, listening=False) as runtime:
        async with console(runtime) as client:
            for _ in range(2):
                await client.command("start", ref=f"{ZOO}:saver", input="go")
                await client.wait_until(lambda: bool(client.incidents))
                ((incident, row),) = client.incidents.items()
                params = {"for": "run", "until": "7d"}
                await client.command("answer", incident_id=incident, option="grant", params=params)
                await client.wait_until(lambda: not client.incidents)
                await client.wait_until(lambda: all(run.state == "completed" for run in client.summaries.values()))
            before = [each for each in await client.command("ledger") if each["scope"] == row.run_id]
            text = (await client.command("export", run_id=row.run_id))["text"]
    replay = await asyncio.to_thread(ExportViewer(export_file.read_export(text), "elsewhere").__enter__)
    with closing(replay):
        async with console(replay) as client:
            ledger = await client.command("ledger")
            audit = await client.command("audit")
    assert [(each["id"], each["uses"], each["pattern"]) for each in ledger] == [
        (each["id"], 1, each["pattern"]) for each in before
    ]
    assert [each["what"] for each in audit] == ["started", "granted", "answered"]


async def test_an_export_that_was_cut_at_its_beginning_is_refused_and_leaves_nothing(exported: dict[str, str]) -> None:
    head, _, *rest = exported["run"].splitlines()
    cut = export_file.read_export("\n".join([head, *rest]))
    replay = ExportViewer(cut, "cut")
    with pytest.raises(export_file.InvalidExport, match="does not begin with its run"):
        await asyncio.to_thread(replay.__enter__)
    assert not replay._directory.exists()


def test_what_an_export_says_goes_into_no_journal_of_the_workspace(tmp_path: Path) -> None:
    created = ev.RunCreated(run_id="r", ref="/etc/passwd:x", input="x", seq=1)
    header = export_file.ExportHeader(orbiter_export=1, run_id="r", exported_at=created.ts)
    read = export_file.read_export("\n".join(export_file.export_lines([created], header, Redactor())))
    with ExportViewer(read, str(tmp_path)):
        assert list(tmp_path.iterdir()) == []
