"""The first moments of a console: the picture is there before the first screen is, or it is not waited for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.app.startup import attach_console
from runtime.link.client.client import LinkClient
from runtime.link.transports.transport import Streams, UnixTransport
from tests.runtime.link.link_bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="orb-") as place:
        made = Bench(Path(place) / ".orbiter")
        try:
            yield made
        finally:
            await made.close()


async def test_the_first_screen_finds_the_picture(bench: Bench) -> None:
    await bench.started()
    await bench.serve()
    link = LinkClient(UnixTransport(bench.state_dir))
    bench.clients.append(link)
    await attach_console(link, "screens.pages.inbox")
    assert set(link.summaries) == {"run-1"}
    assert "screens.pages.inbox" in sys.modules


async def test_without_a_runtime_nothing_is_waited_for(bench: Bench) -> None:
    link = LinkClient(UnixTransport(bench.state_dir))
    bench.clients.append(link)
    await asyncio.wait_for(attach_console(link, "screens.pages.inbox"), 30)
    assert link.status.phase == "lost"


async def test_a_runtime_that_says_nothing_is_not_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(UnixTransport):
        async def connect(self) -> Streams:
            await asyncio.Event().wait()
            raise AssertionError

    monkeypatch.setattr("console.app.startup.FIRST_ATTACH_S", 0.0)
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    link = LinkClient(Silent(bench.state_dir))
    bench.clients.append(link)
    await asyncio.wait_for(attach_console(link, "colorsys"), 30)
    assert link.status.phase == "connecting"
    assert "colorsys" in sys.modules, "the first screen is loaded all the same"


def test_what_stands_before_the_first_frame_loads_no_models() -> None:
    code = "import sys, console.open, console.app.app, console.terminal.driver; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pydantic", "runtime.record.state.events", "screens.pages.inbox"} & set(done.stdout.split())
