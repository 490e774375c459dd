"""What a server says of how far a call has come: as often as a person can read, cleaned, and the last word always."""

from __future__ import annotations

import asyncio

from orbiter.mcp.progress import MAX_MESSAGE_CHARS, CallProgress


async def test_a_flood_is_passed_on_now_and_then_and_its_last_line_always() -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    progress = CallProgress(lambda _kind, text: told.put_nowait(text))
    for number in range(1_000):
        await progress.hear(number, 1_000, "work\x1b[2J\u202e\ning" + "x" * 1_000)
    assert told.qsize() == 1, "a server that does not let go of the loop is told once"
    first, last = await told.get(), await asyncio.wait_for(told.get(), 60)
    assert first.startswith("0 of 1000 work[2J ing")
    assert last.startswith("999 of 1000 work")
    for line in (first, last):
        assert line.endswith("\n")
        assert line[:-1].isprintable()
        assert len(line) < MAX_MESSAGE_CHARS + 60
    assert told.empty()


async def test_a_call_that_is_over_passes_nothing_on() -> None:
    told: list[str] = []
    progress = CallProgress(lambda _kind, text: told.append(text))
    await progress.hear(1, None, None)
    await progress.hear(2, None, None)
    progress.close()
    assert progress._timer is not None
    assert progress._timer.cancelled()
    assert told == ["1\n"]
