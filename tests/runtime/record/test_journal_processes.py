"""The journal with other processes at it: several that decide, one that is killed, one that is fenced."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from runtime.record.journal import JournalError
from runtime.record.journal_care import JournalCare
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.state import events as ev
from tests.runtime.record.journal_samples import elsewhere, opened, started, state_of, texts, warned

if TYPE_CHECKING:
    from tests.runtime.record.conftest import Store


async def finished(process: subprocess.Popen[str]) -> list[str]:
    output, errors = await asyncio.to_thread(process.communicate, None, 50)
    assert (process.returncode, errors) == (0, ""), errors
    return output.splitlines()


@pytest.mark.parametrize("live", [True, False])
async def test_three_clients_decide_three_times_each(store: Store, journal: JournalCare, live: bool) -> None:
    lease = await started(journal, ttl_s=600)
    incidents = [f"i{n}" for n in range(5)]
    await journal.append(lease, [opened(incident) for incident in incidents])
    if not live:
        await journal.append(lease, [ev.RunParked(reason="waiting")])
        await journal.release(lease)
    body = """
        me = {me!r}
        print("ready")
        sys.stdin.readline()
        for incident in [f"i{{n}}" for n in range(5)]:
            sent = [journal.answer(answer(incident, option=f"{{me}}.{{n}}", by=me)) for n in range(3)]
            for result in await asyncio.gather(*sent):
                print(incident, type(result).__name__)
    """
    clients = [elsewhere(store.opener, body.format(me=f"client{n}")) for n in range(3)]
    for client in clients:
        assert client.stdout is not None
        await asyncio.to_thread(client.stdout.readline)
    for client in clients:
        assert client.stdin is not None
        client.stdin.write("go\n")
        client.stdin.flush()
    lines = [line for found in await asyncio.gather(*(finished(client) for client in clients)) for line in found]
    assert len(lines) == 45
    for incident in incidents:
        assert lines.count(f"{incident} AnswerAccepted") == 1
        assert lines.count(f"{incident} AnswerRefused") == 8
    answers = [event for event in await journal.read("r1") if isinstance(event, ev.IncidentAnswered)]
    assert sorted(answer.incident_id for answer in answers) == incidents
    assert await state_of(journal) == ("running" if live else "queued")


async def test_decisions_from_elsewhere_race_with_parks_here(store: Store, journal: JournalCare) -> None:
    """Another process answers the moment an incident shows; this one parks the run the moment it has opened it."""
    races = 60
    body = f"""
        answered = 0
        print("ready")
        async for events in journal.tail():
            for event in events:
                if isinstance(event, ev.IncidentOpened):
                    result = await journal.answer(answer(event.incident_id, by="elsewhere"))
                    assert isinstance(result, AnswerAccepted)
                    answered += 1
            if answered == {races}:
                break
        print("answered", answered)
    """
    process = elsewhere(store.opener, body)
    try:
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        for number in range(races):
            lease = await started(journal, f"r{number}", ttl_s=600)
            incident, park = opened(f"i{number}"), ev.RunParked(reason="waiting")
            if number % 3 == 0:  # the park is surely first
                await journal.append(lease, [incident, park])
            else:
                seen = (await journal.append(lease, [incident]))[-1].seq
                while number % 3 == 1 and await journal.incidents(f"r{number}"):
                    pass  # the answer is surely first; else either may be
                await journal.append(lease, [park], seen=seen)
            await journal.release(lease)
        assert await finished(process) == [f"answered {races}"]
    finally:
        process.kill()
        process.communicate()
    for number in range(races):
        assert await state_of(journal, f"r{number}") == "queued"
        assert await journal.claim(f"r{number}", "heir", 10) is not None
        order = [type(event) for event in (await journal.read(f"r{number}"))[3:]]
        assert order in ([ev.IncidentAnswered, ev.RunParked], [ev.RunParked, ev.IncidentAnswered])


async def test_a_killed_writer_leaves_a_whole_journal(store: Store, journal: JournalCare) -> None:
    """SIGKILL in mid-stream: no gap, nothing half written, and everything that was acknowledged is there."""
    body = """
        lease = await started(journal, "r1", owner="victim", ttl_s=0.5)
        async def produce(number):
            for part in range(100000):
                written = await journal.append(lease, [warned(f"{number}.{part}.{k}") for k in range(3)])
                print(written[-1].seq)
        await asyncio.gather(*(produce(number) for number in range(8)))
    """
    process = elsewhere(store.opener, body)
    assert process.stdout is not None
    seen = [await asyncio.to_thread(process.stdout.readline) for _ in range(200)]
    process.send_signal(signal.SIGKILL)
    rest, errors = await asyncio.to_thread(process.communicate)
    assert errors == ""
    acknowledged = [int(line) for line in [*seen, *rest.splitlines(keepends=True)] if line.endswith("\n")]
    events = await journal.read("r1")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len(events) >= max(acknowledged)
    written = texts(events)
    assert len(written) % 3 == 0, "an append is there whole"
    for place in range(0, len(written), 3):
        assert [text.rsplit(".", 1)[1] for text in written[place : place + 3]] == ["0", "1", "2"]
    assert await journal.check() == []


@pytest.mark.parametrize("deaths", range(1, 7))
async def test_the_chaos_hook_dies_right_after_the_nth_append(store: Store, journal: JournalCare, deaths: int) -> None:
    body = """
        lease = await started(journal)                          # create and the first append: 1, 2
        await asyncio.gather(*(journal.append(lease, [warned(str(n)), warned("b")]) for n in range(3)))  # 3, 4, 5
        await journal.append(lease, [opened()])                 # 6
        await journal.answer(answer())
        print("survived")
    """
    process = elsewhere(store.opener, body, ORBITER_DIE_AFTER_APPENDS=str(deaths))
    output, errors = await asyncio.to_thread(process.communicate)
    assert (process.returncode, output, errors) == (-signal.SIGKILL, "", "")
    expected = [1, 2, 4, 6, 8, 9][deaths - 1]
    events = await journal.read("r1")
    assert [event.seq for event in events] == list(range(1, expected + 1))


async def test_a_thawed_worker_finds_itself_fenced(store: Store, journal: JournalCare) -> None:
    body = """
        lease = await started(journal, "r1", owner="zombie", ttl_s=0.2)
        print("leased")
        sys.stdin.readline()
        for attempt in (journal.append(lease, [warned("late")]), journal.renew(lease)):
            try:
                await attempt
            except Fenced as exc:
                print("fenced", exc)
    """
    process = elsewhere(store.opener, body)
    assert process.stdout is not None
    assert await asyncio.to_thread(process.stdout.readline) == "leased\n"
    process.send_signal(signal.SIGSTOP)
    own = await store.open()  # with the real clock
    try:
        while (lease := await own.claim("r1", "heir", 60)) is None:  # noqa: ASYNC110 - it is the clock on the wall that is waited for
            await asyncio.sleep(0.05)
        await own.append(lease, [warned("the heir's")])
        process.send_signal(signal.SIGCONT)
        output, errors = await asyncio.to_thread(process.communicate, "go\n")
        assert errors == ""
        assert [line.split()[0] for line in output.splitlines()] == ["fenced", "fenced"]
        assert "heir holds epoch 2" in output
        assert texts(await own.read("r1")) == ["the heir's"]
    finally:
        await own.close()


async def test_a_process_ends_though_its_journal_was_left_open(store: Store) -> None:
    await (await store.open()).close()
    source = f"""
