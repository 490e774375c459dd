"""Guests, killed with SIGKILL after the n-th append: a sample in the suite, every n in `make soak`."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from runtime.record.state import events as ev
from runtime.testing.drills.call_log import CallLog
from runtime.testing.drills.drill_account import DrillAccount, account_of
from runtime.testing.drills.drill_file import parse_drill
from tests.data.swarms import graphs
from tests.runtime.chaos.conftest import Tried
from tests.runtime.chaos.harness import ME, Place, check, check_effects

AT_ONCE = 4
SOAK = bool(os.environ.get("SOAK"))
DAY_S = 86_400
SAMPLE = 2
"""How many appends are tried of each swarm in the suite; all of them, and pairs of two deaths, where $SOAK is set."""
TWO_TURNS = ["look model", "look model"]
NOTES = ["note p0", "note p1", "note p2", "look p"]
TEAM = "the team the team"
ASKED = [f"note confirmed {what} {TEAM}" for what in "xy"]
INTERVIEW = json.dumps({
    "text": "go!!",
    "said": "deep=the team",
    "notes": [f"{each}=the team" for each in ("left", "right", "deep", "deep")],
})  # fmt: skip
ASKED_MODEL = ["ask first 1", "ask first 3"]
REPLIED = "429 slow_down 7 http://model.example/v1"
HANDLED = "Declined funds: 1 was declined; charged 2"
THREE_NOTES = "three notes: noted p0; noted p1; noted p2; saw p"


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("ref", "expected", "output"),
    [
        ("guests:plain", ["look model"], "you said go"),
        ("guests:parallel", [*TWO_TURNS, *NOTES], THREE_NOTES),
        (
            "guests:banker",
            [*TWO_TURNS, "note paid ann 1", "note paid bob 2", "note balance"],
            '{"total": 3, "paid": ["ann", "bob"]}',
        ),
        (
            "guests:careful",
            ["look model"] * 5 + ["asked /tmp", "note wiped /tmp", "note guess 1", "note guess 2"],
            "the end: the team",
        ),
        ("guests:both", ["look model", *TWO_TURNS, *NOTES], THREE_NOTES),
        ("guests:searching", ["look model"] * 4, '{"number": "B2", "price": 70}'),
        ("graphs:parallel", [*TWO_TURNS, *NOTES], THREE_NOTES),
        ("graphs:structured", [*TWO_TURNS, "look bills"], '{"total": 3, "paid": ["ann", "bob"]}'),
        (
            "openai_guests:banker",
            ["look m", "look m", "note paid ann 1", "note paid bob 2", "note balance"],
            '{"total": 3, "paid": ["ann", "bob"]}',
        ),
        (
            "openai_guests:triage",
            ["look t", "note welcomed", "look b", "look r", "note paid ann 5", "look r"],
            "refunded: paid ann 5",
        ),
        (
            "openai_guests:researcher",
            ["look s", *["look r", "look r", "look page"] * 3, "look s"],
            "found: " + "; ".join(["read {'seen': 'page'}"] * 3),
        ),
        ("openai_guests:twice", ["look m", "look n"], "3 items: 1 items: go"),
        *(
            [
                (
                    "openai_guests:parallel",
                    ["look m", "look m", *NOTES],
                    "three notes: noted p0; noted p1; noted p2; {'seen': 'p'}",
                ),
                ("openai_guests:guarded", ["look m", "look j"], "you said go"),
            ]
            if SOAK
            else []
        ),
        (
            "graphs:nodes",
            [*(f"note charged {n}" for n in range(3)), "note shipped all"],
            '{"text": "go", "notes": ["planned go", "charged 0", "charged 1", "charged 2", "shipped all"]}',
        ),
        ("graphs:banker", [*TWO_TURNS, "note paid ann 1", "note paid bob 2"], "the end: paid ann 1; paid bob 2"),
        ("graphs:asking", [*TWO_TURNS, *ASKED], f"the end: x: {TEAM}; y: {TEAM}"),
        ("graphs:interview", ["note shipped go", "note shipped go!"], INTERVIEW),
        (
            "graphs:flow",
            ["note fetched a", "note fetched b", "note settled the team"],
            "go: A, B, settled the team",
        ),
        ("handled_failures:hooked_once", [*TWO_TURNS, "note charge 1", "note charge 2"], HANDLED),
        ("handled_failures:inner_once", [*TWO_TURNS, "note charge 1", "note charge 2"], HANDLED),
        (
            "handled_model_failures:hook_once",
            [*ASKED_MODEL, "note wait 429 slow_down 0 0.0"],
            "first: waited for 429 slow_down 0 0.0",
        ),
        ("handled_model_failures:outer_once", [*ASKED_MODEL, f"note wait {REPLIED}"], f"first: waited for {REPLIED}"),
        ("guests:dynamic", [*TWO_TURNS, "look tools", "look tools", "look tools", "note hey"], "the end: HEY"),
    ],
)
async def test_a_guest_is_killed_after_an_append(
    place: Callable[[str], Place], tried: Tried, ref: str, expected: list[str], output: str
) -> None:
    async def one(n: int, then: int = 0) -> int:
        async with place(f"{n}-{then}") as found:
            run = await found.start(ref)
            if then:
                await found.lives.live(found.root, die_after=n)
                await found.answer_all()
            died, doubts = await found.to_the_end([run], die_after=then or n)
            state = check(await found.journal.read(run))
            doubted = sum(1 for each in state.incidents.values() if each.opened.in_doubt)
            if not doubted:
                assert state.output == output
            check_effects(found.effects, Counter(expected), doubts + doubted, lives=2 + bool(then))
        return died

    async with place("undisturbed") as found:
        run = await found.start(ref)
        await found.to_the_end([run])
        events = await found.journal.read(run)
        assert check(events).output == output
        assert found.effects == Counter(expected)
    last = len(events)
    asked = next((n for n, each in enumerate(events) if isinstance(each, ev.IncidentAnswered)), last)
    points = [(n, 0) for n in range(1, last + 1)]
    if SOAK:
        points += [(n, then) for n in range(2, last, 3) for then in range(2, last, 3)]
    else:
        # It dies in its first life, which ends where an answer is awaited. Several events are written by one append:
        # the later points may lie behind the last of them.
        early = points[1 : max(3, asked // 2)]
        count = 1 if ref.startswith("graphs") else SAMPLE
        points = sorted(random.Random(ref).sample(early, min(count, len(early))))
    deaths = 0
    for at in range(0, len(points), AT_ONCE):
        deaths += sum(await asyncio.gather(*(one(*each) for each in points[at : at + AT_ONCE])))
    tried(f"SIGKILL after an append of {ref}", deaths)
    assert deaths


@pytest.mark.parametrize(
    ("ref", "asked", "done", "end"),
    [
        (
            "guests:banker",
            ["bank~0/pay~0.0", "bank~0/pay~0.1"],
            [*TWO_TURNS, "note balance"],
            '{"total": 3, "paid": ["ann", "bob"]}',
        ),
        (
            "graphs:banker",
            ["banker~0/approve pay~1.0", "banker~0/approve pay~1.1"],
            TWO_TURNS,
            "paid ann 9",  # LangChain tells the model at length of a call that was changed
        ),
        (
            "openai_guests:banker",
            ["bank~0/pay~0.0", "bank~0/pay~0.1"],
            ["look m", "look m", "note balance"],
            '{"total": 3, "paid": ["ann", "bob"]}',
        ),
    ],
)
async def test_an_approval_waits_for_a_week_and_two_restarts_and_the_changed_call_runs_once(
    place: Callable[[str], Place], ref: str, asked: list[str], done: list[str], end: str
) -> None:
    async with place("week") as found:
        run = await found.start(ref)
        await found.lives.live(found.root)
        first, second = sorted(await found.journal.incidents(), key=lambda each: each.opened.node_id)
        assert [first.opened.node_id, second.opened.node_id] == asked
        (found.root / "clock").write_text(str(3 * DAY_S))
        await found.decisions.answer(second.opened.incident_id, "deny", {}, by=ME)
        await found.lives.live(found.root)
        assert [each.opened.incident_id for each in await found.journal.incidents()] == [first.opened.incident_id]
        (found.root / "clock").write_text(str(7 * DAY_S))
        changed = {"arguments": {"to": "ann", "amount": 9}}
        await found.decisions.answer(first.opened.incident_id, "edit", changed, by=ME)
        await found.lives.live(found.root)
        state = check(await found.journal.read(run))
        assert state.lives == 3
        assert state.output.endswith(end)
        assert found.effects == Counter([*done, "note paid ann 9"])


async def test_what_langgraph_alone_does_twice_after_a_crash_is_asked_about_and_done_once(
    place: Callable[[str], Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off() -> None:
        raise ConnectionAbortedError

    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    monkeypatch.setattr(graphs, "cut_off", cut_off)
    alone = graphs.sender([], InMemorySaver())
    where = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionAbortedError):
        await alone.ainvoke({"messages": [("user", "go")]}, where, durability="sync")
    await alone.ainvoke(None, where, durability="sync")
    assert (tmp_path / "effects").read_text().splitlines().count("note sent hello") == 2

    async with place("ours") as found:
        run = await found.start("graphs:sender")
        assert await found.lives.live(found.root) == -signal.SIGKILL
        await found.lives.live(found.root)
        (asked,) = await found.journal.incidents()
        assert asked.opened.in_doubt
        await found.decisions.answer(asked.opened.incident_id, "result", {"value": "sent hello"}, by=ME)
        await found.lives.live(found.root)
        assert check(await found.journal.read(run)).output == "the end: sent hello"
        assert found.effects == Counter({"look model": 2, "note sent hello": 1})


DRILL = """
[[faults]]
tool = "note"
call = 2
kill = true
"""
BETWEEN_STEPS = """
[[faults]]
after_step = 1
kill = true
"""
KILLED = "tool note, call 2: killed (1 ×)"


# LangGraph begins all calls of a reply at once: a death between two steps comes before the second note, or after it.
@pytest.mark.parametrize(
    ("ref", "drill", "happened"),
    [
        ("guests:parallel", BETWEEN_STEPS + DRILL, ("process killed after step 1 (1 ×)", KILLED)),
        ("graphs:parallel", DRILL, (KILLED,)),
    ],
    ids=["guests:parallel", "graphs:parallel"],
)
async def test_a_drill_that_kills_a_guest_says_what_healed_and_what_asked_and_nothing_is_lost_or_doubled(
    place: Callable[[str], Place], ref: str, drill: str, happened: tuple[str, ...]
) -> None:
    async with place("drilled") as found:
        run = await found.start(ref)

        async def account() -> DrillAccount:
            entries = CallLog(found.root / "calls.jsonl").read()
            return account_of(parse_drill(drill, "drills.toml"), await found.decisions.state(run), entries)

        for _ in happened:
            assert await found.lives.live(found.root, drill=drill) == -signal.SIGKILL
        assert await found.lives.live(found.root, drill=drill) == 0
        told = await account()
        assert told.happened == happened
        assert told.healed[0] == f"the run went on in another process, {len(happened) + 1} in all"
        assert told.state == "waiting"
        assert any("/note~" in each and "(waits for an answer)" in each for each in told.asked)
        assert (told.missed, told.lost, told.doubled) == ((), (), ())
        doubts = await found.answer_all()
        assert doubts == len(told.asked)
        await found.to_the_end([run], always={"drill": drill})
        told = await account()
        assert told.state == "completed"
        assert all("(answered result)" in each for each in told.asked)
        assert (told.lost, told.doubled) == ((), ())
        assert found.effects["look model"] == len(TWO_TURNS), "what the first life had on record is not asked again"
        assert max(times for effect, times in found.effects.items() if effect.startswith("note ")) == 1
        assert sum(found.effects[each] for each in NOTES[:3]) >= len(NOTES[:3]) - doubts
