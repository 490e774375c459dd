"""Killed with SIGKILL after the n-th append, for every n: the run goes on from there, and nothing is done twice
unasked.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from tests.runtime.chaos.conftest import Tried
from tests.runtime.chaos.harness import Place, check, check_effects

AT_ONCE = 4
THOROUGH = bool(os.environ.get("ORBITER_CHAOS_THOROUGH"))
"""Also kill the second life after each of its appends: hundreds of lives for each swarm."""


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("ref", "expected", "output"),
    [
        ("zoo:workflow", ["note one", "note two", "note p0", "note p1", "note p2", "look p"], "done: three notes"),
        ("zoo:stage", ["note one", "note two", "asked for whom?", "save out.md"], "done: "),
        ("zoo:team", ["note one", "note two", "asked for whom?"], "team done"),
        ("zoo:handoff", ["note handed"], "took over"),
        ("chaos:nested", ["note deep1", "note deep2", "note high1", "note high2"], "the end: deeper is done"),
        ("chaos:hooked", ["nod"], "the end: hooked is done"),
        ("chaos:whimsical", ["note mood"], "the end: moody is done"),
        ("chaos:failing", ["note ill"], "the end: after the limit"),
        ("chaos:running", ["note led", "look out", "note hired", "note worked"], "the end: bossed"),
        # The member that asks is answered as soon as no process lives, and may then be the faster one.
        ("chaos:racing", [], "the end: "),
    ],
)
async def test_killed_after_every_append(
    place: Callable[[str], Place], tried: Tried, ref: str, expected: list[str], output: str
) -> None:
    async def one(n: int, then: int = 0) -> int:
        async with place(f"{n}-{then}") as found:
            run = await found.start(ref)
            if then:
                await found.lives.live(found.root, die_after=n)
                await found.answer_all()
            died, doubts = await found.to_the_end([run], die_after=then or n)
            events = await found.journal.read(run)
            state = check(events)
            assert output in state.output
            doubts += sum(1 for each in state.incidents.values() if each.opened.in_doubt)
            check_effects(_plain(found.effects), Counter(expected), doubts, lives=2 + bool(then))
        return died

    deaths = await _all(one)
    if THOROUGH:
        for first in range(1, deaths + 1):
            deaths += await _all(partial(one, first))
    tried(f"SIGKILL after an append of {ref}", deaths)
    assert deaths >= len(expected)


def _plain(effects: Counter[str]) -> Counter[str]:
    """Without what a hook added, which is never the same."""
    plain: Counter[str] = Counter()
    for what, count in effects.items():
        plain[what.partition(" #")[0]] += count
    return plain


async def _all(one: Callable[[int], Awaitable[int]]) -> int:
    """Kill after the first append, the second …, a few at once, until one lives to its end; how many died."""
    deaths = 0
    for n in range(1, 400, AT_ONCE):
        died = await asyncio.gather(*(one(n + each) for each in range(AT_ONCE)))
        deaths += sum(died)
        if not all(died):
            return deaths
    raise AssertionError("the run never lived to its end")
