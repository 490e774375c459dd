"""Every answer, end to end: the run goes on as the option says, in this life and in the next."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orbiter.errors import ConfigurationError
from runtime.config.workspace_keys import add_key, read_keys
from runtime.daemon.log_file import EscapingFormatter
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.judgement.reports.incident_report import build_report
from runtime.operations.decisions import InvalidCommand
from runtime.record.journal import AnswerAccepted, AnswerRefused, OpenIncident
from runtime.record.state import events as ev
from tests.runtime.bench import ME, Bench

AT = "swarm(noter...)~0"


async def only(bench: Bench, run: str) -> OpenIncident:
    (found,) = await bench.incidents(run)
    return found


def offered(found: OpenIncident) -> list[str]:
    return [option.id for option in found.opened.options]


# -- groups ----------------------------------------------------------------------------------------------------------


async def test_accept_takes_what_a_groups_members_came_to_and_the_run_ends_degraded(bench: Bench) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("gathered"))
        assert incident.opened.lineage == ("swarm(gathered...)", "gathered")
        assert "accept" in offered(incident)
        state = await bench.ended_by(incident, "accept")
    assert (state.phase, state.output) == ("degraded", "done: noted\n\ndone: go")
    group = state.nodes["swarm(gathered...)~0/gathered~0"]
    assert group.phase == "degraded"
    assert "accepted as it was" in group.error
    assert bench.effects == ["note one", "note two"]


async def test_a_group_is_only_offered_what_it_has(bench: Bench) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("gathered"))
    assert offered(incident) == ["retry", "accept", "skip", "abort"]


# -- waiting ---------------------------------------------------------------------------------------------------------


async def test_wait_and_retry_waits_as_long_as_the_operator_says_and_shows_it(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("throttled")
        incident = await only(bench, run)
        assert offered(incident)[0] == "wait_retry"
        state = await bench.ended_by(incident, "wait_retry", seconds=0.2)
    assert state.phase == "completed"
    events = await bench.journal.read(run)
    answered = next(e for e in events if isinstance(e, ev.IncidentAnswered))
    waited = next(e for e in events if isinstance(e, ev.RetryScheduled) and e.seq > answered.seq)
    again = next(e for e in events if isinstance(e, ev.StepStarted) and e.seq > waited.seq)
    assert waited.source == "operator"
    assert (waited.until - answered.ts) == timedelta(seconds=0.2)
    assert again.ts >= waited.until


async def test_a_run_that_waits_to_retry_leaves_memory_and_comes_back_in_time(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("throttled")
        incident = await only(bench, run)
        await bench.answer(incident, "wait_retry", seconds=3.0)
        # A scripted model counts its attempts in memory: in the second life it is limited again.
        state = await bench.until(run, lambda s: len(s.incidents) == 2)
    events = await bench.journal.read(run)
    waited = next(e for e in events if isinstance(e, ev.RetryScheduled))
    parked = next(e for e in events if isinstance(e, ev.RunParked) and e.seq > waited.seq)
    again = next(e for e in events if isinstance(e, ev.StepStarted) and e.seq > parked.seq)
    assert parked.wake_at == waited.until
    assert again.ts >= waited.until
    assert state.anomalies == 0


# -- questions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "effect", "output"),
    [
        ("text", "", "quiz text ''", "quiz: got a str"),
        ("text", "plain words", "quiz text 'plain words'", "quiz: got a str"),
        ("choice", "green", "quiz choice 'green'", "quiz: got a str"),
        ("several", "a, c", "quiz several ['a', 'c']", "quiz: got a list"),
        ("several", ["b"], "quiz several ['b']", "quiz: got a list"),
        ("number", "17", "quiz number 17", "quiz: got a int"),
        ("yesno", "no", "quiz yesno False", "quiz: got a bool"),
    ],
)
async def test_an_input_has_the_type_that_the_question_asks_for(
    bench: Bench, kind: str, value: object, effect: str, output: str
) -> None:
    async with bench.driving():
        run = await bench.start(f"quiz_{kind}")
        state = await bench.ended_by(await only(bench, run), "input", value=value)
    assert (bench.effects, state.output) == ([effect], output)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("choice", "blue", "should be one of 'red', 'green'"),
        ("choice", "", "should be one of"),
        ("several", "a,x", r"'\[1\]': should be one of"),
        ("several", [], "at least 1 items"),
        ("number", "many", "should be of type integer"),
        ("number", "0", "at least 1"),
        ("yesno", "perhaps", "should be of type boolean"),
        ("text", None, "no value was given"),
    ],
)
async def test_an_input_of_another_type_is_refused_and_nothing_happens(
    bench: Bench, kind: str, value: object, said: str
) -> None:
    async with bench.driving():
        run = await bench.start(f"quiz_{kind}")
        incident = await only(bench, run)
        with pytest.raises(InvalidCommand, match=said):
            await bench.decisions.answer(incident.opened.incident_id, "input", {"value": value}, by=ME)
        state = await bench.state(run)
        assert len(state.open_incidents) == 1
    assert bench.effects == []


async def test_an_empty_answer_and_none_are_told_apart(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        incident = await only(bench, await bench.start("quiz_text"))
        state = await bench.ended_by(incident, "skip")
    assert bench.effects == []
    result = state.nodes["quiz_text~0/quiz~0.0"].result
    assert "did not answer: text?" in result["error"]
    assert state.nodes["quiz_text~0/quiz~0.0/ask~0"].phase == "skipped"


# -- secrets ---------------------------------------------------------------------------------------------------------


def journal_text(bench: Bench) -> bytes:
    return b"".join(path.read_bytes() for path in bench.root.glob("journal.db*"))


async def test_a_secret_reaches_the_tool_and_no_file(bench: Bench) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("quiz_secret"))
        assert incident.opened.traceback == "", "a question is not a failure of code"
        with pytest.raises(InvalidCommand, match="given with input"):
            await bench.decisions.answer(incident.opened.incident_id, "skip", {"value": "correct horse"}, by=ME)
        state = await bench.ended_by(incident, "input", value="correct horse battery")
        assert bench.effects == [f"quiz secret {'*' * 21}"]
        assert b"correct horse" not in journal_text(bench)
    assert state.phase == "completed"
    assert state.nodes["quiz_secret~0/quiz~0.0/ask~0"].phase == "succeeded"
    assert state.anomalies == 0


@pytest.mark.parametrize(("secret", "piece"), [("Tr0ub4dor&3 é", "Tr0ub4dor"), ("x7-Q", "x7-Q")])
async def test_a_secret_that_comes_back_in_a_result_or_an_error_is_in_no_file(
    bench: Bench, secret: str, piece: str
) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("leaker")
        for number in (1, 2):
            await bench.until(run, lambda s: len(s.incidents) >= number)  # noqa: B023 - awaited here
            (incident, *_) = await bench.journal.incidents(run)
            await bench.answer(incident, "input", value=secret)
        state = await bench.ended(run)
        for path in bench.root.iterdir():
            if path.is_file() and path != bench.effects_file:
                assert piece.encode() not in path.read_bytes(), path
    assert state.phase == "completed"
    assert state.anomalies == 0
    assert piece not in state.output
    recorded = [node.result for node in state.nodes.values() if node.name == "leak"]
    assert "[redacted]" in json.dumps(recorded)


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_run_whose_model_was_told_a_secret_is_known_again_in_a_later_life(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    from runtime.execution import secret_vault

    async with bench.driving():
        run = await bench.start("leaks_then_asks")
        await bench.answer(await only(bench, run), "input", value="Tr0ub4dor&3")
        await bench.until(run, lambda s: len(s.incidents) == 2)
    if restarted:
        monkeypatch.setattr(secret_vault, "VAULT", secret_vault.SecretVault())
    await bench.answer(await only(bench, run), "input", value="no")
    async with bench.driving():
        state = await bench.ended(run)
    assert state.output == "quiz: got a str"
    assert state.anomalies == 0


async def test_a_secret_that_an_error_quotes_is_in_no_line_of_the_log(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench.driving():
        run = await bench.start("locked_out")
        await bench.answer(await only(bench, run), "input", value="Tr0ub4dor&3 z")
        await bench.until(run, lambda s: len(s.incidents) == 2)
    written = [EscapingFormatter().format(record) for record in caplog.records]
    assert [text for text in written if "Wrong password" in text]
    assert not [text for text in written if "Tr0ub4dor" in text]


async def test_a_secret_is_asked_for_again_after_a_restart_and_masked_in_errors(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runtime.execution import incidents, resolution, secret_vault

    async with bench.driving():
        run = await bench.start("loggingin")
        await bench.answer(await only(bench, run), "input", value="hunter2hunter2")
        more = await only(bench, run)
        assert more.opened.question == "anything else?"
    # Another process: another key.
    fresh = secret_vault.SecretVault()
    monkeypatch.setattr(resolution, "VAULT", fresh)
    monkeypatch.setattr(incidents, "VAULT", fresh)
    await bench.answer(more, "input", value="no")
    async with bench.driving():
        again = await only(bench, run)
        assert again.opened.question == "password for db?"
        assert again.opened.incident_id != more.opened.incident_id
        state = await bench.ended_by(again, "input", value="hunter3hunter3")
    assert bench.effects == ["login 14", "login 14"]
    assert state.anomalies == 0
    # What the tool itself tells the model is its author's; nothing of ours wrote it down.
    answered = [e for e in await bench.journal.read(run) if isinstance(e, ev.IncidentAnswered)]
    assert all("hunter" not in json.dumps(e.params) for e in answered)


async def test_another_worker_with_the_workspaces_keys_goes_on_with_a_secret(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from runtime.execution import incidents, resolution, secret_vault
    from runtime.worker import supervisor

    keys = tmp_path / "workspace.keys"
    assert add_key(keys) == 1
    for life in range(2):
        vault = secret_vault.SecretVault()  # another process
        for module in (resolution, incidents, supervisor, secret_vault):
            monkeypatch.setattr(module, "VAULT", vault)
        async with bench.driving(secret_keys_file=str(keys)):
            if not life:
                run = await bench.start("loggingin")
                await bench.answer(await only(bench, run), "input", value="hunter2hunter2")
                more = await only(bench, run)
                assert more.opened.question == "anything else?"
                assert add_key(keys) == 2, "what was sealed to the older one can still be opened"
            else:
                state = await bench.ended_by(more, "input", value="no")
    assert bench.effects == ["login 14", "login 14"]
    asked = [each.opened.question for each in state.incidents.values()]
    assert asked == ["password for db?", "anything else?"], "it is not asked again"
    written = "".join(event.model_dump_json() for event in await bench.journal.read(run))
    assert not [each for each in ("hunter2", *(pair.to_text() for pair in read_keys(keys))) if each in written]


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ("", 0o600, "holds no key"),
        ("# a comment\n12ab\n", 0o600, "line 2: must be a key that"),
        ("\n", 0o644, "is open to others: chmod 600"),
        (None, 0o600, "cannot read the keys"),
    ],
)
def test_a_file_of_keys_that_cannot_be_used_is_named_and_not_quoted(
    tmp_path: Path, text: str | None, mode: int, told: str
) -> None:
    keys = tmp_path / "workspace.keys"
    if text is not None:
        keys.write_text(text)
        keys.chmod(mode)
    with pytest.raises(ConfigurationError, match=told) as caught:
        read_keys(keys)
    assert "12ab" not in str(caught.value)


# -- tools -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"host": 5}, "'host': should be of type string"),
        ({}, "'host' is required"),
        ({"host": "b", "port": 1}, "'port' is not a parameter"),
    ],
)
async def test_an_edit_is_checked_against_the_tools_schema_before_it_is_sent(
    bench: Bench, arguments: dict[str, object], said: str
) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("reacher"))
        with pytest.raises(InvalidCommand, match=said):
            await bench.decisions.answer(incident.opened.incident_id, "edit", {"arguments": arguments}, by=ME)
    assert bench.effects == ["reach db"]


async def test_an_edit_still_holds_in_a_later_life(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("reacher")
        await bench.answer(await only(bench, run), "edit", arguments={"host": "backup"})
        await bench.until(run, lambda s: len(s.incidents) == 2 and bool(s.open_incidents))
    async with bench.driving():
        second = await only(bench, run)
        await bench.answer(second, "retry")
        state = await bench.until(run, lambda s: len(s.incidents) == 3)
    async with bench.driving():
        third = await only(bench, run)
        assert third.opened.action["arguments"] == {"host": "backup"}
        state = await bench.ended_by(third, "result", value="by phone")
    assert bench.effects == ["reach db", "reach backup", "reach backup"]
    assert state.output == "reached: by phone"
    assert all(found.opened.fault.rule_id != "recall-difference" for found in state.incidents.values())


async def test_a_denial_with_words_goes_to_the_model_even_where_failures_fail(bench: Bench) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("reacher"))
        assert next(o for o in incident.opened.options if o.id == "deny").label == "Tell the agent what to do instead"
        state = await bench.ended_by(incident, "deny", message="call them instead")
    assert state.phase == "completed"
    assert "call them instead" in state.output


async def test_a_skipped_call_is_recalled_with_its_value(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("reacher_then_ask")
        await bench.answer(await only(bench, run), "skip", value="nothing there")
        await bench.until(run, lambda s: any(i.opened.question for i in s.open_incidents))
    async with bench.driving():
        state = await bench.ended_by(await only(bench, run), "input", value="ok")
    assert state.phase == "completed"
    assert state.nodes["reacher_then_ask~0/reach~0.0"].result["content"] == "nothing there"
    assert bench.effects == ["reach db", "asked well?"]


async def test_an_unknown_provider_is_refused_at_the_desk(bench: Bench) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("dead"))
        for model, said in (
            ("antropic:claude", "did you mean 'anthropic:claude'"),
            ("openai:", "names no model"),
            ("anthropic", "names no model"),
            ("nonsense", "names no provider"),
        ):
            with pytest.raises(InvalidCommand, match=said):
                await bench.decisions.answer(incident.opened.incident_id, "switch_model", {"model": model}, by=ME)


async def test_a_parameter_that_the_option_does_not_take_is_refused(bench: Bench) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("dead"))
        with pytest.raises(InvalidCommand, match="'retry' does not take 'model'"):
            await bench.decisions.answer(incident.opened.incident_id, "retry", {"model": "openai:x"}, by=ME)


# -- agents ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "more", "output"),
    [
        ("retry", {}, '{"n": 7}'),
        ("input", {"value": "only a number, please"}, '{"n": 7}'),
        ("result", {"value": '{"n": 1}'}, '{"n": 1}'),
        ("skip", {"value": "none"}, "none"),
    ],
)
async def test_output_that_stays_invalid_is_corrected_where_it_is(
    bench: Bench, option: str, more: dict[str, str], output: str
) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("former"))
        assert incident.opened.fault.cause == "output_invalid"
        assert offered(incident) == ["input", "retry", "result", "skip", "abort"]
    async with bench.driving():
        state = await bench.ended_by(incident, option, **more)
    assert state.output == output
    assert len(state.incidents) == 1
    assert state.anomalies == 0


@pytest.mark.parametrize(
    ("name", "output"), [("former", '{"n": 7}'), ("deadformer", '{"n": 7}'), ("tallier", 'tallied: {"n": 7}')]
)
@pytest.mark.parametrize("wrong", ["seven", '{"n": "seven"}', "{}", {"n": None}])
async def test_a_result_by_hand_fits_what_is_expected_or_is_refused_by_field(
    bench: Bench, name: str, output: str, wrong: object
) -> None:
    async with bench.driving():
        run = await bench.start(name)
        incident = await only(bench, run)
        schema = incident.opened.result_schema or {}
        assert (schema["properties"], schema["required"]) == ({"n": {"type": "integer"}}, ["n"])
        with pytest.raises(InvalidCommand, match=r"'n'|object"):
            await bench.decisions.answer(incident.opened.incident_id, "result", {"value": wrong}, by=ME)
        assert (await only(bench, run)).opened == incident.opened
        state = await bench.ended_by(incident, "result", value='{"n": 7}')
    assert (state.phase, state.output) == ("completed", output)
    assert len(state.incidents) == 1


async def test_a_result_that_only_the_tools_own_type_can_refuse_is_asked_for_again_and_says_why(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("dater")
        first = await only(bench, run)
        for value, wrong in ((7, "should be of type array"), ("tomorrow", "should be of the format date")):
            with pytest.raises(InvalidCommand, match=wrong):
                await bench.decisions.answer(first.opened.incident_id, "result", {"value": value}, by=ME)
        await bench.answer(first, "result", value="2026-11-21, 2026-11-22")
        state = await bench.until(run, lambda s: len(s.incidents) == 2)
        second = await only(bench, run)
        assert "does not fit: '[1]': value error, a working day is wanted" in second.opened.message
        assert "refused" in second.opened.message
        assert offered(second) == offered(first)
        assert second.opened.result_schema == first.opened.result_schema
        assert state.anomalies == 0
    await bench.answer(second, "result", value="2026-11-29")
    async with bench.driving():  # no process carried the step when that was said
        await bench.until(run, lambda s: len(s.incidents) == 3)
        state = await bench.ended_by(await only(bench, run), "result", value='["2026-11-21"]')
    assert (state.phase, state.output) == ("completed", 'free on ["2026-11-21"]')
    assert bench.effects == ["dates"]
    assert state.anomalies == 0


@pytest.mark.parametrize(("option", "more"), [("retry", {}), ("input", {"value": "look elsewhere"})])
async def test_a_loop_goes_on_when_somebody_says_so(bench: Bench, option: str, more: dict[str, str]) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("looper"))
        assert incident.opened.fault.cause == "loop_detected"
        assert offered(incident) == ["input", "retry", "skip", "abort"]
        state = await bench.ended_by(incident, option, **more)
    assert state.phase == "completed"
    assert state.output.startswith("out of the loop")
    assert bench.effects == ["look same"] * 3


# -- permissions -----------------------------------------------------------------------------------------------------


async def test_the_tool_gets_what_was_checked(bench: Bench) -> None:
    (bench.root / "real").mkdir()
    (bench.root / "all.md").symlink_to(bench.root / "real" / "all.md")
    async with bench.driving():
        incident = await only(bench, await bench.start("wiper"))
        assert incident.opened.action["permission"] == f"fs.write:{bench.root}/real/all.md"
        await bench.ended_by(incident, "grant")
        incident = await only(bench, await bench.start("fetcher"))
        assert incident.opened.action["permission"] == "net:api.example.com:443"
        state = await bench.ended_by(incident, "grant")
    assert bench.effects == [f"wipe {bench.root}/real/all.md False", "fetch https://api.example.com/v1?q=1"]
    assert state.nodes["fetcher~0/fetch~0.0"].requested["arguments"]["url"].startswith("HTTPS://API")


def policy(bench: Bench, **lists: object) -> PermissionPolicy:
    return PermissionPolicy.from_mapping(lists, root=str(bench.root))


async def test_configuration_allows_asks_and_denies(bench: Bench) -> None:
    rules = policy(bench, allow=["fs.write:./data/**"], deny=["twice fs.write:./data/two.md"])
    async with bench.driving(permissions=rules):
        state = await bench.ended(await bench.start("twice"))
    assert bench.effects == ["save one.md"]
    assert not state.incidents
    denied = state.nodes["twice~0/save~1.0"]
    assert "Denied by the configuration" in denied.result["error"]
    assert denied.fault is not None
    assert denied.fault.cause == "policy_denied"


async def test_headless_what_would_be_asked_is_denied_and_the_safe_default_is_taken_at_once(bench: Bench) -> None:
    async with bench.driving(enable_error_routing=False):
        state = await bench.ended(await bench.start("saver"))
        assert state.phase == "completed"
        assert "Denied by the configuration" in state.nodes["saver~0/save~0.0"].result["error"]
        dead = await bench.ended(await bench.start("dead"))
    assert dead.phase == "failed"
    (incident,) = dead.incidents.values()
    assert incident.answer is not None
    assert (incident.answer.option, incident.answer.by.channel) == ("abort", "rule")
    assert incident.answer.reason == "no operator may be asked"
    assert bench.effects == []


async def test_a_standing_grant_covers_what_comes_and_a_revoked_one_stops_the_next_attempt(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("twice")
        incident = await only(bench, run)
        with pytest.raises(InvalidCommand, match="does not cover"):
            await bench.decisions.answer(
                incident.opened.incident_id, "grant", {"for": "run", "pattern": "elsewhere/**"}, by=ME
            )
        state = await bench.ended_by(incident, "grant", **{"for": "run", "pattern": "data/*"})
    assert len(state.incidents) == 1
    assert bench.effects == ["save one.md", "save two.md"]
    used = [e for e in await bench.journal.read(run) if isinstance(e, ev.GrantUsed)]
    (grant,) = await bench.journal.grants()
    assert [e.grant_id for e in used] == [grant.grant_id] * 2
    assert (grant.pattern, grant.subject, grant.scope) == (f"{bench.root}/data/*", "twice", run)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["while driven", "while not driven"])
async def test_a_standing_grant_lets_pass_what_else_waits_for_just_that(bench: Bench, elsewhere: bool) -> None:
    def about(found: Sequence[OpenIncident], name: str) -> OpenIncident:
        return next(each for each in found if each.opened.action["arguments"]["path"] == name)

    async with bench.driving():
        run, other = await bench.start("savers"), await bench.start("savers")
        mine, theirs = await bench.incidents(run, 3), await bench.incidents(other, 3)
        if not elsewhere:
            await bench.answer(about(mine, "data/a"), "grant", **{"for": "run", "pattern": "data/*"})
    if elsewhere:
        await bench.answer(about(mine, "data/a"), "grant", **{"for": "run", "pattern": "data/*"})
    async with bench.driving():
        state = await bench.until(
            run, lambda s: sum(n.name == "save" and n.phase == "succeeded" for n in s.nodes.values()) == 2
        )
        (grant,) = await bench.journal.grants()
        second = state.incidents[about(mine, "data/b").opened.incident_id]
        assert second.answer is not None
        assert (second.answer.option, second.answer.by) == ("grant", ME)
        assert second.answer.params == {"for": "run", "grant_id": grant.grant_id}
        assert "covered by the grant" in second.answer.reason
        # Neither what it does not cover nor another run.
        assert [each.opened.incident_id for each in state.open_incidents] == [about(mine, "c").opened.incident_id]
        assert len((await bench.state(other)).open_incidents) == len(theirs) == 3
        used = [e.grant_id for e in await bench.journal.read(run) if isinstance(e, ev.GrantUsed)]
        assert used == [grant.grant_id] * 2
    assert sorted(bench.effects) == ["save a", "save b"]


async def test_a_grant_that_is_taken_back_at_once_lets_nothing_pass_that_it_would_have_covered(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("savers")
        found = await bench.incidents(run, 3)
    await bench.answer(found[0], "grant", **{"for": "run", "pattern": "**"})
    (grant,) = await bench.journal.grants()
    await bench.decisions.revoke(grant.grant_id, by=ME)
    async with bench.driving():
        await bench.until(run, lambda s: len(s.incidents) == 6)
        assert len(await bench.journal.incidents(run)) == 3
    assert bench.effects == []


async def test_a_grant_for_somebody_else_than_who_asks_is_refused_and_never_was(bench: Bench) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("saver"))
        with pytest.raises(InvalidCommand, match="a grant for 'nobody' does not cover 'saver'"):
            await bench.decisions.answer(
                incident.opened.incident_id, "grant", {"for": "run", "subject": "nobody"}, by=ME
            )
        assert not await bench.journal.grants()


@pytest.mark.parametrize(("option", "reach"), [("grant", "run"), ("deny", "agent"), ("skip", "run")])
async def test_an_answer_that_cannot_reach_so_far_is_refused(bench: Bench, option: str, reach: Any) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("saver"))
        with pytest.raises(InvalidCommand, match=f"does not apply to the {reach}"):
            await bench.decisions.answer(incident.opened.incident_id, option, {}, reach=reach, by=ME)
        assert len(await bench.journal.incidents()) == 1


async def test_each_permission_is_asked_about_and_a_grant_is_used_when_all_are_there(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("builder")
        first = await only(bench, run)
        await bench.answer(first, "grant", **{"for": "run"})
        await bench.until(run, lambda s: len(s.incidents) == 2)
        second = await only(bench, run)
        assert second.opened.action["permission"] == "shell"
        assert not [e for e in await bench.journal.read(run) if isinstance(e, ev.GrantUsed)]
        await bench.ended_by(second, "grant")
    used = [e.need for e in await bench.journal.read(run) if isinstance(e, ev.GrantUsed)]
    assert used == [f"fs.write:{bench.root}/out"]
    assert bench.effects == ["build out"]


async def test_a_grant_that_is_revoked_before_the_call_stops_that_very_call(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("twice")
        incident = await only(bench, run)
    # No process drives it: the answer and the revocation are both there before the step is carried again.
    given = await bench.decisions.answer(incident.opened.incident_id, "grant", {"for": "always"}, by=ME)
    assert isinstance(given, AnswerAccepted)
    await bench.decisions.revoke(given.answer.params["grant_id"], by=ME)
    async with bench.driving():
        again = await bench.until(run, lambda s: len(s.incidents) == 2)
        assert len(again.open_incidents) == 1
    assert bench.effects == []


async def test_a_star_that_a_model_wrote_becomes_no_pattern_by_itself(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("saver")
        incident = await only(bench, run)
    asked = incident.opened.model_copy(update={"action": {"permission": f"fs.write:{bench.root}/**", "agent": "saver"}})
    with pytest.raises(InvalidCommand, match="give --pattern, or grant it once"):
        await bench.decisions.proposed_grant(run, asked, {"for": "always"}, by=ME)
    made = await bench.decisions.proposed_grant(run, asked, {"for": "always", "pattern": "**"}, by=ME)
    assert made.pattern == "**"


async def test_a_standing_grant_of_a_command_covers_no_second_one(bench: Bench) -> None:
    told = ["./build.sh one", "./build.sh two", "./build.sh two; rm -rf ~", "./build.sh $(id)", "./build.sh x\nrm y"]
    async with bench.driving():
        run = await bench.start("executer", "\x1f".join(told))
        first = (await bench.incidents(run, 5))[0]
        assert first.opened.action["permission"] == "shell:./build.sh one"
        await bench.answer(first, "grant", **{"for": "always", "pattern": "./build.sh *"})
        state = await bench.until(run, lambda s: len(s.open_incidents) == 3)
    assert sorted(bench.effects) == ["execute 1: './build.sh one'", "execute 1: './build.sh two'"]
    assert [each.opened.action["permission"][6:] for each in state.open_incidents] == told[2:]


@pytest.mark.parametrize(
    ("command", "pattern", "said"),
    [
        ("git log; rm x", "git **", "a pattern with a star covers one simple command"),
        ("$TOOL x", "", "which command it runs is known only when it is expanded: say once"),
        ("git log 'x", "git **", "a quote is not closed"),
    ],
)
async def test_a_grant_that_cannot_cover_a_command_is_refused_with_the_reason(
    bench: Bench, command: str, pattern: str, said: str
) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("executer", command))
        with pytest.raises(InvalidCommand, match=said):
            await bench.decisions.answer(
                incident.opened.incident_id,
                "grant",
                {"for": "run", "pattern": pattern} if pattern else {"for": "run"},
                by=ME,
            )
        assert not await bench.journal.grants()
        await bench.ended_by(incident, "grant")
    assert len(bench.effects) == 1


async def test_a_call_that_names_too_much_is_denied_and_the_model_is_told_why(bench: Bench) -> None:
    long = "x" * 20_000
    async with bench.driving(permissions=policy(bench, default="allow", deny=["shell:git * -m * *"])):
        state = await bench.ended(await bench.start("executer", f"ls\x1f{long}\x1f2000*ls"))
    assert bench.effects == ["execute 1: 'ls'"]
    assert not state.incidents
    said = [str(node.result["error"]) for node in state.nodes.values() if node.name == "execute" and node.fault]
    assert sum("an object of 20,0" in each for each in said) == 1
    assert sum("more than 1,000 objects: make several calls" in each for each in said) == 1


async def test_the_second_of_two_operators_is_told_and_leaves_no_grant_behind(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("saver")
        incident_id = (await only(bench, run)).opened.incident_id
        other = ev.Actor(name="other", channel="console")
        outcomes = await asyncio.gather(
            bench.decisions.answer(incident_id, "deny", by=ME),
            bench.decisions.answer(incident_id, "grant", {"for": "always"}, by=other),
        )
        await bench.ended(run)
    assert sorted(type(each).__name__ for each in outcomes) == ["AnswerAccepted", "AnswerRefused"]
    granted = isinstance(outcomes[1], AnswerAccepted)
    assert bool(await bench.journal.grants()) == granted
    assert bool(bench.effects) == granted


@pytest.mark.parametrize("turn", range(8))
async def test_an_answer_against_an_abort_leaves_one_of_them_standing(bench: Bench, turn: int) -> None:
    async with bench.driving(grace_s=0.0 if turn % 2 else 60.0):
        run = await bench.start("saver")
        incident_id = (await only(bench, run)).opened.incident_id

        async def abort() -> None:
            for _ in range(turn // 2):
                await asyncio.sleep(0)
            await bench.decisions.abort(run, by=ME)

        answering = bench.decisions.answer(incident_id, "grant", by=ME)
        outcome, _ = await asyncio.gather(answering, abort(), return_exceptions=True)
        state = await bench.ended(run)
    assert state.anomalies == 0
    assert not state.open_incidents
    assert len(bench.effects) <= 1
    if isinstance(outcome, AnswerRefused):
        assert bench.effects == []
        assert state.phase == "aborted"


@pytest.mark.parametrize("turn", range(8))
async def test_a_grant_against_its_revocation_never_lets_a_later_call_through(bench: Bench, turn: int) -> None:
    async with bench.driving():
        run = await bench.start("twice")
        incident = await only(bench, run)
        params = {"for": "run", "pattern": "data/*"}
        given = await bench.decisions.answer(incident.opened.incident_id, "grant", params, by=ME)
        assert isinstance(given, AnswerAccepted)
        for _ in range(turn):
            await asyncio.sleep(0)
        await bench.decisions.revoke(given.answer.params["grant_id"], by=ME)
        state = await bench.until(run, lambda s: s.terminal or bool(s.open_incidents))
    workspace = await bench.journal.read(ev.WORKSPACE_RUN_ID)
    revoked = next(e for e in workspace if isinstance(e, ev.GrantRevoked))
    started = [e for e in await bench.journal.read(run) if isinstance(e, ev.StepStarted) and e.kind == "tool"]
    used = [e for e in await bench.journal.read(run) if isinstance(e, ev.GrantUsed)]
    assert len(started) <= len(used)
    # What began after the revocation was looked up before it was written.
    assert sum(e.ts > revoked.ts for e in started) <= 1
    assert state.anomalies == 0


async def test_invoking_an_agent_is_asked_about_where_the_configuration_says_so(bench: Bench) -> None:
    rules = policy(bench, ask=["lead agent.invoke:asker"], deny=["agent.invoke:nobody"])
    async with bench.driving(permissions=rules):
        incident = await only(bench, await bench.start("team"))
        assert incident.opened.action == {"agent": "lead", "invokes": "asker", "permission": "agent.invoke:asker"}
        assert offered(incident) == ["grant", "deny", "skip", "abort"]
        state = await bench.ended_by(incident, "deny", message="ask nobody")
        assert (state.phase, state.output) == ("degraded", "team done")
        told = next(n for n in state.nodes.values() if n.name == "delegate_to_asker")
        assert "ask nobody" in told.error or "ask nobody" in told.output
        second = await bench.start("team")
        await bench.answer(await only(bench, second), "grant", **{"for": "always"})
        await bench.ended_by(await anext_question(bench, second), "input", value="yes")
        third = await bench.start("team")
        question = await anext_question(bench, third)
        assert question.opened.question
        await bench.decisions.abort(third, by=ME)
        await bench.ended(third)
    (grant,) = await bench.journal.grants()
    assert (grant.subject, grant.verb, grant.pattern) == ("lead", "agent.invoke", "asker")


async def anext_question(bench: Bench, run: str) -> OpenIncident:
    await bench.until(run, lambda s: any(found.opened.question for found in s.open_incidents))
    return next(found for found in await bench.journal.incidents(run) if found.opened.question)


async def test_a_handover_is_an_invocation_too(bench: Bench) -> None:
    rules = policy(bench, deny=["first agent.invoke:noter"])
    async with bench.driving(permissions=rules):
        state = await bench.ended(await bench.start("handoff"))
    assert state.phase == "failed"
    assert "'first' may not invoke 'noter'" in state.error
    assert bench.effects == []


async def test_an_incident_whose_sibling_ended_the_branch_closes_itself_with_the_reason(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("stage")
        waiting = {found.opened.lineage[1]: found for found in await bench.incidents(run, 2)}
        given = await bench.decisions.answer(
            waiting["saver"].opened.incident_id, "abort", {"value": "not needed"}, reach="agent", by=ME
        )
        assert isinstance(given, AnswerAccepted)
        assert given.answer.reason == "not needed"
        state = await bench.ended(run)
        late = await bench.decisions.answer(waiting["asker"].opened.incident_id, "input", {"value": "x"}, by=ME)
    closed = state.incidents[waiting["asker"].opened.incident_id]
    assert (closed.state, closed.answer) == ("closed", None)
    assert "withdrawn" in closed.closed
    assert isinstance(late, AnswerRefused)
    assert "withdrawn" in late.detail
    assert state.anomalies == 0


# -- deadlines -------------------------------------------------------------------------------------------------------


async def test_at_the_deadline_the_safe_default_is_taken_and_never_a_grant(bench: Bench) -> None:
    async with bench.driving(deadline_s=0.1):
        state = await bench.ended(await bench.start("saver"))
    (incident,) = state.incidents.values()
    assert incident.answer is not None
    assert (incident.answer.option, incident.answer.by.name) == ("deny", "deadline")
    assert incident.opened.deadline is not None
    report = build_report(state, incident.opened)
    assert report.safe == "deny"
    assert bench.effects == []
    assert state.phase == "completed"


# -- hooks -----------------------------------------------------------------------------------------------------------


async def test_what_a_hook_made_of_the_arguments_is_what_is_asked_about_in_every_life(bench: Bench) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("hooked"))
        assert incident.opened.action["permission"] == f"fs.write:{bench.root}/moved.md"
    async with bench.driving():
        state = await bench.ended_by(incident, "grant")
    assert bench.effects == ["save moved.md"]
    assert Counter(found.opened.fault.rule_id for found in state.incidents.values()) == {"permission-needed": 1}


async def test_a_permission_is_granted_once_with_other_arguments_and_what_is_denied_stays_denied(bench: Bench) -> None:
    async with bench.driving(permissions=policy(bench, deny=["fs.write:./etc/**"])):
        run = await bench.start("savers")
        first, second, third = sorted(await bench.incidents(run, 3), key=lambda each: each.opened.node_id)
        assert offered(first) == ["grant", "deny", "edit", "result", "skip", "abort"]
        await bench.answer(first, "edit", arguments={"path": "elsewhere/a", "text": "y"})
        await bench.answer(second, "edit", arguments={"path": "etc/passwd", "text": "y"})
        state = await bench.ended_by(third, "deny")
    assert bench.effects == ["save a"]
    made, refused = (state.nodes[each.opened.node_id] for each in (first, second))
    assert made.result["content"].startswith("saved 1 characters")
    assert "Denied by the configuration" in refused.result["error"]
