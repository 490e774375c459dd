"""The stop signal, and a run that it cannot let go of."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from runtime.execution.run_session import RunSession
from runtime.record.journal import Lease
from runtime.worker import stop_signal
from runtime.worker.stop_signal import StopSignal


class Session:
    """What the signal itself asks of a session."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lease = Lease(run_id="r1", owner="me", epoch=1, ttl_s=10.0)


async def test_it_is_said_where_a_run_is_not_let_go_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(*_: Any) -> None:
        raise RuntimeError("no tracker")

    monkeypatch.setattr(stop_signal, "_release_run", fails)
    stopping, session = StopSignal(), cast("RunSession", Session())
    stopping.add(session)
    stopping.set()
    (releasing,) = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait({releasing})
    stopping.remove(session)
    (record,) = caplog.records
    assert record.getMessage() == "run r1: it was not let go of"
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "no tracker"
