"""How incidents are put before an operator: one after the other, and none that another operator has settled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from console.demo.operator import DemoOperator
from console.demo.report_place import report_file
from console.linear.operators import OperatorAnswer
from console.linear.run_follower import IncidentAnswering, follow_run
from runtime.operations.context import OperationContext
from runtime.operations.operations import Operations
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Origin,
    Persistence,
)
from tests.present import present

FAULT = Classification(
    origin=Origin.TOOL, cause=Cause.NETWORK, persistence=Persistence.TRANSIENT, effect=Effect.NONE, user_message="no"
)


def opened(incident_id: str, *options: str, model: str = "") -> ev.IncidentOpened:
    return ev.IncidentOpened(
        node_id=f"n-{incident_id}",
        incident_id=incident_id,
        fault=FAULT,
        options=tuple(ev.Option(id=each, label=each) for each in options),
        action={"model": model} if model else {},
    )


class Asked:
    """An operator who answers when the test says so."""

    by = ev.Actor(name="asked", channel="cli")

    def __init__(self) -> None:
        self.questions: asyncio.Queue[str] = asyncio.Queue()
        self.answers: asyncio.Queue[OperatorAnswer | None] = asyncio.Queue()
        self.shown: list[list[str]] = []
        self.confirms = False
        self.reminded = 0
        self.why: list[str] = []

    async def decide(self, state: DurableRun, opened: ev.IncidentOpened) -> OperatorAnswer | None:
        self.questions.put_nowait(opened.incident_id)
        return await self.answers.get()

    async def confirm(self, lines: Sequence[str]) -> bool:
        self.shown.append(list(lines))
        return self.confirms

    def remind(self) -> None:
        self.reminded += 1

    def answer_refused(self, opened: ev.IncidentOpened, given: OperatorAnswer, why: str) -> None:
        self.why.append(why)


class Scene:
    """A run with two open incidents in a real journal, and the clerk who asks about them."""

    def __init__(self, journal: JournalCare, root: Path) -> None:
        self.journal = journal
        self.root = root
        self.operator = Asked()
        context = OperationContext(journal, root, root / "runtime.log")
        self.decisions = context.decisions
        self.clerk = IncidentAnswering(Operations(context), self.operator)

    async def begin(self) -> None:
        state = DurableRun()
        created = ev.RunCreated(run_id="r", ref="x.py:s", input="")
        state.apply(created)
        await self.journal.create(created, state.summary())
        lease = present(await self.journal.claim("r", "test", 60))
        self.lease = lease
        await self.journal.append(lease, [opened("i-1", "retry", "abort"), opened("i-2", "retry", "abort")])
        await self.look()

    async def look(self) -> DurableRun:
        state = fold_events(await self.journal.read("r"))
        self.clerk.look_at(state)
        return state


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with await open_journal(tmp_path) as journal:
        found = Scene(journal, tmp_path)
        await found.begin()
        working = asyncio.create_task(found.clerk.run())
        yield found
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def test_one_question_after_the_other(scene: Scene) -> None:
    assert await scene.operator.questions.get() == "i-1"
    assert scene.operator.questions.empty()
    scene.operator.answers.put_nowait(OperatorAnswer("retry"))
    assert await scene.operator.questions.get() == "i-2"
    assert (await scene.look()).incidents["i-1"].answer is not None


async def test_an_answer_that_the_desk_cannot_take_is_asked_for_again(scene: Scene) -> None:
    await scene.operator.questions.get()
    scene.operator.answers.put_nowait(OperatorAnswer("grant"))
    assert await scene.operator.questions.get() == "i-1"
    assert (await scene.look()).incidents["i-1"].answer is None


async def test_a_grant_that_lasts_is_shown_first_and_given_only_when_it_is_confirmed(scene: Scene) -> None:
    need = {"permission": f"fs.write:{scene.root}/data/x", "agent": "keeper"}
    asks = replace(opened("i-3", "grant", "abort"), action=need)
    await scene.journal.append(scene.lease, [asks])
    for number in (1, 2):
        assert await scene.operator.questions.get() == f"i-{number}"
        scene.operator.answers.put_nowait(OperatorAnswer("retry"))
        await scene.look()
    assert await scene.operator.questions.get() == "i-3"
    wide = OperatorAnswer("grant", {"for": "always", "pattern": "data/**"})
    scene.operator.answers.put_nowait(wide)
    # Not confirmed: asked again, and nothing was written.
    assert await scene.operator.questions.get() == "i-3"
    told = f"keeper may fs.write:{scene.root}/data/**, always: would have matched 0 past actions and 0 pending"
    assert scene.operator.shown == [[told]]
    assert await scene.journal.grants() == []
    scene.operator.answers.put_nowait(OperatorAnswer("grant", {"for": "always", "pattern": "elsewhere/*"}))
    assert await scene.operator.questions.get() == "i-3"  # refused before it was ever put
    scene.operator.confirms = True
    scene.operator.answers.put_nowait(wide)
    async for batch in scene.journal.tail("r"):
        if any(isinstance(each, ev.IncidentAnswered) and each.incident_id == "i-3" for each in batch):
            break
    (grant,) = await scene.journal.grants()
    assert grant.pattern == f"{scene.root}/data/**"


async def test_a_permission_to_write_a_file_says_what_would_change_before_the_question(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    there = scene.root / "notes.md"
    there.write_text("one\ntwo\n", encoding="utf-8")
    call = {"tool": "write", "arguments": {"path": "notes.md", "text": "one\nthree\n"}}
    asks = replace(
        opened("i-3", "grant", "abort"), action={"permission": f"fs.write:{there}", "agent": "keeper", **call}
    )
    await scene.journal.append(scene.lease, [asks])
    for number in (1, 2):
        assert await scene.operator.questions.get() == f"i-{number}"
        assert "overwritten" not in capsys.readouterr().err
        scene.operator.answers.put_nowait(OperatorAnswer("retry"))
        await scene.look()
    assert await scene.operator.questions.get() == "i-3"
    said = capsys.readouterr().err
    assert "File   exists: 2 lines, 8 B; would be overwritten: text has 2 lines, 10 B" in said
    assert "- two" in said
    assert "+ three" in said


async def test_lines_that_go_by_make_the_question_stand_again(scene: Scene) -> None:
    await scene.operator.questions.get()
    scene.clerk.look_at(await scene.look(), said=False)
    assert scene.operator.reminded == 0
    scene.clerk.look_at(await scene.look(), said=True)
    assert scene.operator.reminded == 1


async def test_a_question_that_somebody_else_answered_is_taken_back(scene: Scene) -> None:
    assert await scene.operator.questions.get() == "i-1"
    await scene.decisions.answer("i-1", "abort", by=ev.Actor(name="other", channel="cli"))
    await scene.look()
    assert await scene.operator.questions.get() == "i-2"
    scene.operator.answers.put_nowait(OperatorAnswer("retry"))
    while (state := await scene.look()).incidents["i-2"].answer is None:
        pass
    first = present(state.incidents["i-1"].answer)
    assert (first.by.name, first.option) == ("other", "abort")


async def test_who_leaves_is_asked_nothing_more(tmp_path: Path) -> None:
    async with await open_journal(tmp_path) as journal:
        scene = Scene(journal, tmp_path)
        await scene.begin()
        scene.operator.answers.put_nowait(None)
        await scene.clerk.run()
        assert len(fold_events(await journal.read("r")).open_incidents) == 2


async def test_the_demos_operator_never_answers_what_is_not_offered() -> None:
    state = DurableRun()
    demo = DemoOperator()
    for offered in (("grant", "deny", "abort"), ("input", "abort"), ("retry", "skip"), ("skip", "abort"), ("abort",)):
        given = await demo.decide(state, opened("i", *offered))
        assert given.option in offered


async def test_the_demos_operator_tries_again_and_then_lets_go() -> None:
    demo = DemoOperator()
    state = DurableRun()
    options = []
    for number in range(3):
        each = replace(opened(f"i-{number}", "retry", "skip", "abort"), node_id="n")
        state.apply(each)
        given = await demo.decide(state, each)
        options.append(given.option)
        answer = ev.IncidentAnswered(incident_id=each.incident_id, revision=1, option=given.option)
        state.apply(answer)
    assert options == ["retry", "skip", "skip"]


async def test_the_demos_operator_looks_before_it_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORBITER_STATE", str(tmp_path))
    doubtful = replace(opened("i", "result", "retry", "abort"), in_doubt=True)
    assert (await DemoOperator().decide(DurableRun(), doubtful)).option == "retry"
    report_file().parent.mkdir()
    report_file().write_text("written")
    assert (await DemoOperator().decide(DurableRun(), doubtful)).option == "result"


@pytest.mark.parametrize("answered", [True, False])
async def test_without_an_operator_a_run_is_left_only_where_somebody_is_waited_for(
    tmp_path: Path, answered: bool
) -> None:
    # A rule answered while the run was being parked: it is driven on at once, and its end is what is told.
    parked = asyncio.Event()

    def shown(event: ev.JournalEvent, state: DurableRun) -> bool:
        if isinstance(event, ev.RunParked):
            parked.set()
        return True

    async with await open_journal(tmp_path) as journal:
        state = DurableRun()
        created = ev.RunCreated(run_id="r", ref="x.py:s", input="")
        state.apply(created)
        await journal.create(created, state.summary())
        lease = present(await journal.claim("r", "test", 60))
        await journal.append(lease, [ev.RunStarted(epoch=lease.epoch, owner="test"), opened("i-1", "abort")])
        if answered:
            await journal.answer(ev.IncidentAnswered(run_id="r", incident_id="i-1", revision=1, option="abort"))
        await journal.append(lease, [ev.RunParked(reason="waiting")])
        operations = Operations(OperationContext(journal, tmp_path, tmp_path / "runtime.log"))
        following = asyncio.create_task(follow_run(journal, operations, "r", shown, None))
        await parked.wait()
        if answered:
            await journal.append(lease, [ev.RunFinished(state="aborted")])
        async with asyncio.timeout(60):
            found = await following
    assert found.phase == ("aborted" if answered else "waiting")
