"""A request without an event loop: carried out once, or not at all and left to the caller."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from runtime.daemon import sockets
from runtime.daemon.errors import DaemonError
from runtime.link.client.blocking_request import ask_runtime
from runtime.link.wire.protocol import Hello
from runtime.operations.requests.answers import AnswerIncident, TakenAnswer
from tests.present import present
from tests.runtime.link.link_bench import Bench

RETRY = AnswerIncident(incident_id="i-1", option="retry", reason="it is up again")


async def _ask(state_dir: Path, request: AnswerIncident = RETRY) -> TakenAnswer | None:
    return await asyncio.to_thread(ask_runtime, state_dir, request)


async def test_the_runtime_takes_an_answer_as_one_of_the_command_line(bench: Bench) -> None:
    driver = await bench.started()
    await driver.incident()
    await bench.serve()
    taken = present(await _ask(bench.state_dir))
    assert (taken.id, taken.option, taken.reason, taken.by.channel) == ("i-1", "retry", "it is up again", "cli")
    answered = present((await driver.truth()).incidents["i-1"].answer)
    assert (answered.option, answered.by.channel, answered.by.name) == ("retry", "cli", taken.by.name)


@pytest.mark.parametrize(
    "request_", [RETRY, AnswerIncident(incident_id="i-2", option="retry"), AnswerIncident("i-1", "x" * 200_000)]
)
async def test_what_is_refused_or_too_long_is_left_to_the_caller(bench: Bench, request_: AnswerIncident) -> None:
    driver = await bench.started()
    await driver.incident()
    await bench.serve()
    await _ask(bench.state_dir)
    assert await _ask(bench.state_dir, request_) is None
    answered = present((await driver.truth()).incidents["i-1"].answer)
    assert answered.option == "retry"


async def test_where_no_runtime_is_nothing_is_done(bench: Bench) -> None:
    await bench.started()
    assert await _ask(bench.state_dir) is None


@pytest.mark.parametrize("proto", [1, None])
async def test_a_runtime_of_another_protocol_is_sent_nothing(bench: Bench, proto: int | None) -> None:
    assert await _asked_of(bench, {"t": "hello", "proto": proto}) == b""


async def test_a_runtime_that_hangs_up_before_it_speaks_is_sent_nothing(bench: Bench) -> None:
    assert await _asked_of(bench, None) == b""


async def test_that_a_reply_did_not_come_is_said(bench: Bench) -> None:
    hello = Hello(epoch="e", position=0, role="operator", peer="ann", program="orbiter-console test")
    with pytest.raises(DaemonError, match="hung up before it answered"):
        await _asked_of(bench, json.loads(hello.line()))


async def _asked_of(bench: Bench, hello: dict[str, object] | None) -> bytes:
    """What is sent to a runtime that says this hello, and hangs up after the next line."""
    bench.state_dir.mkdir(mode=0o700)
    listening = sockets.listen(bench.state_dir)
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = b""
        if hello is not None:
            writer.write(json.dumps(hello).encode() + b"\n")
            line = await reader.readline()
        heard.set_result(line)
        writer.close()

    server = await asyncio.start_unix_server(serve, sock=listening.by_role["operator"])
    try:
        assert await _ask(bench.state_dir) is None
        return await heard
    finally:
        server.close()
        listening.close()
