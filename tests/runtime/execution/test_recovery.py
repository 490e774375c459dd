"""Every answer, end to end: the run goes on as the option says, in this life and in the next."""

from __future__ import annotations

from datetime import timedelta

import pytest

from runtime.judgement.reports.incident_report import build_report
from runtime.operations.decisions import InvalidCommand
from runtime.record.state import events as ev
from tests.runtime.bench import ME, Bench
from tests.runtime.execution.answering import offered, only

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
