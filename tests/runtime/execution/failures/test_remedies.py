"""Failures that heal without a person: other models, other agents, smaller requests, other plans."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from runtime.judgement.fault_handling import FaultHandling
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from tests.runtime.bench import ME, Bench

REPAIR = Path(__file__).parents[3] / "data" / "swarms" / "repair.py"


async def started(bench: Bench, name: str, text: str = "go", **more: object) -> str:
    return await bench.decisions.start(f"{REPAIR}:{name}", text, by=ME, **more)  # type: ignore[arg-type]


async def finished(bench: Bench, name: str, text: str = "go", **more: object) -> DurableRun:
    async with bench.driving(**more):  # type: ignore[arg-type]
        return await bench.ended(await started(bench, name, text))


def of(events: list[ev.JournalEvent], kind: type[ev.JournalEvent]) -> list[ev.JournalEvent]:
    return [event for event in events if isinstance(event, kind)]


async def test_models_stand_in_for_one_another_and_each_is_recorded(bench: Bench) -> None:
    state = await finished(bench, "chained")
    assert (state.phase, state.output) == ("completed", "good: go")
    assert bench.effects == ["ask badkey", "ask badkey2", "ask good"]
    (node,) = [node for node in state.nodes.values() if node.kind == "llm"]
    assert [found.to_model for found in node.fell_back] == ["scripted:repair/badkey2", "scripted:repair/good"]
    assert "nobody:at-all" in node.fell_back[-1].passed_over[0]
    assert node.attempts == 3
    assert state.anomalies == 0


async def test_a_transient_failure_spends_its_attempts_first(bench: Bench) -> None:
    state = await finished(bench, "flaky")
    assert state.output == "good: go"
    assert bench.effects == ["ask down", "ask down", "ask good"]


async def test_a_model_of_the_swarms_chain_and_of_everyones(bench: Bench) -> None:
    assert (await finished(bench, "by_swarm")).output == "good: go"
    assert (await finished(bench, "alone_and_poor", fallbacks=("scripted:repair/good",))).output == "good: go"


async def test_an_agent_stands_in_for_an_agent_without_anybody_being_asked(bench: Bench) -> None:
    state = await finished(bench, "stood_in")
    assert state.output == "good: good: go"
    assert not state.incidents
    chain = state.nodes["swarm(writer...)~0/writer~0"]
    assert [state.nodes[child].phase for child in chain.children] == ["failed", "failed", "succeeded"]
    assert [found.to for found in state.returned] == ["second", "third"]


@pytest.mark.parametrize(
    ("action", "heals"), [(None, True), ("fallback", True), ("raise", False), ("notify", False), ("queue", False)]
)
async def test_a_used_up_quota_is_what_the_configuration_says(bench: Bench, action: str | None, heals: bool) -> None:
    settings = {} if action is None else {"provider_settings": {"scripted": {"insufficient_quota_action": action}}}
    errors = FaultHandling.model_validate(settings)
    async with bench.driving(errors=errors):
        run = await started(bench, "poor")
        if heals:
            assert (await bench.ended(run)).output == "good: go"
            return
        (incident,) = await bench.incidents(run)
    opened = incident.opened
    assert opened.fault.cause == "quota_exhausted"
    if action == "queue":
        assert opened.safe == "wait_retry"
        assert opened.deadline is not None
        assert 3590 < (opened.deadline - opened.ts).total_seconds() < 3610
    else:
        assert (opened.safe, opened.deadline) == ("abort", None)


async def test_a_conversation_that_is_too_large_is_made_smaller_and_stays_so(bench: Bench) -> None:
    state = await finished(bench, "fits")
    assert (state.phase, state.output) == ("completed", "read 2 pages")
    events = await bench.journal.read(state.id)
    (made,) = of(events, ev.StepCompacted)
    assert isinstance(made, ev.StepCompacted)
    assert made.bytes_after < made.bytes_before
    assert made.cuts
    assert fold_events(events).nodes[made.node_id].compactions == 1


async def test_what_two_rounds_do_not_make_small_enough_is_put_before_a_person(bench: Bench) -> None:
    async with bench.driving():
        run = await started(bench, "never_fits")
        (incident,) = await bench.incidents(run)
        state = await bench.state(run)
    assert incident.opened.fault.cause == "context_overflow"
    assert 1 <= state.nodes[incident.opened.node_id].compactions <= 2
    assert state.nodes[incident.opened.node_id].attempts <= 3


async def test_a_workers_failure_goes_back_to_the_lead_with_the_reason(bench: Bench) -> None:
    state = await finished(bench, "team", "once")
    assert (state.phase, state.output) == ("completed", "lead: measured 21 degrees")  # the second plan did it all
    assert bench.effects.count("measure mars") == 1
    (back,) = state.returned
    assert (back.remedy, back.to) == ("replan", "lead")
    assert "'measurer' could not do its part: The sensor has no data" in back.reason
    assert "SENSOR_DATA, TIME_RANGE" in back.reason
    assert not state.incidents


async def test_a_lead_that_plans_in_vain_is_asked_twice_and_then_a_person_is(bench: Bench) -> None:
    async with bench.driving():
        run = await started(bench, "team", "always")
        (incident,) = await bench.incidents(run)
        state = await bench.state(run)
    assert [found.remedy for found in state.returned] == ["replan", "replan"]
    assert [line for line in bench.effects if line.startswith("measure")] == [
        "measure mars",
        "measure venus",
        "measure pluto",
    ]
    assert incident.opened.fault.rule_id == "author.replanning"


async def test_an_agent_without_a_planner_plans_by_itself(bench: Bench) -> None:
    state = await finished(bench, "selfish")
    assert state.output == "self: 21 degrees"
    assert [found.to for found in state.returned] == ["selfish"]


async def test_a_workflows_planner_gets_the_task_again_with_the_reason(bench: Bench) -> None:
    state = await finished(bench, "planned")
    assert (state.phase, state.output) == ("completed", "good: measured 21 degrees")
    assert [node.phase for node in state.nodes.values() if node.name == "planner"] == ["succeeded", "succeeded"]


async def test_control_returns_to_the_first_agent_of_a_handoff_swarm_once(bench: Bench) -> None:
    state = await finished(bench, "routed")
    assert state.phase == "completed"
    assert state.output.startswith("good: ")
    assert [(found.remedy, found.to) for found in state.returned] == [("reroute", "router")]
    async with bench.driving():
        (incident,) = await bench.incidents(await started(bench, "misrouted"))
    assert incident.opened.fault.cause == "wrong_target"


async def test_critical_asks_and_fatal_ends(bench: Bench) -> None:
    async with bench.driving():
        (incident,) = await bench.incidents(await started(bench, "critical"))
        assert (incident.opened.fault.impact, incident.opened.message) == ("run", "bad key") or incident.opened.message
        state = await bench.ended(await started(bench, "fatal"))
    assert state.phase == "failed"
    assert state.error.startswith("author: ")
    assert not state.incidents


async def test_an_authors_retries_are_spent_before_another_model_is_asked(bench: Bench) -> None:
    state = await finished(bench, "retriable")
    assert state.output == "good: go"
    assert bench.effects == ["ask badkey"] * 3 + ["ask good"]


async def test_a_retry_policy_that_cannot_be_used_is_said_and_left(bench: Bench) -> None:
    state = await finished(bench, "odd_policy", enable_error_routing=False)
    assert bench.effects == ["ask down"] * 2
    warnings = [text for node in state.nodes.values() for text in node.warnings]
    assert warnings == [
        "get_retry_policy() of scripted:repair/down cannot be used: ValueError: max_attempts is 'three'; give a number"
    ]


@pytest.mark.parametrize(
    ("lists", "asked", "impact"),
    [
        ({}, 1, "node"),
        ({"classify_as_critical": ["ModelError"]}, 1, "run"),
        ({"classify_as_recoverable": ["ModelError"]}, 1, "node"),
        ({"rules": [{"id": "ours", "text": "bad key", "cause": "service_unavailable"}]}, 2, "node"),
        ({"classify_as_critical": ["ModelError"], "use_error_classification": False}, 1, "node"),
    ],
)
async def test_the_configurations_lists_and_rules_are_in_force(
    bench: Bench, lists: dict[str, object], asked: int, impact: str
) -> None:
    async with bench.driving(errors=FaultHandling.model_validate(lists)):
        (incident,) = await bench.incidents(await started(bench, "strict"))
    assert len(bench.effects) == asked
    assert incident.opened.fault.impact == impact


async def test_every_remedy_is_the_same_in_a_later_life(bench: Bench) -> None:
    """Everything that a finished run recorded is recalled: rewound to its last step, it asks no other again."""
    for name, text in (("team", "once"), ("stood_in", "go"), ("routed", "go"), ("planned", "go"), ("fits", "go")):
        async with bench.driving():
            run = await started(bench, name, text)
            before = await bench.ended(run)
        asked = len(bench.effects)
        last = [node for node in before.nodes.values() if node.kind == "llm"][-1]
        await bench.journal.post(run, ev.RewindRequested(node_id=last.id, by=ME))
        async with bench.driving():
            after = await bench.until(run, lambda s: s.lives >= 2 and s.terminal)
        assert (after.phase, after.output) == (before.phase, before.output), name
        assert len(bench.effects) == asked + last.attempts, name


async def test_retries_are_logged_in_the_seeds_words(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "runtime.faults"):
        await finished(bench, "flaky")
    said = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "runtime.faults"]
    level, line = said[0]
    assert level == "WARNING"
    assert line.startswith("Server error 503 from repair/down. Retry 1/1 after 0.0")
