"""A runtime that is broken or hostile: what a console keeps of it is bounded, and the operator is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.daemon import sockets
from runtime.link.client.client import LinkClient, LinkLost
from runtime.link.transports.transport import UnixTransport
from runtime.link.wire import limits
from runtime.link.wire.framing import MAX_LINE_BYTES
from runtime.record.state.durable_run import Summary

SMALL = 64 * 1024
HELLO = {"t": "hello", "epoch": "e", "position": 0, "role": "operator", "peer": "me", "program": "evil 6.66"}
PICTURE = {"t": "snapshot", "position": 1, "why": "first"}


def _line(**said: Any) -> bytes:
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


class Hostile:
    """A runtime on a real socket that says hello, and then what it is given, on each connection."""

    def __init__(self, says: Callable[[], Iterator[bytes]]) -> None:
        self.connections = 0
        self.sent = 0
        self.ended = 0
        self.changed = asyncio.Event()
        self._says = says

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        reading = asyncio.create_task(_read(reader))
        try:
            writer.write(_line(**HELLO) + _line(**PICTURE))
            for piece in self._pieces():
                writer.write(piece)
                await writer.drain()
                if writer.transport.is_closing():
                    return
            await reading
        except ConnectionError:
            pass
        finally:
            reading.cancel()
            writer.transport.abort()
            self.ended += 1
            self.changed.set()

    async def all_ended(self) -> None:
        while self.ended < self.connections:
            self.changed.clear()
            await self.changed.wait()

    def _pieces(self) -> Iterator[bytes]:
        for piece in self._says():
            self.sent += len(piece)
            yield piece


async def _read(reader: asyncio.StreamReader) -> None:
    while await reader.read(MAX_LINE_BYTES):
        pass


@asynccontextmanager
async def _console(
    state: Path, says: Callable[[], Iterator[bytes]], *, hold: bool = True
) -> AsyncIterator[tuple[Any, Any]]:
    hostile = Hostile(says)
    listening = sockets.listen(state)
    servers = [await asyncio.start_unix_server(hostile.serve, sock=sock) for sock in listening.by_role.values()]
    client = LinkClient(UnixTransport(state), hold=hold)
    try:
        yield client, hostile
    finally:
        await client.close()
        for server in servers:
            server.close()
        await hostile.all_ended()
        listening.close()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of a few limits is as good as one of gigabytes."""
    for name in ("MAX_WORKSPACE_BYTES", "MAX_RUN_BYTES"):
        monkeypatch.setattr(limits, name, SMALL)
    monkeypatch.setattr(limits, "MAX_PARTS_BYTES", 4 * MAX_LINE_BYTES)
    for name in ("MAX_NODES", "MAX_TEXTS", "MAX_TEXT_CHARS"):
        monkeypatch.setattr(limits, name, 1000)


def _rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [json.loads(Summary(id=f"r{number}", ref="x:y").to_json()) for number in range(start, start + count)]


def _endless_parts_of_a_message() -> Iterator[bytes]:
    while True:
        yield _line(t="part", key=1, data="x" * 100_000)


def _many_messages_begun() -> Iterator[bytes]:
    for key in range(1000):
        yield _line(t="part", key=key, data="x")


def _an_endless_snapshot() -> Iterator[bytes]:
    for number in range(10_000):
        yield _line(t="snapshot", position=2, why="first", more=True, summaries=_rows(20, number * 20))


def _a_huge_line() -> Iterator[bytes]:
    while True:
        yield b"x" * 100_000


DEEP = {
    "a list": b'{"t":"reply","id":"x","ok":true,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "a row": b'{"t":"changed","position":2,"summary":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}\n",
    "a number": b'{"t":"changed","position":' + b"9" * 100_000 + b"}\n",
    "no row": b'{"t":"changed","position":2,"summary":[1,2]}\n',
    "no rows": b'{"t":"snapshot","position":2,"why":"first","summaries":[7]}\n',
}
FLOODS: dict[str, tuple[Callable[[], Iterator[bytes]], str]] = {
    "endless parts": (_endless_parts_of_a_message, "unfinished messages hold more than"),
    "many messages": (_many_messages_begun, "more than 64"),
    "endless snapshot": (_an_endless_snapshot, "the lists of runs and incidents take more than"),
    "a huge line": (_a_huge_line, "a line is longer than"),
}


