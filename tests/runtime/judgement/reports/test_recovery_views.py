"""What is folded from events for people: ledger, look-back, audit, digest, notices, reports, waits."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.judgement.permissions.grant_ledger import GrantLedger
from runtime.judgement.permissions.grant_preview import preview_grant
from runtime.judgement.recovery.options import make_option
from runtime.judgement.recovery.secret_box import (
    KeyPair,
    seal,
)
from runtime.judgement.reports import audit, digest
from runtime.judgement.reports.incident_report import IncidentReport, build_report
from runtime.judgement.reports.notices import NoticeQueue, NoticeRules, chat_safe, escape_sequences
from runtime.judgement.reports.report_types import WaitingNode
from runtime.judgement.reports.tracebacks import fold_traceback, is_user_code
from runtime.judgement.reports.waiting_nodes import nodes_waiting_on
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.fault_taxonomy import (
    Impact,
)
from tests.runtime.judgement.reports.recovery_events import ADA, BOB, answered, at, grant, opened

# -- ledger and look-back ----------------------------------------------------------------------------------------------


def test_the_ledger_counts_uses_and_says_what_holds() -> None:
    ledger = GrantLedger()
    for event in (
        grant(),
        grant("g2", until=at(60)),
        grant("g3"),
        ev.GrantUsed(grant_id="g1", need="fs.write:/data/a", ts=at(5)),
        ev.GrantUsed(grant_id="g1", need="fs.write:/data/b", ts=at(9)),
        ev.GrantUsed(grant_id="nobody's", need="fs.write:/data/b", ts=at(9)),
        ev.GrantRevoked(grant_id="g3", by=BOB, ts=at(10)),
    ):
        ledger.apply(event)
    states = {held.grant.grant_id: (held.state(at(100)), held.uses) for held in ledger.entries(at(100), every=True)}
    assert states == {"g1": ("in force", 2), "g2": ("expired", 0), "g3": ("revoked", 0)}
    assert [held.grant.grant_id for held in ledger.entries(at(100))] == ["g1"]
    assert ledger.held["g1"].last_used == at(9)


def run_with_saves(run_id: str, paths: list[str], ref: str = "x:y") -> list[ev.JournalEvent]:
    events: list[ev.JournalEvent] = [ev.RunCreated(run_id=run_id, ref=ref, seq=1)]
    for number, path in enumerate(paths):
        node = f"writer~0/save~{number}.0"
        events.append(
            ev.StepStarted(
                node_id=node, kind="tool", name="save", agent="writer", attempt=1, epoch=1, ts=at(number),
                requested={"id": "c", "arguments": {"path": path}}, permissions=("fs.write:{path}",),
            )
        )  # fmt: skip
        if number < len(paths) - 1:
            events.append(ev.StepEnded(node_id=node, attempt=1, result={"content": "ok"}))
    return events


def test_the_look_back_lists_what_a_grant_would_have_matched_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data" / "link").symlink_to(tmp_path / "elsewhere")
    paths = ["data/a", "data/../b", "data/link/c", "data/d"]
    states = [fold_events(run_with_saves("r1", paths)), fold_events(run_with_saves("r2", ["data/e"]))]
    wide = preview_grant(grant(pattern=f"{tmp_path}/data/**"), states, root=str(tmp_path))
    assert [action.need for action in wide.past] == [f"fs.write:{tmp_path}/data/a"]
    assert [action.need for action in wide.pending] == [f"fs.write:{tmp_path}/data/e", f"fs.write:{tmp_path}/data/d"]
    assert wide.sentence() == "would have matched 1 past action and 2 pending"
    narrow = grant(pattern=f"{tmp_path}/data/**", lifetime="run", scope="r2")
    assert [action.run_id for action in preview_grant(narrow, states, root=str(tmp_path)).pending] == ["r2"]


# -- audit and digest --------------------------------------------------------------------------------------------------


def test_the_audit_has_person_channel_option_time_and_reason_and_no_secret() -> None:
    sealed = seal(KeyPair.generate().public, '"hunter2"')
    events: list[ev.JournalEvent] = [
        opened("i1", 0),
        answered("i1", "retry", 12.5, reason="host is back"),
        opened("i2", 20, question="password?"),
        answered("i2", "input", 21, BOB, params={"value": sealed}),
        ev.RunFrozen(run_id="r1", by=BOB, reason="lunch", ts=at(30)),
        ev.NodeOpened(kind="agent", name="a"),
    ]
    first, second, third = audit.audit_entries(events)
    assert (first.person, first.channel, first.option, first.seconds) == ("ada", "console", "retry", 12.5)
    assert (first.reason, first.asked) == ("host is back", "i1 failed")
    assert (second.params, second.asked) == ({"value": "(secret)"}, "password?")
    assert (third.what, third.person, third.reason) == ("froze", "bob", "lunch")
    granted = audit.audit_entries([grant(run_id=ev.WORKSPACE_RUN_ID)])[0]
    assert (granted.what, granted.run_id, granted.params["pattern"]) == ("granted", "", "/data/**")


def test_the_digest_counts_what_came_since_and_what_is_still_open() -> None:
    run: list[ev.JournalEvent] = [
        ev.RunCreated(run_id="r1", ref="x:y", ts=at(0)),
        opened("i1", 1),
        answered("i1", "retry", 2),
        opened("i2", 50),
        opened("i3", 60),
        answered("i3", "abort", 61, ev.Actor(name="deadline", channel="rule")),
    ]
    ended: list[ev.JournalEvent] = [
        ev.RunCreated(run_id="r2", ref="x:y", ts=at(55)),
        ev.RunFinished(run_id="r2", state="completed", ts=at(58)),
    ]
    workspace: list[ev.JournalEvent] = [ev.OperatorLooked(by=ADA, ts=at(40)), grant(ts=at(59))]
    since = digest.last_look(workspace, "ada")
    assert since == at(40)
    assert digest.last_look(workspace, "bob") is None
    made = digest.build_digest([workspace, run, ended], since)
    assert made.sentences == (
        "1 run started",
        "1 run completed",
        "2 incidents opened, 1 open now",
        "1 answered by rule (a deadline, or no operator to ask)",
        "1 grant given, 0 taken back",
    )
    assert made.runs == ("r1", "r2")
    assert digest.build_digest([workspace, run, ended], at(1_000)).empty
    assert digest.build_digest([run], None).answered_by == {"ada": 1}


def test_steps_of_a_run_that_goes_on_are_nothing_to_tell() -> None:
    run: list[ev.JournalEvent] = [
        ev.RunCreated(run_id="r1", ref="x:y", ts=at(0)),
        ev.NodeOpened(run_id="r1", kind="agent", name="a", ts=at(50)),
    ]
    made = digest.build_digest([run], at(40))
    assert (made.runs, made.sentences, made.empty) == (("r1",), (), True)


# -- notices -----------------------------------------------------------------------------------------------------------


def test_a_storm_is_two_notices_not_a_hundred_and_nothing_is_told_twice() -> None:
    queue = NoticeQueue(NoticeRules.from_mapping({"log": "error", "quiet_seconds": 10}))
    queue.apply(opened("i0", 0))
    (first,) = queue.due(at(0))
    assert first.title() == "1 incident waits for a person"
    queue.apply(ev.NoticeSent(channel="log", incidents=first.keys, ts=at(0)))
    for number in range(1, 100):
        queue.apply(opened(f"i{number}", 1))
        assert queue.due(at(1)) == []
    assert queue.next_at() == at(10)
    (second,) = queue.due(at(10))
    assert second.title() == "99 incidents wait for a person"
    assert second.body().endswith("and 96 more")
    queue.apply(ev.NoticeSent(channel="log", incidents=second.keys, ts=at(10)))
    assert queue.due(at(1_000)) == []


def test_each_channel_hears_what_is_loud_enough_for_it() -> None:
    queue = NoticeQueue(NoticeRules.from_mapping({"bell": "critical", "log": "warning"}))
    queue.apply(opened("i1"))
    assert [notice.channel for notice in queue.due(at(0))] == ["log"]
    queue.apply(opened("i2", impact=Impact.RUN))
    heard = {notice.channel: [each.incident_id for each in notice.incidents] for notice in queue.due(at(0))}
    assert heard == {"bell": ["i2"], "log": ["i1", "i2"]}


def test_what_was_answered_before_anybody_was_told_needs_no_notice() -> None:
    queue = NoticeQueue(NoticeRules.from_mapping({"log": "info"}))
    queue.apply(opened("i1"))
    queue.apply(answered("i1", "retry", 1))
    queue.apply(opened("i2"))
    queue.apply(ev.RunFinished(run_id="r1", state="aborted"))
    queue.apply(opened("i3", unattended=True))
    assert queue.due(at(5)) == []


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"pager": "error"}, "no 'pager': the channels are bell"),
        ({"log": "loud"}, "notices.log is 'loud'"),
        ({"webhook": "error"}, "needs notices.webhook_url"),
        ({"webhook": "error", "webhook_url": "hooks.example.com/x"}, "an http or https address"),
        ({"webhook": "error", "webhook_url": "http://host:port/x"}, "an http or https address"),
        ({"webhook": "error", "webhook_url": "http://[::1/x"}, "an http or https address"),
        ({"webhook": "error", "webhook_url": "https://host:99999/"}, "an http or https address"),
        ({"log": "error", "quiet_seconds": -1}, "quiet_seconds is -1"),
    ],
)
def test_notice_rules_that_make_no_sense_are_refused_by_name(given_: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        NoticeRules.from_mapping(given_)


def test_a_notice_says_which_run_it_is_about() -> None:
    queue = NoticeQueue(NoticeRules.from_mapping({"log": "info"}))
    queue.name_run(opened("i1").run_id, "Plan three\ndays")
    queue.apply(opened("i1"))
    (notice,) = queue.due(at(0))
    assert notice.body().startswith("i1 Plan three days: ")


def test_a_message_cannot_break_out_of_a_terminals_sequence() -> None:
    queue = NoticeQueue(NoticeRules.from_mapping({"terminal": "info"}))
    queue.apply(opened("i1", message="bad\x07\x1b]0;owned\x07;rm"))
    (notice,) = queue.due(at(0))
    text = escape_sequences(notice)
    assert text.count("\x1b") == 3
    assert text.count("\x07") == 3


def test_a_message_calls_no_channel_and_disguises_no_link_in_a_chat_program() -> None:
    queue = NoticeQueue(NoticeRules.from_mapping({"webhook": "info", "webhook_url": "https://hook.invalid"}))
    queue.apply(opened("i1", message="<!channel> a & b <https://evil.invalid|approve>\u202e\x1b[2J"))
    (notice,) = queue.due(at(0))
    text = chat_safe(f"{notice.title()}\n{notice.body()}")
    assert "&lt;!channel&gt; a &amp; b &lt;https://evil.invalid|approve&gt;  [2J" in text
    assert not set("<>\x1b\u202e") & set(text)
    others = chat_safe("@all @channel [approve](https://evil.invalid) [approve][1]")
    assert not [each for each in ("@all", "@channel", "](", "][") if each in others]
    assert others.replace("\u200b", "") == "@all @channel [approve](https://evil.invalid) [approve][1]"
    assert len(text.split("\n")) == 2


# -- reports -----------------------------------------------------------------------------------------------------------

TRACEBACK = """\
Traceback (most recent call last):
  File "/home/me/project/tools.py", line 3, in save
    client.put(path)
  File "/usr/lib/python3.11/socket.py", line 833, in create_connection
    raise err
  File "/home/me/project/.venv/lib/python3.11/site-packages/httpx/_client.py", line 9, in put
    return self.request()
           ^^^^^^^^^^^^^^
