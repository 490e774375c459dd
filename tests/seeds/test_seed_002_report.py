"""Seed 002: the report's task, objectives and earlier plans (section 4.3 of the findings)."""

from __future__ import annotations

from pathlib import Path

from runtime.judgement.reports.incident_report import IncidentReport, build_report
from tests.runtime.bench import ME, Bench

REPAIR = Path(__file__).parents[1] / "data" / "swarms" / "repair.py"


async def report_of(bench: Bench, name: str, text: str) -> IncidentReport:
    async with bench.driving():
        run = await bench.decisions.start(f"{REPAIR}:{name}", text, by=ME)
        await bench.incidents(run)
        state = await bench.state(run)
    (incident,) = state.open_incidents
    return build_report(state, incident.opened)


async def test_the_task_is_the_question_also_after_a_handoff_and_other_plans_are_told(bench: Bench) -> None:
    report = await report_of(bench, "misrouted", "what is the weather?")
    assert report.capability == "wrong"
    assert report.task == "what is the weather?"
    (replan,) = report.replans
    assert replan.startswith("reroute, to router: 'wrong' could not do its part: wrong is the wrong one for this")
    assert "**Other Plans:**" in report.markdown()


async def test_the_summary_has_objectives(bench: Bench) -> None:
    report = await report_of(bench, "team", "measure far away")
    objectives = [line.objective for line in report.summary]
    assert 'tool measure: {"where": "mars"}' in objectives
    assert "agent measurer: mars" in objectives
