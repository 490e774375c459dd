"""What happened while the operator was away: told by each host as soon as it can be asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.app.digest import connected_hosts, record_look, show_digest
from runtime.link.client.client import LinkClient
from runtime.link.client.multi_client import MultiClient
from runtime.link.transports.transport import UnixTransport
from runtime.link.wire.protocol import PictureSize
from runtime.record.state import events as ev
from screens.shell.context import DigestNotice
from tests.runtime.link.link_bench import Bench


@pytest.fixture
async def benches(tmp_path: Path) -> AsyncIterator[dict[str, Bench]]:
    """Two workspaces on which the operator looked, and in which a run ended since then."""
    made = {}
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        bench = made[name] = Bench(tmp_path / name / ".orbiter")
        await bench.serve()
        await (await bench.console()).command("looked")
        await (await bench.started(f"run-{name}", title=f"on {name}")).write(ev.RunFinished(state="completed"))
    yield made
    for bench in made.values():
        await bench.close()


async def test_a_host_that_is_lost_does_not_keep_the_others_from_telling(benches: dict[str, Bench]) -> None:
    await benches["right"].stop()
    links = MultiClient(
        {
            name: LinkClient(
                UnixTransport(bench.state_dir, role="viewer" if name == "right" else "operator"), host=name
            )
            for name, bench in benches.items()
        }
    )
    said: list[DigestNotice] = []
    came = asyncio.Event()

    def tell(found: DigestNotice) -> None:
        said.append(found)
        came.set()

    links.start()
    telling = asyncio.create_task(show_digest(links, ev.utc_now, tell))
    try:
        await came.wait()
        assert links.status.phase == "lost"
        assert connected_hosts(links) == ["left"]
        (first,) = said
        assert [text.partition(":")[0] for text in first.sentences] == ["left"] * len(first.sentences)
        assert not telling.done()
        came.clear()
        await benches["right"].serve()
        await telling
        assert {text.partition(":")[0] for text in said[-1].sentences} == {"left", "right"}
        assert said[-1].line.startswith("Since you looked ")
        before = [await _looks(bench) for bench in benches.values()]
        await record_look(links)
        assert [await _looks(bench) for bench in benches.values()] == [before[0] + 1, before[1]], "a viewer's is not"
    finally:
        telling.cancel()
        await links.close()


async def _looks(bench: Bench) -> int:
    """How often an operator's look was noted."""
    return sum(isinstance(event, ev.OperatorLooked) for event in await (await bench.open()).read(ev.WORKSPACE_RUN_ID))


async def test_a_look_at_half_a_picture_is_not_noted(benches: dict[str, Bench]) -> None:
    links = MultiClient(
        {name: LinkClient(UnixTransport(bench.state_dir), host=name) for name, bench in benches.items()}
    )
    links.start()
    try:
        for client in links.clients.values():
            await client.wait_until(lambda client=client: client.whole)  # type: ignore[misc]
        left, right = benches.values()
        before = [await _looks(left), await _looks(right)]
        view = links.clients["right"]._view
        view.whole, view._size = False, PictureSize(runs=5, incidents=5)
        await record_look(links.clients["right"])
        await record_look(links)
        assert [await _looks(left), await _looks(right)] == [before[0] + 1, before[1]]
    finally:
        await links.close()