@pytest.mark.parametrize("how", FLOODS)
async def test_what_breaks_a_limit_is_cut_off_and_said(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says, why = FLOODS[how]
    async with _console(tmp_path, says) as (client, hostile):
        client.start()
        await client.wait_until(lambda: client.status.phase == "lost")
        assert why in client.status.reason
        assert "breaks the protocol, and was cut off" in client.status.reason
        await client.wait_until(lambda: hostile.connections >= 3)  # it is tried again, later each time
        assert not client._view._parts
        assert hostile.sent < hostile.connections * (limits.MAX_PARTS_BYTES + 8 * MAX_LINE_BYTES)


@pytest.mark.parametrize("how", DEEP)
async def test_what_cannot_be_read_is_cut_off_and_ends_a_command(tmp_path: Path, how: str) -> None:
    async with _console(tmp_path, lambda: iter([DEEP[how]]), hold=False) as (client, _):
        client.start()
        await client.wait_until(lambda: client.ready)
        with pytest.raises(LinkLost, match=r"breaks the protocol|what it says cannot be read"):
            await client.command("status")
        await client.wait_until(lambda: client.status.phase == "lost")


async def test_endless_changes_of_the_picture_are_asked_for_as_a_whole(tmp_path: Path) -> None:
    def says() -> Iterator[bytes]:
        for number in range(2, 100_000):
            yield _line(t="changed", position=number, summary=_rows(1, number)[0])

    async with _console(tmp_path, says) as (client, hostile):
        most = 0

        def look() -> None:
            nonlocal most
            most = max(most, sum(len(row.to_json()) for row in client.summaries.values()))

        client.subscribe(look)
        client.start()
        await client.wait_until(lambda: hostile.connections >= 3)
    assert 0 < most <= SMALL
    assert hostile.sent < 3 * 100_000 * 50


def _run_head(run_id: str = "r", **more: Any) -> bytes:
    return _line(
        t="run", run_id=run_id, seq=1, why="first", head={"id": run_id, "last_seq": 1, **more.pop("head", {})}, **more
    )


def _node(number: int, parent: str = "", **more: Any) -> dict[str, Any]:
    return {"id": f"n{number}", "parent_id": parent, "kind": "tool", "name": "n", **more}


def _event(seq: int, node_id: str, parent_id: str = "") -> bytes:
    body = {"type": "node.opened", "run_id": "r", "seq": seq, "node_id": node_id, "parent_id": parent_id}
    return _line(t="event", run_id="r", seq=seq, body={**body, "kind": "tool", "name": "n"})


async def _watching(client: LinkClient) -> None:
    client.watch("r")
    client.start()


def _endless_state() -> Iterator[bytes]:
    yield _run_head(more=True)
    for number in range(100_000):
        yield _line(t="run", run_id="r", seq=1, why="first", more=True, nodes={f"n{number}": _node(number)})


RUNS: dict[str, tuple[Callable[[], Iterator[bytes]], str]] = {
    "endless state": (_endless_state, "its state takes more than"),
    "parts without a head": (
        lambda: (
            each
            for number in range(3000)
            for each in (
                _line(t="run", run_id="r", seq=1, why="first", more=True, nodes={f"n{number}": _node(number)}),
            )
        ),
        "",
    ),
    "parents in a circle": (
        lambda: iter(
            [
                _run_head(
                    head={"roots": ["n1"]},
                    nodes={"n1": _node(1, "n2", children=["n2"]), "n2": _node(2, "n1", children=["n1"])},
                )
            ]
        ),
        "not a tree",
    ),
    "a root that goes on upwards to what is below it": (
        lambda: iter(
            [
                _run_head(
                    head={"roots": ["n1"]},
                    nodes={"n1": _node(1, "n2", children=["n2"]), "n2": _node(2, "n1")},
                )
            ]
        ),
        "not a tree",
    ),
    "two roots that are above each other": (
        lambda: iter([_run_head(head={"roots": ["n1", "n2"]}, nodes={"n1": _node(1, "n2"), "n2": _node(2, "n1")})]),
        "not a tree",
    ),
    "a node under the id of another": (
        lambda: iter([_run_head(head={"roots": ["n1", "n2"]}, nodes={"n1": _node(2), "n2": _node(1)})]),
        "not a tree",
    ),
    "a child that names no parent": (
        lambda: iter([_run_head(head={"roots": ["n1"]}, nodes={"n1": _node(1, children=["n2"]), "n2": _node(2)})]),
        "not a tree",
    ),
    "a child that is not there": (
        lambda: iter([_run_head(head={"roots": ["n1"]}, nodes={"n1": _node(1, children=["n9"])})]),
        "not a tree",
    ),
    "a node above itself": (lambda: iter([_run_head(), _event(2, "a", "b"), _event(3, "b", "a")]), "above itself"),
    "a node that is its own parent": (lambda: iter([_run_head(), _event(2, "a", "a")]), "above itself"),
    "too many nodes": (
        lambda: iter([_run_head(), *(_event(number, f"n{number}") for number in range(2, 1500))]),
        "",
    ),
}


@pytest.mark.parametrize("how", RUNS)
async def test_a_run_that_cannot_be_kept_is_not_shown_and_the_link_goes_on(tmp_path: Path, how: str) -> None:
    says, why = RUNS[how]

    def and_then() -> Iterator[bytes]:
        yield from says()
        yield _line(t="changed", position=2, summary=_rows(1)[0])

    async with _console(tmp_path, and_then) as (client, hostile):
        await _watching(client)
        if how == "endless state":
            await client.wait_until(lambda: bool(client.problem("r")))
        else:
            await client.wait_until(lambda: bool(client.summaries))
        assert why in client.problem("r")
        if why:
            assert client.run("r") is None
        kept = client._view.runs["r"]
        assert len(kept.coming._nodes) <= limits.MAX_NODES
        assert kept.state is None or len(kept.state.nodes) <= limits.MAX_NODES
        assert client.status.phase == "connected"
        assert hostile.connections == 1


async def test_streamed_texts_are_bounded_in_number_and_length(tmp_path: Path) -> None:
    def says() -> Iterator[bytes]:
        yield _run_head()
        for number in range(3000):
            yield _line(t="delta", run_id="r", node_id=f"n{number}", text="x" * 10)
        for offset in range(0, 100_000, 100):
            yield _line(t="delta", run_id="r", node_id="n0", offset=min(offset, 10_000), text="x" * 100)
        yield _line(t="changed", position=2, summary=_rows(1)[0])

    async with _console(tmp_path, says) as (client, _):
        await _watching(client)
        await client.wait_until(lambda: bool(client.summaries))
        texts = client._view.runs["r"].texts
        assert len(texts) <= limits.MAX_TEXTS
        assert max(len(text.text) for text in texts.values()) <= limits.MAX_TEXT_CHARS + MAX_LINE_BYTES