import asyncio
async def main():
    journal = await {store.opener}
    raise RuntimeError("it went wrong")
asyncio.run(main())
"""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-W", "ignore", "-c", source],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert "it went wrong" in done.stderr


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_a_full_disk_parks_the_writer_and_harms_nothing(store: Store, journal: JournalCare) -> None:
    """The limit on file size stands for a quota: first it is hit, then lifted."""
    body = """
        import json, resource
        lease = await started(journal)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
        written, failures = 0, []
        for n in range(400):
            try:
                await journal.append(lease, [ev.StepEnded(attempt=1, result="x" * 1000), warned(str(n))])
                written += 1
            except JournalError as exc:
                failures.append([str(exc), type(exc.__cause__).__module__])
                if len(failures) == 5:
                    break
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        await journal.append(lease, [warned("room again")])
        print(json.dumps({"written": written, "failures": failures}))
    """
    (line,) = await finished(elsewhere(store.opener, body))
    report: dict[str, Any] = json.loads(line)
    assert len(report["failures"]) == 5, "the limit was hit"
    assert all(module == "sqlite3" and "cannot write in" in text for text, module in report["failures"])
    events = await journal.read("r1")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len(events) == 2 + 2 * report["written"] + 1
    assert texts(events) == [*(str(n) for n in range(report["written"])), "room again"]
    assert await journal.check() == []


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_a_writer_that_holds_the_lock_too_long_is_named(
    store: Store, journal: JournalCare, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    assert isinstance(journal, SqliteJournal)
    lease = await started(journal)
    monkeypatch.setattr("runtime.record.sqlite.schema.BUSY_TIMEOUT_MS", 50)
    impatient = await SqliteJournal.open(journal.path)
    other = sqlite3.connect(journal.path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="another process has held the write lock"):
            await impatient.append(lease, [warned()])
        other.execute("ROLLBACK")
        await impatient.append(lease, [warned("then")])
    finally:
        other.close()
        await impatient.close()
    assert texts(await journal.read("r1")) == ["then"]


async def test_a_second_client_in_this_process_takes_no_lock_away(store: Store, journal: JournalCare) -> None:
    """POSIX locks are the process's: opening and closing the file once more must not give away the first client's,
    else another process that comes and goes takes the write-ahead log with it, and what is written here goes nowhere.
    """
    lease = await started(journal)
    second = await store.open()
    try:
        assert await finished(elsewhere(store.opener, "print(len(await journal.read('r1')))")) == ["2"]
        await journal.append(lease, [warned("one more")])
        assert await finished(elsewhere(store.opener, "print(len(await journal.read('r1')))")) == ["3"]
    finally:
        await second.close()
