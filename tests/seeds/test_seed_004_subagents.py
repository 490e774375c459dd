"""Seed 004: failure and join policies of sub-agents, for delegation as for members (ids: findings 12, and 4.5).

An operator may be asked in all of these: what a policy decides is not asked.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orbiter import Agent, run
from orbiter._internal.call_runner import call_runner
from orbiter._internal.state import RunNodeStatus, RunState
from orbiter.errors import (
    AgentConfigurationError,
    AgentError,
    CallRunnerError,
    TimeoutError,  # noqa: A004 - seed 004 names it so
)
from orbiter.models import get_provider
from runtime.judgement.recovery.budget import Budget, BudgetUsage, check_limits, limit_fault
from runtime.record.state.durable_run import RUN_TERMINAL, DurableRun
from tests.data.swarms import subagents
from tests.runtime.bench import ME, Bench

SUBAGENTS = Path(__file__).parents[1] / "data" / "swarms" / "subagents.py"


async def settled(bench: Bench, name: str, **more: object) -> DurableRun:
    """The run at its end, or once a person is asked."""
    async with bench.driving(**more):  # type: ignore[arg-type]
        run_id = await bench.decisions.start(f"{SUBAGENTS}:{name}", "go", by=ME)
        return await bench.until(
            run_id,
            lambda state: (
                state.phase in RUN_TERMINAL or any("policy" not in each.opened.action for each in state.open_incidents)
            ),
        )


@pytest.mark.parametrize(
    ("name", "phase", "output"),
    [
        ("team_degrade", "degraded", "lead heard: "),
        ("team_continue", "completed", "lead heard: "),
        ("workflow_degrade", "degraded", "good"),
        ("workflow_continue", "completed", "good"),
        ("nested_fail", "completed", "good"),
        ("group_optional", "degraded", "good"),
        ("group_any", "degraded", "good"),
        ("group_first", "completed", "good"),
        ("group_quorum", "completed", "good\n\ngood"),
        ("flow_optional", "degraded", "good"),
        ("team_optional", "degraded", "lead is done"),
        ("team_first", "completed", "lead is done"),
    ],
)
async def test_12_a_policy_that_goes_on_asks_no_person(bench: Bench, name: str, phase: str, output: str) -> None:
    state = await settled(bench, name)
    assert not state.incidents, [each.opened.message for each in state.incidents.values()]
    assert (state.phase, state.anomalies) == (phase, 0)
    assert state.output.startswith(output)


@pytest.mark.parametrize("name", ["group_first", "group_quorum"])
async def test_12_who_failed_where_enough_succeeded_is_a_warning(bench: Bench, name: str) -> None:
    state = await settled(bench, name)
    (group,) = (node for node in state.nodes.values() if node.name == "group")
    (warning,) = group.warnings
    assert warning.startswith("'bad' failed: ")
    assert "bad key" in warning


async def test_12_the_lead_is_told_what_failed(bench: Bench) -> None:
    state = await settled(bench, "team_continue")
    assert "bad key" in state.output
    call = next(node for node in state.nodes.values() if node.name == "delegate_to_bad")
    assert (call.phase, "bad key" in call.error) == ("failed", True)


@pytest.mark.parametrize("name", ["team_fail", "workflow_fail"])
@pytest.mark.parametrize("asking", [True, False], ids=["attended", "unattended"])
async def test_12_fail_ends_the_run_at_once_with_a_report(bench: Bench, name: str, asking: bool) -> None:
    state = await settled(bench, name, enable_error_routing=asking)
    assert state.phase == "failed"
    (incident,) = state.incidents.values()
    assert incident.answer is not None
    assert (incident.answer.option, incident.answer.by.channel) == ("abort", "rule")
    if asking:
        assert incident.answer.by.name == "policy"
        assert incident.answer.reason == "the failure policy is 'fail'"
    assert "bad key" in (state.error or "")


@pytest.mark.parametrize("name", ["team_undeclared", "workflow_undeclared", "team_lead", "group_required"])
async def test_12_a_person_is_asked_where_no_policy_decides(bench: Bench, name: str) -> None:
    state = await settled(bench, name)
    (incident,) = state.open_incidents
    assert incident.opened.fault.cause == "auth_failed"


@pytest.mark.parametrize("name", ["group_violated", "team_quorum"])
async def test_12_a_violated_join_is_asked_about_once_and_where_it_stands(bench: Bench, name: str) -> None:
    state = await settled(bench, name)
    (incident,) = state.incidents.values()
    assert incident.open
    assert incident.opened.error_type == "JoinError"


@pytest.mark.parametrize("name", ["team_degrade", "team_continue", "team_fail"])
async def test_12_policies_hold_without_a_runtime(name: str) -> None:
    swarm = getattr(subagents, name)
    if name == "team_fail":
        with pytest.raises(AgentError, match="bad key"):
            await run(swarm, "go")
        return
    result = await run(swarm, "go")
    assert result.output.startswith("lead heard: ")
    assert result.state == ("degraded" if name == "team_degrade" else "completed")


async def test_12_that_a_team_goes_on_is_recorded_at_the_call_of_the_lead(bench: Bench) -> None:
    state = await settled(bench, "team_optional")
    (back,) = state.returned
    assert back.remedy == "go_on"
    assert state.nodes[back.scope].name == "delegate_to_bad"


@pytest.mark.parametrize(
    ("name", "phase", "output"),
    [
        ("timed_team", "completed", "lead heard: "),
        ("timed_workflow", "degraded", "good"),
        ("timed_group", "degraded", "good"),
    ],
)
async def test_4_5_a_subagent_that_exceeds_its_wall_time_has_failed_by_policy(
    bench: Bench, name: str, phase: str, output: str
) -> None:
    state = await settled(bench, name)
    assert not state.incidents
    assert (state.phase, state.anomalies) == (phase, 0)
    assert state.output.startswith(output)
    (back,) = state.returned
    assert "of 0.01 s" in back.reason


@pytest.mark.parametrize(
    ("used", "allowed", "line"),
    [(0.523, 0.5, "0.52 s of 0.5 s"), (12.34, 12, "12.3 s of 12 s"), (3601.2, 3600, "3601 s of 3600 s")],
)
def test_4_5_the_line_of_a_wall_time_shows_fractions_of_a_second(used: float, allowed: float, line: str) -> None:
    (found,) = check_limits(Budget(max_wall_time_s=allowed), BudgetUsage(wall_time_s=used))
    assert limit_fault(found).user_message == f"max_wall_time_s is reached: {line}"


# -- a time limit of an agent's own ------------------------------------------------------------------------------------

LIMITED = [
    ("limited_team", "completed", "lead heard: "),
    ("limited_workflow", "degraded", "good"),
    ("limited_group", "degraded", "good"),
    ("limited_nested", "degraded", "good"),
    ("limited_fallback", "completed", "good"),
]


@pytest.mark.parametrize(("name", "phase", "output"), LIMITED)
async def test_4_5_an_agent_that_exceeds_its_wall_time_is_cut_and_has_failed_by_policy(
    bench: Bench, name: str, phase: str, output: str
) -> None:
    state = await settled(bench, name)
    assert not state.incidents
    assert (state.phase, state.anomalies) == (phase, 0)
    assert state.output.startswith(output)
    (agent,) = (node for node in state.nodes.values() if node.kind == "agent" and node.name == "bad")
    assert agent.phase == "timed_out"
    assert "of 0.05 s" in agent.error


async def test_4_5_a_models_call_that_is_under_way_is_cut(bench: Bench) -> None:
    state = await settled(bench, "limited_call")
    assert (state.phase, state.output) == ("degraded", "good")
    call = next(node for node in state.nodes.values() if node.kind == "llm")
    assert (call.phase, call.attempts) == ("timed_out", 1)
    assert "of 1 s" in call.error


@pytest.mark.parametrize(("name", "phase", "output"), LIMITED)
async def test_4_5_a_time_limit_holds_without_a_runtime(name: str, phase: str, output: str) -> None:
    result = await run(getattr(subagents, name), "go")
    assert result.output.startswith(output)
    assert result.state == phase


@pytest.mark.parametrize("streaming", [False, True], ids=["run", "stream"])
async def test_4_5_a_time_out_is_raised_as_the_seeds_class(streaming: bool) -> None:
    async def go() -> None:
        if streaming:
            async for _ in run.stream(subagents.limited_alone, "go"):
                pass
        else:
            await run(subagents.limited_alone, "go")

    with pytest.raises(TimeoutError, match=r"exceeded wall time: 0\.05 s") as caught:
        await go()
    assert isinstance(caught.value, CallRunnerError)
    assert caught.value.context["timeout_seconds"] == 0.05


async def test_4_5_the_state_of_an_agent_that_ran_out_of_time_is_timeout() -> None:
    state = RunState()
    with pytest.raises(TimeoutError):
        await call_runner(subagents.limited_alone, "go", state=state, provider=get_provider("scripted:subagents/stuck"))
    assert (state.status, state.nodes[0].status) == (RunNodeStatus.TIMEOUT, RunNodeStatus.TIMEOUT)


@pytest.mark.parametrize("name", ["limited_alone", "limited_budget"])
async def test_4_5_a_run_that_ran_out_of_time_unattended_is_interrupted(bench: Bench, name: str) -> None:
    async with bench.driving(enable_error_routing=False):
        state = await bench.ended(await bench.decisions.start(f"{SUBAGENTS}:{name}", "go", by=ME))
    assert state.phase == "interrupted"
    assert "of 0.05 s" in (state.error or "")


async def test_4_5_the_limit_is_asked_about_and_holds_after_the_death_of_the_process(bench: Bench) -> None:
    async with bench.driving():
        run_id = await bench.decisions.start(f"{SUBAGENTS}:limited_alone", "go", by=ME)
        (found,) = await bench.incidents(run_id)
    assert found.opened.options[0].id == "extend"
    await bench.answer(found, "extend", amount=0.05)
    async with bench.driving():
        state = await bench.until(run_id, lambda state: len(state.incidents) == 2)
        again = next(each for each in state.incidents.values() if each.open)
        assert again.opened.action["budget"]["allowed"] == 0.1


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "30"])
def test_4_5_a_limit_that_is_not_one_is_refused(limit: object) -> None:
    with pytest.raises(AgentConfigurationError, match="max_wall_time_s must be a number above 0, for example 30"):
        Agent(name="clerk", max_wall_time_s=limit)  # type: ignore[arg-type]
