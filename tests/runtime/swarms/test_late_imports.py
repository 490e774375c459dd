"""What is said of an import that ends after its run was aborted, or after its time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.swarms import imports
from runtime.swarms.imports import ImportTimeoutError, SwarmImport, load_within_limit

Late = Callable[[Any, BaseException | None], None]


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[Late]:
    """What is called when an import comes back that was left."""
    left: asyncio.Queue[Late] = asyncio.Queue()

    async def run(_call: Callable[[], Any], *, on_late: Late) -> None:
        left.put_nowait(on_late)
        await asyncio.Event().wait()

    monkeypatch.setattr(imports._pool, "run", run)
    return left


def loading(tmp_path: Path, limit_s: float) -> asyncio.Task[Any]:
    return asyncio.create_task(load_within_limit(lambda _begun: None, SwarmImport("s.py:s", tmp_path, ""), limit_s))


async def test_one_that_took_too_long_is_told_when_it_ends(
    tmp_path: Path, ends: asyncio.Queue[Late], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ImportTimeoutError):
        await loading(tmp_path, 0.0)
    (await ends.get())(None, None)
    assert "the import of s.py:s ended after 0 s, too late: dropped; a retry loads it" in caplog.text


async def test_one_whose_run_was_aborted_is_not(
    tmp_path: Path, ends: asyncio.Queue[Late], caplog: pytest.LogCaptureFixture
) -> None:
    task = loading(tmp_path, 60.0)
    late = await ends.get()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    late(None, None)
    assert caplog.text == ""