ConnectionRefusedError: [Errno 111] refused

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/me/project/tools.py", line 5, in save
    raise SaveError from exc
SaveError: could not save"""


def test_a_traceback_shows_the_users_frames_and_counts_the_others() -> None:
    text = fold_traceback(TRACEBACK)
    assert text.count("tools.py") == 2
    assert "socket.py" not in text
    assert "_client.py" not in text
    assert "^^^^" not in text
    assert "  ... 2 frames of libraries" in text
    assert "direct cause" in text
    assert text.endswith("SaveError: could not save")


def test_a_traceback_without_a_users_frame_stays_whole() -> None:
    text = TRACEBACK.replace("/home/me/project/tools.py", "/usr/lib/python3.11/tools.py")
    assert fold_traceback(text) == text


def test_the_frames_of_this_program_are_no_users_code() -> None:
    assert not is_user_code(fold_traceback.__code__.co_filename)
    assert not is_user_code(threading.Event.wait.__code__.co_filename)
    assert is_user_code(at.__code__.co_filename)


@given(st.text(alphabet='ab \n"File,lineTracb():/', max_size=300))
def test_any_text_is_folded_without_a_fault(text: str) -> None:
    assert isinstance(fold_traceback(text), str)


def test_nothing_that_failed_can_end_a_block_of_the_report() -> None:
    found = opened("i1", traceback="Traceback\n```\n**Retry:** go on\n````\nend")
    state = fold_events([ev.RunCreated(run_id="r1", ref="x:y", ts=at(-5)), found])
    text = build_report(state, found).markdown()
    assert "`````\nTraceback\n```\n**Retry:** go on\n````\nend\n`````" in text
    assert text.index("**Error Type:** TOOL_FAILED") < text.index("**Task:**") < text.index("**Failed Operation:**")
    assert text.index("**Error Message:** i1 failed") < text.index("**Error Metadata:**\n```json\n{")
    assert text.endswith("**Analysis:** Error details are provided in the structured report above.")


def test_the_report_says_what_happens_at_the_deadline() -> None:
    options = (make_option("retry"), make_option("abort"))
    found = opened("i1", options=options, safe="abort", deadline=at(60))
    report = build_report(fold_events([ev.RunCreated(run_id="r1", ref="x:y"), found]), found)
    assert report.at_deadline == "Abort execution (abort), at 2026-11-20 12:01:00 UTC, if it is not answered before"
    assert "At The Deadline: Abort execution" in report.text()
    # Of what is answered nothing happens by itself any more.
    answered = ev.IncidentAnswered(run_id="r1", incident_id="i1", revision=1, option="retry", by=ev.Actor(name="ada"))
    later = build_report(fold_events([ev.RunCreated(run_id="r1", ref="x:y"), found, answered]), found)
    assert later.at_deadline == ""


def test_what_waits_on_an_incident_is_named_from_the_nearest_up() -> None:
    def open_(node: str, parent: str, kind: str, name: str, **info: object) -> ev.NodeOpened:
        return ev.NodeOpened(node_id=node, parent_id=parent, kind=kind, name=name, info=info)  # type: ignore[arg-type]

    members = ["a", "b", "c", "last"]
    state = fold_events(
        [
            ev.RunCreated(run_id="r1", ref="x:y"),
            open_("s~0", "", "swarm", "s", mode="workflow", members=members),
            *(open_(f"s~0/{name}~0.{i}", "s~0", "agent", name) for i, name in enumerate("abc")),
            ev.NodeClosed(node_id="s~0/a~0.0", parent_id="s~0", state="succeeded"),
            ev.StepStarted(
                node_id="s~0/b~0.1/save~0.0", parent_id="s~0/b~0.1", kind="tool", name="save", agent="b",
                attempt=1, epoch=1,
            ),
        ]
    )  # fmt: skip
    assert [waiter.sentence() for waiter in nodes_waiting_on(state, "s~0/b~0.1/save~0.0")] == [
        "agent b",
        "swarm s, with a done, then last",
    ]


def test_who_waits_in_a_loop_names_each_that_is_done_once_with_its_number() -> None:
    done = [f"s~0/ask~0.{number}" for number in range(100)]
    state = fold_events(
        [
            ev.RunCreated(run_id="r1", ref="x:y"),
            ev.NodeOpened(node_id="s~0", kind="swarm", name="s", info={"members": ["ask", "last", "sum"]}),
            *(ev.NodeOpened(node_id=path, parent_id="s~0", kind="agent", name="ask") for path in done),
            *(ev.NodeClosed(node_id=path, parent_id="s~0", state="succeeded") for path in done),
            ev.NodeOpened(node_id="s~0/last~0.100", parent_id="s~0", kind="agent", name="last"),
        ]
    )
    assert [waiter.sentence() for waiter in nodes_waiting_on(state, "s~0/last~0.100")] == [
        "swarm s, with ask ×100 done, then sum"
    ]
    many = WaitingNode(node_id="n", kind="swarm", name="s", then=tuple(f"m{number}" for number in range(200)))
    assert many.sentence().endswith("m10, m11, 188 others")


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string", "enum": ["yes", "no"]}, "Choices: yes, no"),
        ({"type": "array", "items": {"enum": ["a", 1]}}, "Choices: a, 1"),
        ({"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]}, "Choices: s, l"),
        ({"type": "string"}, ""),
        (None, ""),
    ],
)
def test_the_report_of_a_question_says_what_it_may_be_answered_with(schema: dict[str, Any] | None, shown: str) -> None:
    found = opened("i1", question="Shall I?", answer_schema=schema)
    report = build_report(fold_events([ev.RunCreated(run_id="r1", ref="x:y"), found]), found)
    assert [line for line in report.text().splitlines() if line.startswith("Choices")] == ([shown] if shown else [])


def test_a_message_of_several_lines_forges_no_section() -> None:
    forged = "disk full\n**Recovery Options:** Grant permission (grant)\u2028Recovery Options: x\n\n# Safe"
    report = IncidentReport(
        incident_id="i-1", run_id="r", timestamp=datetime(2026, 1, 1, tzinfo=UTC), error_type="internal",
        severity="error", task=forged, failed_operation="tool x", error_message=forged, capability="a\n**Where:** b",
        lineage=("a\nWhere: b",), causes=("one", "two\n**Retry:** yes"), question=forged, choices=("a", forged),
    )  # fmt: skip
    for shown in (report.markdown(), report.text()):
        begun = [line for line in shown.splitlines() if line[:1] not in (" ", "")]
        assert not [line for line in begun if "Recovery Options" in line or line.startswith(("#", "**Retry"))]
        assert len([line for line in begun if line.startswith(("**Where", "Where"))]) == 1
