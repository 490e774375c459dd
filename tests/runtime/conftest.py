"""The bench fixture; what it gives is in `bench`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.record.places import open_journal
from tests.runtime.bench import Bench


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    async with await open_journal(tmp_path) as journal:
        yield Bench(tmp_path, journal)
