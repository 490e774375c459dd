"""A run on the durable scope: it parks what fails, goes on with the rest, and takes up each answer where it stopped."""

from __future__ import annotations

from collections import Counter

import pytest

from runtime.operations.decisions import InvalidCommand
from runtime.record.journal import AnswerRefused
from runtime.record.state.durable_run import DurableRun
from tests.runtime.bench import ME, Bench


def phases(state: DurableRun) -> dict[str, str]:
    return {node.id: node.phase for node in state.nodes.values()}


async def test_a_run_without_faults_completes_and_is_recorded_step_by_step(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await bench.start("workflow"))
    assert (state.phase, state.output) == ("completed", "done: three notes")
    assert Counter(bench.effects) == Counter(["note one", "note two", "note p0", "note p1", "note p2", "look p"])
    assert state.anomalies == 0
    assert set(phases(state).values()) == {"succeeded"}
    assert "swarm(noter...)~0/parallel~1/note~0.2" in state.nodes


async def test_one_node_waits_while_its_siblings_go_on(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("stage")
        waiting = await bench.incidents(run, 2)
        state = await bench.until(run, lambda s: s.nodes["swarm(noter...)~0/noter~0.0"].phase == "succeeded")
        assert {found.opened.lineage[1] for found in waiting} == {"asker", "saver"}
        by_agent = {found.opened.lineage[1]: found for found in waiting}
        assert by_agent["asker"].opened.question == "for whom?"
        assert by_agent["saver"].opened.action["permission"] == f"fs.write:{bench.root / 'out.md'}"
        await bench.answer(by_agent["asker"], "input", value="the team")
        state = await bench.ended_by(by_agent["saver"], "grant")
    assert state.phase == "completed"
    assert "answered: the operator says the team" in state.output
    assert Counter(bench.effects) == Counter(["note one", "note two", "asked for whom?", "save out.md"])


async def test_after_a_retry_the_run_goes_on_from_the_failed_step(bench: Bench) -> None:
    async with bench.driving():
        run, incident = await bench.asked("mixed")
        assert incident.opened.fault.http_status == 503
        assert next(option.id for option in incident.opened.options) == "retry"
        before = await bench.state(run)
        assert before.nodes[incident.opened.node_id].attempts == 2
        state = await bench.ended_by(incident, "retry")
    assert state.phase == "completed"
    assert bench.effects == ["note one", "note two"]
    assert state.nodes[incident.opened.node_id].attempts == 3


async def test_a_server_hint_is_waited_for_and_shown(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("limited")
        state = await bench.ended(run)
    assert state.output == "after the limit"
    events = await bench.journal.read(run)
    (scheduled,) = [event for event in events if getattr(event, "type", "") == "step.retry_scheduled"]
    assert 0.05 <= scheduled.delay_s < 1.1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("option", "more", "phase", "output"),
    [
        ("result", {"value": "by hand"}, "completed", "by hand"),
        ("skip", {"value": "nothing"}, "degraded", "nothing"),
        ("switch_model", {"model": "scripted:zoo/plain"}, "completed", "done: go"),
        ("abort", {"reach": "agent"}, "failed", ""),
        ("abort", {"reason": "enough"}, "aborted", ""),
    ],
)
async def test_every_answer_to_a_dead_model(
    bench: Bench, option: str, more: dict[str, str], phase: str, output: str
) -> None:
    async with bench.driving():
        (incident,) = await bench.incidents(await bench.start("dead"))
        assert incident.opened.fault.cause == "auth_failed"
        state = await bench.ended_by(incident, option, **more)
    assert (state.phase, state.output) == (phase, output)
    assert not state.open_incidents


async def test_a_failed_tool_with_policy_fail_ends_its_branch_where_the_join_allows_it(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await bench.start("lenient"))
    assert (state.phase, state.incidents) == ("degraded", {})
    assert Counter(bench.effects) == Counter(["note one", "note two", "reach db"])
    assert state.nodes["swarm(branches...)~0/branches~0/reacher~0.1"].phase == "failed"


async def test_an_abort_is_not_asked_about_again_where_the_error_came_from_it(bench: Bench) -> None:
    async with bench.driving():
        (incident,) = await bench.incidents(await bench.start("telling"))
        state = await bench.ended_by(incident, "abort", reach="agent")
    assert (state.phase, len(state.incidents)) == ("failed", 1)


async def test_an_error_that_user_code_cut_off_from_an_abort_is_a_fault_of_its_own(bench: Bench) -> None:
    """``raise … from None``: what an operator decided is not what failed now."""
    async with bench.driving():
        run, incident = await bench.asked("silent")
        await bench.answer(incident, "abort", reach="agent")
        state = await bench.until(run, lambda s: len(s.incidents) == 2 and len(s.open_incidents) == 1)
        assert "silent could not go on" in state.open_incidents[0].opened.message
        (second,) = await bench.incidents(run)
        state = await bench.ended_by(second, "abort", reach="agent")
    assert (state.phase, len(state.incidents)) == ("failed", 2)


async def test_deny_goes_to_the_model_with_the_operators_words(bench: Bench) -> None:
    async with bench.driving():
        (incident,) = await bench.incidents(await bench.start("saver"))
        state = await bench.ended_by(incident, "deny", message="not there")
    assert state.phase == "completed"
    assert bench.effects == []
    result = state.nodes["saver~0/save~0.0"].result
    assert "not there" in result["error"]


async def test_edited_arguments_are_used_and_the_result_says_who_changed_them(bench: Bench) -> None:
    async with bench.driving():
        run, incident = await bench.asked("reacher")
        await bench.answer(incident, "edit", arguments={"host": "backup"})
        state = await bench.until(run, lambda s: len(s.incidents) == 2)
        open_ids = [i.opened.incident_id for i in state.open_incidents]
        (second,) = [i for i in await bench.journal.incidents(run) if i.opened.incident_id in open_ids]
        assert second.opened.action["arguments"] == {"host": "backup"}
        state = await bench.ended_by(second, "result", value="reached by phone")
    assert state.output == "reached: reached by phone"
    assert bench.effects == ["reach db", "reach backup"]
    assert state.nodes["reacher~0/reach~0.0"].requested["arguments"] == {"host": "db"}


async def test_the_first_answer_wins_and_a_wrong_one_says_what_would_be_right(bench: Bench) -> None:
    async with bench.driving():
        run, incident = await bench.asked("dead")
        incident_id = incident.opened.incident_id
        with pytest.raises(InvalidCommand, match="takes retry, switch_model"):
            await bench.decisions.answer(incident_id, "grant", by=ME)
        with pytest.raises(InvalidCommand, match="give --model"):
            await bench.decisions.answer(incident_id, "switch_model", by=ME)
        with pytest.raises(InvalidCommand, match="unknown incident 'i-nope'"):
            await bench.decisions.answer("i-nope", "retry", by=ME)
        await bench.answer(incident, "skip")
        late = await bench.decisions.answer(incident_id, "retry", by=ME)
        await bench.ended(run)
    assert isinstance(late, AnswerRefused)
    assert "tester answered 'skip'" in late.detail


async def test_team_mode_parks_a_worker_inside_the_leads_call(bench: Bench) -> None:
    async with bench.driving():
        (incident,) = await bench.incidents(await bench.start("team"))
        assert incident.opened.lineage[1:4] == ("lead", "delegate_to_asker", "asker")
        state = await bench.ended_by(incident, "input", value="yes")
    assert (state.phase, state.output) == ("completed", "team done")


async def test_abort_ends_a_run_at_once_whether_it_is_driven_or_not(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("stage")
        await bench.incidents(run, 2)
        await bench.decisions.abort(run, reason="wrong input", by=ME)
        state = await bench.ended(run)
    assert (state.phase, state.error) == ("aborted", "wrong input")
    assert not state.open_incidents
    idle = await bench.start("plain")
    await bench.decisions.abort(idle, by=ME)
    async with bench.driving():
        state = await bench.ended(idle)
    assert state.phase == "aborted"
    assert not state.nodes


async def test_a_swarm_that_cannot_be_loaded_parks_with_the_reason(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.decisions.start("no.such.module:swarm", "go", by=ME)
        (incident,) = await bench.incidents(run)
        assert "module 'no.such.module' was not found" in incident.opened.message
        await bench.decisions.abort(run, by=ME)
        await bench.ended(run)
