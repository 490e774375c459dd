"""Fixtures of the link's tests."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.runtime.link.link_bench import Bench


@pytest.fixture(autouse=True)
def short_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where sockets go if a test's directory is too deep for them: nothing is left in anybody's home."""
    with tempfile.TemporaryDirectory(prefix="orb-") as place:
        monkeypatch.setenv("HOME", place)
        yield Path(place)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    state_dir = tmp_path / ".orbiter"
    (tmp_path / "swarm.py").write_text("team = None\n")
    made = Bench(state_dir)
    try:
        yield made
    finally:
        await made.close()
