"""Which engine is configured, and what is said where it cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.record.address import parse_address
from runtime.record.places import init_database, open_journal
from runtime.worker.driving_thread import DrivingThread
from runtime.worker.engines.choice import describe_queue
from runtime.worker.engines.port import EngineError


def test_a_directory_has_no_queue(tmp_path: Path) -> None:
    driving = DrivingThread(tmp_path / "state", ExecutionConfig(workspace=str(tmp_path), engine="dbos"))
    with pytest.raises(EngineError, match="this workspace is a directory: name one with --workspace"):
        driving.start()


async def test_a_workspace_without_a_queue_says_how_it_is_made(postgres_url: str) -> None:
    await init_database(postgres_url)
    with pytest.raises(EngineError, match="database init --dbos"):
        await describe_queue(parse_address(postgres_url))
    async with await open_journal(postgres_url) as journal:
        assert await journal.runs() == [], "the journal needs no queue"
