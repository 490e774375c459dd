"""One answer for many incidents; and who is told of them, over a real webhook."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.reports.notices import NoticeRules
from runtime.operations.bulk_answers import answer_equal_incidents, precedent
from runtime.operations.decisions import InvalidCommand
from runtime.operations.requests.answers import AnswerEqual
from runtime.record.inbox_row import InboxRow
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
    Severity,
)
from runtime.worker.duties.notifier import Notifier
from runtime.worker.supervisor import Supervisor
from tests.present import present
from tests.runtime.bench import ME, Bench
from tests.runtime.record.sqlite_parts import writer_of


async def several(bench: Bench, name: str, count: int) -> list[InboxRow]:
    for _ in range(count):
        await bench.incidents(await bench.start(name))
    return await bench.journal.incidents()


# -- bulk --------------------------------------------------------------------------------------------------------------


async def test_the_first_goes_before_and_the_rest_follow_when_it_proved_right(bench: Bench) -> None:
    async with bench.driving():
        waiting = await several(bench, "reacher", 3)
        assert len({found.opened.fingerprint for found in waiting}) == 1
        items = await answer_equal_incidents(
            bench.decisions,
            bench.journal,
            AnswerEqual(waiting[1].opened.incident_id, "result", {"value": "by phone"}),
            by=ME,
        )
        for found in waiting:
            assert (await bench.ended(found.run_id)).output == "reached: by phone"
    assert [item.incident_id for item in items] == [waiting[each].opened.incident_id for each in (1, 0, 2)]
    assert {item.state for item in items} == {"went on"}
    answers = [
        event
        for found in waiting
        for event in await bench.journal.read(found.run_id)
        if isinstance(event, ev.IncidentAnswered)
    ]
    first = min(answers, key=lambda event: event.ts)
    assert first.incident_id == waiting[1].opened.incident_id
    assert {event.reach for event in answers} == {"attempt"}


async def test_where_the_first_fails_again_the_rest_are_left_alone(bench: Bench) -> None:
    async with bench.driving():
        waiting = await several(bench, "reacher", 3)
        items = await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(waiting[0].opened.incident_id, "retry"), by=ME
        )
        still = await bench.journal.incidents()
    assert [item.state for item in items] == ["failed again", "held", "held"]
    assert len(still) == 3
    assert items[0].detail in {found.opened.incident_id for found in still}


async def test_one_that_somebody_else_answers_meanwhile_is_told_as_refused(bench: Bench) -> None:
    async with bench.driving():
        waiting = await several(bench, "saver", 2)

        class Quicker:
            """`Decisions`, with another operator who answers the second one first."""

            async def answer(self, incident_id: str, *args: object, **more: object) -> object:
                if incident_id == waiting[1].opened.incident_id:
                    await bench.answer(waiting[1], "deny")
                return await bench.decisions.answer(incident_id, *args, **more)  # type: ignore[arg-type]

        items = await answer_equal_incidents(
            Quicker(),  # type: ignore[arg-type]
            bench.journal,
            AnswerEqual(waiting[0].opened.incident_id, "grant"),
            by=ME,
        )
    assert [item.state for item in items] == ["went on", "refused"]
    assert "tester answered 'deny'" in items[1].detail
    assert bench.effects == ["save out.md"]


async def test_a_bulk_answer_makes_no_standing_grant(bench: Bench) -> None:
    async with bench.driving():
        (found,) = await several(bench, "saver", 1)
        with pytest.raises(InvalidCommand, match="bulk answer grants once only"):
            await answer_equal_incidents(
                bench.decisions, bench.journal, AnswerEqual(found.opened.incident_id, "grant", {"for": "run"}), by=ME
            )
        await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(found.opened.incident_id, "grant"), by=ME
        )
    assert await bench.journal.grants() == []


async def test_what_was_answered_by_itself_and_proved_right_is_given_to_the_rest(bench: Bench) -> None:
    async with bench.driving():
        waiting = await several(bench, "reacher", 4)
        canary, *rest = waiting
        assert await precedent(bench.journal, canary.opened) is None
        await bench.ended_by(canary, "result", value="by phone")
        before = present(await precedent(bench.journal, rest[0].opened))
        assert (before.answer.incident_id, before.state, before.detail) == (
            canary.opened.incident_id, "went on", "succeeded",
        )  # fmt: skip
        items = await answer_equal_incidents(
            bench.decisions,
            bench.journal,
            AnswerEqual(
                before.answer.incident_id, "result", only=tuple(found.opened.incident_id for found in rest[:2])
            ),
            by=ME,
        )
        for found in rest[:2]:
            assert (await bench.ended(found.run_id)).output == "reached: by phone"
        still = await bench.journal.incidents()
    assert [item.incident_id for item in items] == [found.opened.incident_id for found in waiting[:3]]
    assert {item.state for item in items} == {"went on"}
    assert [found.opened.incident_id for found in still] == [rest[2].opened.incident_id], "it was not among those named"


async def test_an_answer_that_failed_again_is_no_precedent_to_follow(bench: Bench) -> None:
    async with bench.driving():
        first, second = await several(bench, "reacher", 2)
        await bench.answer(first, "retry")
        await bench.until(first.run_id, lambda state: len(state.incidents) == 2 and bool(state.open_incidents))
        before = present(await precedent(bench.journal, second.opened))
        assert (before.answer.option, before.state) == ("retry", "failed again")
        items = await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(first.opened.incident_id, "retry"), by=ME
        )
        with pytest.raises(InvalidCommand, match="was answered 'retry'"):
            await answer_equal_incidents(
                bench.decisions, bench.journal, AnswerEqual(first.opened.incident_id, "abort"), by=ME
            )
        still = await bench.journal.incidents()
    assert [item.state for item in items] == ["failed again", "held", "held"]
    assert second.opened.incident_id in {found.opened.incident_id for found in still}


async def test_who_permits_one_thing_has_not_permitted_another(bench: Bench) -> None:
    async def wanted(path: str) -> InboxRow:
        (found,) = await bench.incidents(await bench.start("wanter", path))
        return found

    async with bench.driving():
        mine, same, theirs = await wanted("data/mine.md"), await wanted("data/mine.md"), await wanted("/etc/shadow")
        assert mine.opened.fingerprint == same.opened.fingerprint == theirs.opened.fingerprint
        items = await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(mine.opened.incident_id, "grant"), by=ME
        )
        assert [item.state for item in items] == ["went on", "went on", "held"]
        assert "fs.write:/etc/shadow" in items[2].detail
        assert bench.effects == ["save mine.md", "save mine.md"]
        (still,) = await bench.journal.incidents()
        assert still.opened.incident_id == theirs.opened.incident_id
        # To say no to all of them has no risk.
        fourth = await wanted("data/x.md")
        items = await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(fourth.opened.incident_id, "deny"), by=ME
        )
        assert [item.state for item in items] == ["went on", "went on"]


async def test_who_permits_one_command_has_not_permitted_another(bench: Bench) -> None:
    async with bench.driving():
        found = await bench.incidents(await bench.start("commander"), 3)
        assert len({each.opened.fingerprint for each in found}) == 1
        said = [each.opened.message for each in found]
        assert [text.count('"rm -r x"') for text in said].count(1) == 1
        first = next(each for each in found if '"ls"' in each.opened.message)
        items = await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(first.opened.incident_id, "grant"), by=ME
        )
        assert sorted(item.state for item in items) == ["held", "went on", "went on"]
        (left,) = [item for item in items if item.state == "held"]
        assert left.detail == 'it asks for something else: shell: command {"line": "rm -r x"}'
        assert bench.effects == ["command ls", "command ls"]


async def test_an_answer_to_one_question_is_none_to_another(bench: Bench) -> None:
    async with bench.driving():
        (one,) = await bench.incidents(await bench.start("doubter", "'a.md'"))
        (other,) = await bench.incidents(await bench.start("doubter", "'b.md'"))
        assert one.opened.fingerprint == other.opened.fingerprint
        items = await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(one.opened.incident_id, "input", {"value": "yes"}), by=ME
        )
        (still,) = await bench.journal.incidents()
    assert [item.state for item in items] == ["went on", "held"]
    assert items[1].detail == "it asks for something else: remove 'b.md'?"
    assert still.opened.question == "remove 'b.md'?"


async def test_what_may_have_happened_is_repeated_for_the_one_that_was_looked_at_alone(bench: Bench) -> None:
    async with bench.driving():
        waiting = await several(bench, "payer", 3)
        first = waiting[0].opened
        assert len({found.opened.fingerprint for found in waiting}) == 1
        assert any("did NOT happen" in option.hint for option in first.options)
        items = await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(first.incident_id, "retry"), by=ME
        )
        assert [item.state for item in items] == ["went on", "held", "held"]
        assert "look whether it did" in items[1].detail
        # Also where that is the precedent which proved right, and the others are named one by one.
        named = tuple(found.opened.incident_id for found in waiting[1:])
        again = await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(first.incident_id, "retry", only=named), by=ME
        )
        assert [item.state for item in again] == ["went on", "held", "held"]
        assert bench.effects == ["pay"] * 4
        seen = await answer_equal_incidents(
            bench.decisions,
            bench.journal,
            AnswerEqual(first.incident_id, "retry", only=named, looked_at=named[:1]),
            by=ME,
        )
        assert [item.state for item in seen] == ["went on", "went on", "held"]
        assert bench.effects == ["pay"] * 5
        # What repeats nothing can be said to all.
        done = await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(named[1], "result", {"value": "paid by hand"}), by=ME
        )
        assert (await bench.ended(waiting[2].run_id)).output == "then: paid by hand"
    assert [item.state for item in done] == ["went on"]
    assert bench.effects == ["pay"] * 5


async def test_a_grant_that_lasts_is_given_to_the_rest_for_once(bench: Bench) -> None:
    async with bench.driving():
        first, second = await several(bench, "saver", 2)
        await bench.ended_by(first, "grant", **{"for": "run"})
        before = present(await precedent(bench.journal, second.opened))
        assert before.reusable == {"for": "once"}
        items = await answer_equal_incidents(
            bench.decisions, bench.journal, AnswerEqual(first.opened.incident_id, "grant"), by=ME
        )
        await bench.ended(second.run_id)
        grants = await bench.journal.grants()
    assert [item.state for item in items] == ["went on", "went on"]
    assert [grant.scope for grant in grants] == [first.run_id]


# -- notices -----------------------------------------------------------------------------------------------------------


class Hook:
    """A webhook on loopback: a plain HTTP server of this loop. `statuses` are answered in turn, the last for ever."""

    def __init__(self, *statuses: int) -> None:
        self._statuses = list(statuses) or [200]
        self.bodies: list[dict[str, Any]] = []
        self.arrived = asyncio.Condition()
        self.url = ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().lower().split("\r\n")
                length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length"))
                body = json.loads(await reader.readexactly(length))
                status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
                writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n".encode())
                await writer.drain()
                async with self.arrived:
                    self.bodies.append(body)
                    self.arrived.notify_all()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(60), self.arrived:
            await self.arrived.wait_for(lambda: len(self.bodies) >= count)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Hook]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
        async with server:
            yield self


@asynccontextmanager
async def notifying(bench: Bench, rules: NoticeRules, redact: tuple[str, ...] = ()) -> AsyncIterator[None]:
    config = ExecutionConfig("", notices=rules, redact=redact)
    notifier = Notifier(bench.journal, config, first_pause_s=0.01)
    task = asyncio.create_task(notifier.serve())
    try:
        yield
    finally:
        task.cancel()
        results = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError), results


async def sent(bench: Bench, count: int) -> list[ev.NoticeSent]:
    found: list[ev.NoticeSent] = []
    async with asyncio.timeout(60):
        async for batch in bench.journal.tail(ev.WORKSPACE_RUN_ID):
            found.extend(event for event in batch if isinstance(event, ev.NoticeSent))
            if len(found) >= count:
                return found
    raise AssertionError


async def test_a_webhook_is_told_once_again_after_it_failed_and_not_again_after_a_restart(bench: Bench) -> None:
    async with Hook(503, 200).open() as hook, bench.driving():
        rules = NoticeRules.from_mapping({"webhook": "error", "webhook_url": hook.url, "quiet_seconds": 0})
        async with notifying(bench, rules):
            (found,) = await several(bench, "reacher", 1)
            await hook.until(2)
            await sent(bench, 1)
        async with notifying(bench, rules):
            await several(bench, "saver", 1)
            await hook.until(3)
            await sent(bench, 2)
    first, again, second = hook.bodies
    assert first == again
    (told,) = first["incidents"]
    assert (told["id"], told["cause"], told["where"]) == (found.opened.incident_id, "network", ["reacher", "reach"])
    assert str(first["text"]).startswith("1 incident waits for a person\n")
    (other,) = second["incidents"]
    assert other["options"] == ["grant", "deny", "edit", "result", "skip", "abort"]


async def test_a_storm_is_gathered_and_told_without_what_is_to_be_masked(bench: Bench) -> None:
    async with Hook().open() as hook, bench.driving():
        rules = NoticeRules.from_mapping({"webhook": "error", "webhook_url": hook.url, "quiet_seconds": 5.0})
        async with notifying(bench, rules, redact=(r"out\.md",)):
            for _ in range(6):
                await bench.start("saver")
            async with asyncio.timeout(60):
                while sum(len(body["incidents"]) for body in hook.bodies) < 6:
                    await hook.until(len(hook.bodies) + 1)
    assert len(hook.bodies) < 6
    assert "out.md" not in json.dumps(hook.bodies)
    ids = [each["id"] for body in hook.bodies for each in body["incidents"]]
    assert len(ids) == len(set(ids)) == 6


async def test_a_storm_of_a_thousand_is_a_handful_of_posts_and_each_is_told_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    created = ev.RunCreated(run_id="storm", ref="x.py:s", input="")
    state = DurableRun()
    state.apply(created)
    await bench.journal.create(created, state.summary())
    lease = present(await bench.journal.claim("storm", "test", 60))
    fault = Classification(origin=Origin.TOOL, cause=Cause.NETWORK, persistence=Persistence.TRANSIENT)
    storm = [ev.IncidentOpened(incident_id=f"i-{n}", fault=fault, message=f"host {n} is gone") for n in range(1_000)]
    async with Hook(500, 200).open() as hook:
        rules = NoticeRules.from_mapping(
            {"webhook": "error", "webhook_url": f"{hook.url}/s3cret", "quiet_seconds": 0.2}
        )
        async with notifying(bench, rules):
            for at in range(0, 1_000, 50):
                await bench.journal.append(lease, storm[at : at + 50])
            told: list[str] = []
            async with asyncio.timeout(60):
                async for batch in bench.journal.tail(ev.WORKSPACE_RUN_ID):
                    told += [key for e in batch if isinstance(e, ev.NoticeSent) for key, _ in e.incidents]
                    if len(told) >= 1_000:
                        break
        async with notifying(bench, rules):  # a restart has nothing to say
            await asyncio.sleep(0)
    assert len(hook.bodies) < 10
    assert sorted(told) == sorted(f"i-{n}" for n in range(1_000))
    assert sum(body["count"] for body in hook.bodies[1:]) == 1_000
    assert max(len(body["incidents"]) for body in hook.bodies) <= 100
    assert "could not be told" in caplog.text
    assert "s3cret" not in caplog.text


async def test_an_address_is_told_nowhere_in_whatever_form_it_is_written(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async with Hook(500, 200).open() as hook, bench.driving():
        url = f"{hook.url.replace('127.0.0.1', 'LOCALHOST')}/s3cret"
        async with notifying(bench, NoticeRules({"webhook": Severity.ERROR}, url, 0)):
            await several(bench, "reacher", 1)
            await sent(bench, 1)
    own = [record.getMessage() for record in caplog.records if record.name == "runtime.notices"]
    assert [text.rpartition(": ")[2] for text in own] == ["it answered 500"]


@pytest.mark.parametrize("url", ["http://host:port/", "http://[::1/", "http://127.0.0.1:99999/"])
async def test_an_address_that_cannot_be_silences_no_other_channel(
    bench: Bench, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    rules = NoticeRules({"webhook": Severity.ERROR, "log": Severity.ERROR}, url, 0)
    async with bench.driving(), notifying(bench, rules):
        await several(bench, "reacher", 2)
        told = [channel for channel in [each.channel for each in await sent(bench, 2)] if channel == "log"]
    assert told == ["log", "log"]
    assert "webhook could not be told" in caplog.text
    # One line for each: what a message says cannot pass for a line of the log.
    assert all("\n" not in record.getMessage() for record in caplog.records if record.name == "runtime.notices.told")


async def test_the_log_is_told_of_what_is_loud_enough(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "runtime.notices")
    rules = NoticeRules.from_mapping({"log": "critical"})
    async with bench.driving(notices=rules):
        await several(bench, "reacher", 1)
        await bench.incidents(await bench.decisions.start("no.such.module:swarm", "go", by=ME))
        (told,) = await sent(bench, 1)
    assert len(told.incidents) == 1
    (said,) = [record.getMessage() for record in caplog.records if record.name == "runtime.notices.told"]
    assert said.startswith("1 incident waits for a person: i-")
    assert "no.such.module" in said


async def test_a_journal_that_cannot_be_written_for_a_while_silences_nobody_for_good(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench.driving(grace_s=0.0):
        await several(bench, "reacher", 1)
    rules = NoticeRules.from_mapping({"log": "error", "quiet_seconds": 0})
    writer = writer_of(bench.journal)
    supervisor = Supervisor(
        bench.journal, ExecutionConfig(workspace=str(bench.root), notices=rules), lease_s=0.1, period_s=0.02
    )
    await writer.run_exclusive(lambda connection: connection.execute("PRAGMA query_only = 1").fetchall())
    serving = asyncio.create_task(supervisor.serve())
    try:
        async with asyncio.timeout(60):
            while "no notices of incidents are sent now" not in caplog.text:  # noqa: ASYNC110 - a log tells no waiter
                await asyncio.sleep(0.01)
        await writer.run_exclusive(lambda connection: connection.execute("PRAGMA query_only = 0").fetchall())
        await sent(bench, 1)
        assert caplog.text.count("the journal cannot be used") <= 1, "what stays the same is said once"
    finally:
        supervisor.stop()
        await serving
