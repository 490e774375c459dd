"""Fixtures of the link's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.runtime.link.link_bench import Bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    state_dir = tmp_path / ".orbiter"
    (tmp_path / "swarm.py").write_text("team = None\n")
    made = Bench(state_dir)
    try:
        yield made
    finally:
        await made.close()
