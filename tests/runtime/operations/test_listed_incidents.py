"""Open incidents that were read without opening the journal are those that the operation gives, field by field."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from runtime.operations.context import OperationContext, Origin
from runtime.operations.operations import Operations
from runtime.operations.requests.answers import ListIncidents
from runtime.operations.requests.listed_incidents import listed_incident_rows
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal, read_lists
from runtime.record.state import events as ev
from tests.runtime.operations.test_incident_results import OPENED
from tests.runtime.record.journal_samples import answer, opened, started, summary

ME = ev.Actor(name="ann", channel="cli")


async def _waiting(journal: JournalCare) -> None:
    lease = await started(journal)
    one = opened("i-bare")
    same = replace(one, incident_id="i-same", fingerprint="f", revision=2)
    again = replace(same, incident_id="i-again", ts=OPENED.ts, node_id="tea~0")
    full = replace(OPENED, incident_id="i-full")
    told = msgspec.structs.replace(summary(), title="tea")
    await journal.append(lease, [one, same, again, full, opened("i-over")], summary=told)
    await journal.answer(answer("i-over"))


async def test_they_are_those_of_the_operation(tmp_path: Path) -> None:
    async with await open_journal(tmp_path) as journal:
        await _waiting(journal)
        listed = read_lists(tmp_path, incidents=True, leave_proposals=False)
        operations = Operations(OperationContext(journal, tmp_path, tmp_path / "log"))
        told = await operations.run(ListIncidents(), Origin(ME))
    assert listed is not None
    assert listed_incident_rows(listed.incidents) == told
    assert [(each.id, each.like_this, each.title) for each in told] == [
        ("i-bare", 1, "tea"),
        ("i-same", 2, "tea"),
        ("i-again", 2, "tea"),
        ("i-full", 1, "tea"),
    ]


async def test_where_an_agent_has_proposed_an_answer_the_journal_is_opened(tmp_path: Path) -> None:
    async with await open_journal(tmp_path) as journal:
        await _waiting(journal)
        await journal.post("r1", ev.AnswerProposed(incident_id="i-bare", revision=1, option="retry", by=ME))
    assert read_lists(tmp_path, incidents=True, leave_proposals=False) is None
    assert read_lists(tmp_path, incidents=True) is not None
