"""Every option id of DESIGN section 6, end to end: the run goes on as it says, driven or not when it was answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.recovery.budget import Budget
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.record.journal import AnswerAccepted
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from tests.runtime.bench import ME, Bench

SWARMS = Path(__file__).parents[2] / "data" / "swarms" / "options.py"

Case = tuple[str, str, dict[str, Any], str, str]
"""swarm, option, parameters, the run's end, its output (or the error of a run that has none)"""

CASES: list[Case] = [
    ("waker", "retry", {}, "completed", "then: waking answers"),
    ("hurried", "wait_retry", {"seconds": 0.01}, "completed", "after the wait"),
    ("locked", "switch_model", {"model": "scripted:options/open"}, "completed", "by another model: go"),
    ("reacher", "edit", {"arguments": {"host": "up"}}, "completed", "then: up answers"),
    ("asker", "input", {"value": "the left one"}, "completed", "then: the operator says the left one"),
    ("asker", "input", {"value": ""}, "completed", "then: the operator says "),
    ("saver", "grant", {"for": "once"}, "completed", "then: saved"),
    ("saver", "grant", {"for": "run"}, "completed", "then: saved"),
    ("saver", "grant", {"for": "swarm"}, "completed", "then: saved"),
    ("saver", "grant", {"for": "always", "until": "7d"}, "completed", "then: saved"),
    ("saver", "deny", {"message": "use /tmp"}, "completed", "then: Denied by the operator: use /tmp"),
    ("reacher", "deny", {"message": "ask db2"}, "completed", "then: Denied by the operator: ask db2"),
    ("reacher", "result", {"value": "it was up"}, "completed", "then: it was up"),
    ("locked", "result", {"value": "by hand"}, "completed", "by hand"),
    ("reacher", "skip", {"value": "left out"}, "completed", "then: left out"),
    ("locked", "skip", {"value": "no answer"}, "degraded", "no answer"),
    ("asker", "skip", {}, "completed", "then: The operator did not answer: which?"),
    ("pingpong", "accept", {}, "degraded", "ping"),
    ("reacher", "extend", {"amount": 5}, "completed", "then: up answers"),
    ("broken", "reset", {}, "completed", "the breaker let it"),
    ("hopeless", "acknowledge", {}, "failed", "no memory for so much"),
    ("reacher", "abort", {"value": "enough"}, "aborted", "enough"),
    ("reacher", "abort", {"reach": "agent"}, "failed", "tester ended this branch"),
]


def test_no_option_is_left_out() -> None:
    assert {option for _, option, *_ in CASES} == set(OPTIONS)


def conditions(option: str) -> dict[str, Any]:
    """What must hold for the option to be offered."""
    if option == "extend":
        return {"budget": Budget(max_tool_calls=0)}
    if option == "reset":
        # Open after the first of a step's attempts: the second finds it so.
        return {"errors": FaultHandling(circuit_breaker_threshold=1, circuit_breaker_timeout=3000)}
    return {}


async def answered(bench: Bench, run: str, option: str, params: dict[str, Any]) -> None:
    (incident,) = await bench.incidents(run)
    given = dict(params)
    reach = given.pop("reach", None)
    outcome = await bench.decisions.answer(incident.opened.incident_id, option, given, reach=reach, by=ME)
    assert isinstance(outcome, AnswerAccepted), outcome


async def ended(bench: Bench, run: str, seen: int) -> DurableRun:
    """The run's end. What an extended budget had held back is asked about by itself, in an incident after `seen`."""
    state = await bench.until(run, lambda s: s.terminal or len(s.incidents) > seen)
    if state.terminal:
        return state
    (incident,) = await bench.incidents(run)
    await bench.answer(incident, "edit", arguments={"host": "up"})
    return await bench.ended(run)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["while driven", "while not driven"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]} {' '.join(map(str, case[2].values()))}")
async def test_the_run_goes_on_as_the_option_says(bench: Bench, case: Case, elsewhere: bool) -> None:
    name, option, params, phase, said = case
    more = conditions(option)
    run = await bench.decisions.start(f"{SWARMS}:{name}", "go", by=ME)
    if elsewhere:
        async with bench.driving(**more):
            await bench.until(run, lambda s: option in {o.id for i in s.open_incidents for o in i.opened.options})
        await answered(bench, run, option, params)
    async with bench.driving(**more):
        if not elsewhere:
            await answered(bench, run, option, params)
        state = await ended(bench, run, len((await bench.state(run)).incidents))
    assert state.phase == phase
    assert (state.output or state.error).partition("\n")[0].endswith(said)
    assert state.anomalies == 0
    assert not state.open_incidents
    answers = [e for e in await bench.journal.read(run) if isinstance(e, ev.IncidentAnswered) and e.option == option]
    assert [each.by for each in answers] == [ME]
    grants = await bench.journal.grants()
    assert len(grants) == (option == "grant" and params.get("for") != "once")
