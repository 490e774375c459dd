"""What the journal port promises, of any journal: order, answers, parking, the workspace's stream."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from runtime.record.journal import (
    AnswerAccepted,
    AnswerRefused,
    Fenced,
    Journal,
    JournalError,
    Unrecordable,
)
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary, fold_events
from tests.present import present
from tests.runtime.record.journal_samples import (
    answer,
    created,
    grant,
    opened,
    started,
    state_of,
    summary,
    texts,
    warned,
)

if TYPE_CHECKING:
    from tests.runtime.record.conftest import Clock, Store


async def test_creating_a_run_twice_makes_one(journal: Journal) -> None:
    made = await asyncio.gather(*(journal.create(created(), summary()) for _ in range(5)))
    assert sorted(made) == [False, False, False, False, True]
    assert [type(event) for event in await journal.read("r1")] == [ev.RunCreated]
    (listed,) = await journal.runs()
    assert (listed.id, listed.state, listed.title) == ("r1", "queued", "title of r1")


@pytest.mark.parametrize("run_id", ["", "@workspace", "@x"])
async def test_ids_that_are_no_runs_are_refused(journal: Journal, run_id: str) -> None:
    with pytest.raises(JournalError, match="not a valid id of a run"):
        await journal.create(created(run_id), summary(run_id))


async def test_events_come_back_as_they_were_written(journal: Journal) -> None:
    lease = await started(journal)
    written = await journal.append(
        lease,
        [
            ev.NodeOpened(
                node_id="a~0",
                parent_id="",
                kind="agent",
                name="büro \N{SNOWMAN} \x00\x1b[31m",
                info={"n": [1, 2.5, None]},
            ),
            opened(),
            ev.StepEnded(node_id="a~0", attempt=1, result={"big": "ä" * 100_000, "@blobs": {"result": "x"}}),
        ],
    )
    assert [event.seq for event in written] == [3, 4, 5]
    assert {event.run_id for event in written} == {"r1"}
    assert (await journal.read("r1"))[2:] == list(written)


async def test_reading_from_and_up_to_a_place(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [warned(str(n)) for n in range(2500)])
    everything = await journal.read("r1")
    assert [event.seq for event in everything] == list(range(1, 2503))
    assert await journal.read("r1", 2000) == everything[2000:]
    assert await journal.read("r1", 10, 1500) == everything[10:1510]
    assert await journal.read("r1", 0, 0) == []
    assert await journal.read("r1", 2502) == []
    assert await journal.read("nobody") == []


async def test_the_latest_events_of_a_run_and_of_all_between_two_places(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [warned(str(n)) for n in range(10)])
    await journal.post(ev.WORKSPACE_RUN_ID, grant())
    await started(journal, "r2")
    everything = await journal.latest(limit=100)
    assert [placed.pos for placed in everything] == sorted(placed.pos for placed in everything)
    assert everything[-1].pos == await journal.position()
    assert [placed.event for placed in everything if placed.event.run_id == "r1"] == await journal.read("r1")
    assert await journal.latest(limit=3) == everything[-3:]
    middle = everything[4].pos, everything[8].pos
    assert await journal.latest(after=middle[0], before=middle[1]) == everything[5:8]
    assert await journal.latest(after=middle[0], before=middle[1], limit=2) == everything[6:8]
    assert await journal.latest(after=everything[-1].pos) == []
    of_run = await journal.latest("r1", after=3, before=7)
    assert [(placed.pos, placed.event.seq, placed.event.run_id) for placed in of_run] == [
        (seq, seq, "r1") for seq in (4, 5, 6)
    ]
    assert await journal.latest("nobody") == []


async def test_events_are_sifted_by_what_stands_in_them(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [warned("needle"), warned("hay"), warned("50% of a needle's eye")])
    await journal.post(ev.WORKSPACE_RUN_ID, grant())
    found = await journal.latest(marks=("needle", '"type":"grant.'))
    assert texts([placed.event for placed in found[:2]]) == ["needle", "50% of a needle's eye"]
    assert isinstance(found[2].event, ev.GrantAdded)
    assert await journal.latest(marks=("%",), limit=1) == [found[1]], "a mark is not a pattern"
    assert await journal.latest("r1", marks=('"type":"grant.',)) == []


async def test_many_producers_leave_no_gap(journal: Journal) -> None:
    leases = [await started(journal, f"r{n}") for n in range(8)]

    async def produce(number: int) -> None:
        for part in range(20):
            await journal.append(leases[number % 8], [warned(f"{number} {part} {k}") for k in range(part % 3 + 1)])

    await asyncio.gather(*(produce(number) for number in range(64)))
    for number in range(8):
        events = await journal.read(f"r{number}")
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len(events) == 2 + 8 * sum(part % 3 + 1 for part in range(20))
        mine = [text for text in texts(events) if text.startswith(f"{number} ")]
        assert mine == [f"{number} {part} {k}" for part in range(20) for k in range(part % 3 + 1)]


async def test_an_append_is_written_whole_or_not_at_all(journal: Journal) -> None:
    lease = await started(journal)
    unwritable = ev.NodeOpened(node_id="a~0", kind="agent", name="a", info={"x": object()})
    with pytest.raises(JournalError, match=r"node.opened of node 'a~0'"):
        await journal.append(lease, [warned(), unwritable])
    assert len(await journal.read("r1")) == 2


async def test_half_an_emoji_keeps_no_run_from_being_written(journal: Journal) -> None:
    lease = await started(journal)
    broken = ev.NodeOpened(node_id="a~0", kind="agent", name="a", info={"x\udc80": ["\ud83d!", 1, None, ("é",)]})
    await journal.append(lease, [broken])
    written = (await journal.read("r1"))[-1]
    assert isinstance(written, ev.NodeOpened)
    assert (written.info, written.ts) == ({"x\ufffd": ["\ufffd!", 1, None, ["é"]]}, broken.ts)


async def test_the_first_answer_wins(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened("i1"), opened("i2")])
    results = await asyncio.gather(*(journal.answer(answer("i1", option=f"o{n}", by=f"p{n}")) for n in range(9)))
    (won,) = [result for result in results if isinstance(result, AnswerAccepted)]
    lost = [result for result in results if isinstance(result, AnswerRefused)]
    assert len(lost) == 8
    assert all(result.reason == "answered" and result.first == won.answer for result in lost)
    assert won.answer.seq == 5
    assert [incident.opened.incident_id for incident in await journal.incidents()] == ["i2"]
    assert await journal.incident("i1") == ("r1", (await journal.read("r1"))[2], won.answer)


async def test_a_grant_is_written_with_its_answer_or_not_at_all(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened("i1", revision=2), opened("i2")])
    here = await journal.position()
    results = await asyncio.gather(
        journal.answer(answer("i9"), grant("g-unknown")),
        journal.answer(answer("i1", revision=1), grant("g-stale")),
        *(journal.answer(answer("i2", option=f"o{n}", by=f"p{n}"), grant(f"g-{n}")) for n in range(9)),
    )
    (won,) = [number for number, result in enumerate(results[2:]) if isinstance(result, AnswerAccepted)]
    assert [each.grant_id for each in await journal.grants()] == [f"g-{won}"]
    # No reader ever sees a grant whose answer was refused, nor an answer without its grant.
    async for batch in journal.tail(None, here):
        assert [type(event) for event in batch] == [ev.GrantAdded, ev.IncidentAnswered]
        break


async def test_answers_that_come_to_nothing_say_why(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened("i1", revision=2), opened("i2"), opened("i3")])
    unknown = await journal.answer(answer("i9"))
    stale = await journal.answer(answer("i1", revision=1))
    await journal.append(lease, [ev.IncidentClosed(incident_id="i2", reason="withdrawn")])
    closed = await journal.answer(answer("i2"))
    await journal.append(lease, [ev.RunFinished(state="failed")])
    over = await journal.answer(answer("i3"))
    assert isinstance(unknown, AnswerRefused)
    assert isinstance(stale, AnswerRefused)
    assert isinstance(closed, AnswerRefused)
    assert isinstance(over, AnswerRefused)
    assert (unknown.reason, stale.reason, closed.reason, over.reason) == ("unknown", "revision", "closed", "closed")
    assert "revision 2" in stale.detail
    assert closed.detail == "withdrawn"
    assert "r1 has ended" in over.detail
    assert await journal.incidents() == []
    assert not [event for event in await journal.read("r1") if isinstance(event, ev.IncidentAnswered)]


async def test_incidents_by_the_beginning_of_their_id(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened("abc1"), opened("abc2"), opened("abc"), opened("x%_")])
    found = await journal.incident("abc1")
    exact = await journal.incident("abc")
    odd = await journal.incident("x%")
    assert found is not None
    assert exact is not None
    assert odd is not None
    assert (found[1].incident_id, exact[1].incident_id, odd[1].incident_id) == ("abc1", "abc", "x%_")
    assert await journal.incident("zzz") is None
    assert await journal.incident("") is None
    with pytest.raises(JournalError, match="more than one incident"):
        await journal.incident("ab")


async def test_an_answer_is_never_lost_between_fold_and_park(journal: Journal) -> None:
    """However an answer and the park that did not know of it fall, the run is runnable afterwards."""
    orders = random.Random(5)
    for number in range(60):
        run_id, incident = f"r{number}", f"i{number}"
        lease = await started(journal, run_id)
        folded = (await journal.append(lease, [opened(incident)]))[-1].seq
        park = journal.append(lease, [ev.RunParked(reason="waiting")], seen=folded)
        decide: Any = journal.answer(answer(incident)) if number % 3 else journal.post(run_id, ev.AbortRequested())
        work = [asyncio.ensure_future(one) for one in orders.sample([park, decide], 2)]
        if orders.random() < 0.5:
            await work[0]
        await asyncio.gather(*work)
        assert await state_of(journal, run_id) == "queued"
        await journal.release(lease)
        assert await journal.claim(run_id, "next", 10) is not None


async def test_a_park_that_knows_the_answer_waits(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened("i1"), opened("i2")])
    accepted = await journal.answer(answer("i1"))
    assert isinstance(accepted, AnswerAccepted)
    await journal.append(lease, [ev.RunParked(reason="waiting")], seen=accepted.answer.seq)
    assert await state_of(journal) == "waiting"


async def test_an_own_append_after_the_answer_does_not_count_as_having_seen_it(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened(), opened("i2")])
    await journal.answer(answer())
    await journal.append(lease, [warned("written after the answer, folded before it")])
    await journal.append(lease, [ev.RunParked(reason="waiting")])
    assert await state_of(journal) == "queued"
    await journal.release(lease)
    again = present(await journal.claim("r1", "me", 10))
    await journal.append(again, [ev.RunStarted(epoch=again.epoch), ev.RunParked(reason="waiting")])
    assert await state_of(journal) == "waiting", "what was there at the claim counts as seen"


async def test_an_answer_never_touches_a_live_lease(journal: Journal, clock: Clock) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened()])
    await journal.answer(answer())
    assert await state_of(journal) == "running"
    assert await journal.runnable() == []
    assert await journal.claim("r1", "other", 10) is None
    await journal.append(lease, [warned()])


async def test_what_the_desk_may_write_without_a_lease(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened()])
    analysis = await journal.post("r1", ev.AnalysisAdded(incident_id="i1", text="because"))
    assert (analysis.seq, analysis.run_id) == (4, "r1")
    closed = await journal.post("r1", ev.IncidentClosed(incident_id="i1", reason="gone"))
    assert closed.seq == 5
    with pytest.raises(JournalError, match="cannot be closed"):
        await journal.post("r1", ev.IncidentClosed(incident_id="i1", reason="again"))
    with pytest.raises(JournalError, match="Warned is written by the run's driver"):
        await journal.post("r1", warned())
    with pytest.raises(JournalError, match="unknown run r9"):
        await journal.post("r9", ev.AbortRequested())
    await journal.append(lease, [ev.RunFinished(state="completed")])
    with pytest.raises(JournalError, match="completed already"):
        await journal.post("r1", ev.AbortRequested())


@pytest.mark.parametrize("event", [ev.RunFrozen(), ev.RunFinished(state="failed"), ev.AbortRequested(), opened()])
async def test_the_workspaces_stream_is_never_a_run(journal: Journal, clock: Clock, event: ev.JournalEvent) -> None:
    written = await journal.post(ev.WORKSPACE_RUN_ID, event)
    assert await journal.read(ev.WORKSPACE_RUN_ID) == [written]
    assert await journal.runs() == []
    assert await journal.incidents() == []
    assert await journal.runnable() == []
    await journal.post(ev.WORKSPACE_RUN_ID, ev.RunThawed())


async def test_what_wakes_nobody_leaves_the_alarm_set(journal: Journal, clock: Clock) -> None:
    lease = await started(journal)
    wake = clock.now + timedelta(seconds=30)
    await journal.append(lease, [opened(), ev.RunParked(reason="waiting", wake_at=wake)])
    await journal.release(lease)
    await journal.post("r1", ev.BreakpointSet(what="tool", pattern="*"))
    await journal.post("r1", ev.MessageInjected(injection_id="m1", agent="a", text="hello"))
    await journal.post("r1", ev.AnalysisAdded(incident_id="i1", text="because"))
    assert await journal.runnable() == []
    clock.jump(30)
    assert await journal.runnable() == ["r1"]


async def test_frozen_runs_are_driven_again_when_thawed(journal: Journal, clock: Clock) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened()])
    await journal.post("r1", ev.RunFrozen())
    await journal.append(lease, [ev.RunParked(reason="waiting")])
    await journal.release(lease)
    assert isinstance(await journal.answer(answer()), AnswerAccepted)
    assert await state_of(journal) == "frozen"
    assert await journal.runnable() == []
    await journal.post("r1", ev.RunThawed())
    assert await journal.runnable() == ["r1"]
    assert await journal.claim("r1", "me", 10) is not None


async def test_a_thaw_between_fold_and_park_is_not_lost(journal: Journal) -> None:
    lease = await started(journal)
    frozen = await journal.post("r1", ev.RunFrozen())
    await journal.post("r1", ev.RunThawed())
    await journal.append(lease, [ev.RunParked(reason="waiting")], seen=frozen.seq)
    assert await state_of(journal) == "queued"


async def test_a_finished_run_is_taken_up_again_to_be_rewound(journal: Journal, clock: Clock) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened(), ev.RunFinished(state="failed")])
    await journal.release(lease)
    await journal.post("r1", ev.RewindRequested(node_id="a~0"))
    assert await journal.runnable() == ["r1"]
    assert await journal.incidents() == []


async def test_no_terminal_state_is_left(journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [ev.RunFinished(state="failed")])
    await journal.append(
        lease, [ev.RunParked(reason="waiting"), ev.RunStarted(epoch=9), ev.RunFinished(state="aborted")]
    )
    assert await state_of(journal) == "failed"
    assert fold_events(await journal.read("r1")).phase == "failed"
    await journal.append(lease, [opened("late")])
    assert await journal.incidents() == []


async def test_grants_are_what_the_workspace_says(journal: Journal, clock: Clock) -> None:
    def grant(grant_id: str, **more: Any) -> ev.GrantAdded:
        return ev.GrantAdded(grant_id=grant_id, subject="*", verb="read", pattern="*", lifetime="always", **more)

    assert await journal.grants() == []
    await journal.post(ev.WORKSPACE_RUN_ID, grant("g1"))
    await journal.post(ev.WORKSPACE_RUN_ID, grant("g2", until=clock.now + timedelta(seconds=5)))
    await journal.post(ev.WORKSPACE_RUN_ID, grant("g3"))
    assert [found.grant_id for found in await journal.grants()] == ["g1", "g2", "g3"]
    await journal.post(ev.WORKSPACE_RUN_ID, ev.GrantRevoked(grant_id="g1"))
    clock.jump(6)
    assert [found.grant_id for found in await journal.grants()] == ["g3"]
    assert await journal.runs() == [], "the workspace's stream is not a run"
    assert await journal.runnable() == []


async def test_what_another_client_wrote_is_never_nothing(store: Store) -> None:
    async with await store.open() as here, await store.open() as there:
        known = 0
        for number in range(3):
            assert here.has_nothing_after(ev.WORKSPACE_RUN_ID, known) == here.is_local, (
                "a file is looked at without a wait"
            )
            written = await there.post(ev.WORKSPACE_RUN_ID, ev.FreezeSet(ref=f"{number}.py:a"))
            assert not here.has_nothing_after(ev.WORKSPACE_RUN_ID, known)
            assert await here.read(ev.WORKSPACE_RUN_ID, known) == [written]
            known = written.seq
        assert not here.has_nothing_after("r1", 0), "of a run it does not know at once"


async def test_a_command_has_one_reply(journal: Journal) -> None:
    assert await journal.command("c1") is None
    replies = await asyncio.gather(*(journal.command("c1", {"n": n, "t": "ü"}) for n in range(5)))
    assert {str(reply) for reply in replies} == {str(replies[0])}
    assert await journal.command("c1") == replies[0]
    assert await journal.command("c1", {"n": 99}) == replies[0]
    assert await journal.command("c2", {}) == {}


async def test_half_an_emoji_keeps_no_reply_from_being_written(journal: Journal) -> None:
    assert await journal.command("c1", {"text": "\ud83d!"}) == {"text": "\ufffd!"}
    assert await journal.command("c1") == {"text": "\ufffd!"}


async def test_summaries_follow_what_the_desk_does(journal: Journal, clock: Clock) -> None:
    lease = await started(journal)
    wake = clock.now + timedelta(seconds=30)
    await journal.append(
        lease,
        [opened("i1"), opened("i2"), ev.RunParked(reason="waiting", wake_at=wake)],
        summary=Summary(id="r1", title="t", steps=7),
    )
    found = present(await journal.summary("r1"))
    assert (found.state, found.open_incidents, found.steps, found.wake_at) == ("waiting", 2, 7, wake)
    await journal.answer(answer("i2"))
    found = present(await journal.summary("r1"))
    assert (found.state, found.open_incidents, found.steps) == ("queued", 1, 7)
    assert [(row.run_id, row.title) for row in await journal.incidents("r1")] == [("r1", "t")]
    assert await journal.incidents("r2") == []
    assert await journal.summary("r2") is None
    assert await journal.summary(ev.WORKSPACE_RUN_ID) is None


async def test_runs_are_listed_newest_first_and_by_state(journal: Journal) -> None:
    for number in range(6):
        await journal.create(created(f"r{number}"), summary(f"r{number}"))
    lease = present(await journal.claim("r3", "me", 10))
    await journal.append(lease, [ev.RunStarted(epoch=1)])
    assert [run.id for run in await journal.runs(3)] == ["r5", "r4", "r3"]
    assert [run.id for run in await journal.runs(states=["running", "failed"])] == ["r3"]
    assert [run.id for run in await journal.runs(states=["queued"], limit=2)] == ["r5", "r4"]


async def test_a_closed_journal_says_so(store: Store) -> None:
    journal = await store.open()
    await journal.create(created(), summary())
    await asyncio.gather(journal.close(), journal.close())
    await journal.close()
    with pytest.raises(JournalError, match="closed"):
        await journal.create(created("r2"), summary("r2"))
    with pytest.raises(JournalError, match="closed"):
        await journal.read("r1")


async def test_closing_writes_what_is_queued(store: Store) -> None:
    journal = await store.open()
    lease = await started(journal)
    pending = [asyncio.ensure_future(journal.append(lease, [warned(str(n))])) for n in range(50)]
    await asyncio.sleep(0)
    await journal.close()
    await asyncio.gather(*pending)
    again = await store.open()
    try:
        assert texts(await again.read("r1")) == [str(n) for n in range(50)]
    finally:
        await again.close()


async def test_a_caller_that_gave_up_breaks_nothing(journal: Journal) -> None:
    lease = await started(journal)
    tasks = [asyncio.ensure_future(journal.append(lease, [warned(str(n))])) for n in range(30)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    events = await journal.read("r1")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert {str(n) for n in range(1, 30, 2)} <= set(texts(events))


async def test_an_append_that_is_told_of_is_written_though_its_caller_gave_up(journal: Journal) -> None:
    lease = await started(journal)
    told: list[Any] = []
    tasks = [asyncio.ensure_future(journal.append(lease, [warned(str(n))], ended=told.append)) for n in range(30)]
    for task in tasks[:29]:
        task.cancel()
    await tasks[29]
    assert [texts(each) for each in told] == [[str(n)] for n in range(30)]
    assert texts(await journal.read("r1")) == [str(n) for n in range(30)]


async def test_an_append_that_fails_tells_so_once(store: Store) -> None:
    journal = await store.open()
    lease = await started(journal)
    told: list[Any] = []
    unreadable: dict[str, Any] = {}
    unreadable["itself"] = unreadable
    with pytest.raises(Unrecordable):
        await journal.append(lease, [ev.StepEnded(node_id="a~0", attempt=1, result=unreadable)], ended=told.append)
    await journal.release(lease)
    with pytest.raises(Fenced):
        await journal.append(lease, [warned("late")], ended=told.append)
    gone = asyncio.ensure_future(journal.append(lease, [warned("later")], ended=told.append))
    gone.cancel()
    await journal.close()
    with pytest.raises(JournalError, match="closed"):
        await journal.append(lease, [warned("never")], ended=told.append)
    assert [type(each) for each in told] == [Unrecordable, Fenced, Fenced, JournalError]
