"""Circles and standstills: an operator is asked, nothing breaks."""

from __future__ import annotations

from runtime.record.state import events as ev
from tests.runtime.bench import Bench
from tests.runtime.execution.failures.test_remedies import finished, started


async def test_agents_that_hand_on_in_a_circle_are_asked_about_once_a_while(bench: Bench) -> None:
    async with bench.driving(handoff_rounds=2):
        run = await started(bench, "circle")
        (incident,) = await bench.incidents(run)
        assert incident.opened.fault.rule_id == "stall.handoff-cycle"
        assert "ping → pong → ping" in incident.opened.message
        asked = len(bench.effects)
        await bench.answer(incident, "retry")
        await bench.until(run, lambda s: len(s.incidents) == 2)
        assert len(bench.effects) == asked + 4 - 1  # the one that was held back counts for the next circle
        (again,) = await bench.incidents(run)
        state = await bench.ended_by(again, "abort")
    assert state.phase == "aborted"


async def test_with_nobody_to_ask_the_limit_of_handoffs_decides(bench: Bench) -> None:
    state = await finished(bench, "circle", handoff_rounds=2, enable_error_routing=False)
    assert state.phase == "failed"
    assert "Max handoffs (20)" in state.error
    assert any("Handed on in a circle" in text for node in state.nodes.values() for text in node.warnings)


async def test_a_standstill_is_told_and_closes_by_itself(bench: Bench) -> None:
    async with bench.driving(stall_s=0.1):
        run = await started(bench, "slow")
        (incident,) = await bench.incidents(run)
        assert incident.opened.fault.rule_id == "stall.no-progress"
        assert [option.id for option in incident.opened.options] == ["acknowledge", "abort"]
        assert incident.opened.action["at_work"] == ["scripted:repair/slow"]
        state = await bench.ended(run)
    assert (state.phase, state.output, state.anomalies) == ("completed", "at last", 0)
    assert not state.open_incidents


async def test_a_standstill_can_be_ended_or_let_go_on(bench: Bench) -> None:
    go = bench.root / "go"
    async with bench.driving(stall_s=0.1):
        run = await started(bench, "held")
        (incident,) = await bench.incidents(run)
        await bench.answer(incident, "acknowledge")
        go.touch()
        state = await bench.ended(run)
        assert state.output == "at last"
        go.unlink()
        other = await started(bench, "held")
        (incident,) = await bench.incidents(other)
        state = await bench.ended_by(incident, "abort", reason="too slow")
    assert (state.phase, state.error) == ("aborted", "too slow")
    results = [event for event in await bench.journal.read(other) if isinstance(event, ev.StepEnded) and event.result]
    assert [event.node_id.rpartition("/")[2] for event in results] == ["llm~0"]  # the tool was cut off
