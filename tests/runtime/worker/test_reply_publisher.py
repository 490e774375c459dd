"""Pieces of replies go from a worker to the consoles of another machine's server, while a console watches the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from runtime.link.server.reply_relay import ReplyRelay
from runtime.link.server.reply_streams import ReplyStreams, TextPiece
from runtime.record.address import parse_address
from runtime.record.places import init_database
from runtime.record.postgres.live_replies import PostgresLiveReplies
from runtime.worker.reply_publisher import MAX_WAITING_CHARS, ReplyPublisher
from tests.patience import PATIENCE_S


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not fact():  # noqa: ASYNC110 - of two tasks that go by the clock
            await asyncio.sleep(0.01)


async def test_a_console_of_another_machine_sees_a_reply_while_it_streams(postgres_url: str) -> None:
    await init_database(postgres_url)
    address = parse_address(postgres_url)
    at_worker, at_server = PostgresLiveReplies(address, "worker"), PostgresLiveReplies(address, "server")
    publisher = ReplyPublisher(at_worker, None)
    seen: list[TextPiece] = []
    streams, watched = ReplyStreams(), set[str]()
    streams.bind(asyncio.get_running_loop(), seen.append)
    working = [
        asyncio.create_task(publisher.serve()),
        asyncio.create_task(ReplyRelay(at_server, streams, lambda: watched).serve()),
    ]
    try:
        assert not publisher.wants("r1"), "no console watches: the reply is not even streamed"
        watched.add("r1")
        await until(lambda: publisher.wants("r1"))
        publisher.put("r1", "root/ask", 1, "text", "Good ")
        await until(lambda: bool(seen))
        publisher.put("r1", "root/ask", 1, "text", "morning")
        publisher.put("r1", "root/ask", 1, "text", ".")
        publisher.put("r2", "root/ask", 1, "text", "not watched")
        await until(lambda: "".join(each.text for each in seen) == "Good morning.")
        assert seen[0] == TextPiece("r1", "root/ask", 1, "text", "Good ")
        assert seen[1].offset == len("Good ")
        publisher.put("r1", "root/ask", 2, "text", "x" * (MAX_WAITING_CHARS + 1))
        publisher.put("r1", "root/ask", 2, "text", "after the gap")
        publisher.put("r1", "root/say", 1, "text", "the end")
        await until(lambda: seen[-1].node_id == "root/say")
        assert {each.attempt for each in seen} == {1}, "what comes after a gap is not shown"
    finally:
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        await at_worker.close()
        await at_server.close()
