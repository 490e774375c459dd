"""What replaces parts of a step's request, and whose word holds where several speak."""

from __future__ import annotations

from typing import Any

from runtime.execution.step_overrides import StepOverrides, recorded_overrides
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import Cause, Classification, Effect, Origin, Persistence

AGENT = "writer~0"
QUESTION = f"{AGENT}/llm~0"
LATER = f"{AGENT}/llm~1"
FAULT = Classification(
    origin=Origin.MODEL, cause=Cause.SERVICE_UNAVAILABLE, persistence=Persistence.TRANSIENT, effect=Effect.NONE
)


class Run:
    """A run's state, event by event."""

    def __init__(self) -> None:
        self.state = DurableRun("r1")
        self.apply(ev.NodeOpened(node_id=AGENT, kind="agent", name="writer"))
        for node_id in (QUESTION, LATER):
            asked: dict[str, Any] = {"kind": "llm", "name": "p:first", "agent": "writer", "requested": {}}
            self.apply(ev.StepRequested(node_id=node_id, parent_id=AGENT, **asked))

    def apply(self, event: ev.JournalEvent) -> None:
        self.state.apply(event)

    def answer(self, node_id: str, option: str, params: dict[str, Any], reach: Any = "attempt") -> None:
        incident_id = f"i-{len(self.state.incidents)}"
        self.apply(ev.IncidentOpened(node_id=node_id, parent_id=AGENT, incident_id=incident_id, fault=FAULT))
        self.apply(
            ev.IncidentAnswered(
                node_id=node_id, incident_id=incident_id, revision=1, option=option, params=params, reach=reach
            )
        )

    def overrides(self, node_id: str) -> StepOverrides:
        return recorded_overrides(self.state, "llm", node_id, AGENT)


def test_only_what_is_overridden_is_a_change() -> None:
    assert StepOverrides().as_changes() == {}
    assert StepOverrides(arguments={}).as_changes() == {"arguments": {}}
    overrides = StepOverrides(model="p:other", messages=[{"role": "user"}])
    assert overrides.as_changes() == {"model": "p:other", "messages": [{"role": "user"}]}


def test_answers_that_change_nothing_leave_the_overrides_as_they_are() -> None:
    overrides = StepOverrides(arguments={"text": "x"}, model="p:m")
    for option in ("retry", "wait_retry", "grant", "skip", "abort", "extend", "reset"):
        overrides.apply_answer(ev.IncidentAnswered(incident_id="i", revision=1, option=option))
    assert overrides == StepOverrides(arguments={"text": "x"}, model="p:m")


def test_a_rewind_changes_the_step_it_names_and_below_an_agent_its_model_and_first_question() -> None:
    run = Run()
    run.state.changes = {AGENT: {"model": "p:rewound", "messages": [{"role": "user"}], "arguments": {"a": 1}}}
    assert run.overrides(QUESTION) == StepOverrides(model="p:rewound", messages=[{"role": "user"}])
    assert run.overrides(LATER) == StepOverrides(model="p:rewound")
    run.state.changes = {QUESTION: {"arguments": {"a": 1}}}
    assert run.overrides(QUESTION) == StepOverrides(arguments={"a": 1})
    assert run.overrides(LATER) == StepOverrides()


def test_an_operators_model_for_the_agent_or_the_run_goes_over_a_rewind_and_one_for_an_attempt_stays_there() -> None:
    run = Run()
    run.state.changes = {AGENT: {"model": "p:rewound"}}
    run.answer(QUESTION, "switch_model", {"model": "p:once"})
    assert run.overrides(LATER).model == "p:rewound"
    run.answer(QUESTION, "switch_model", {"model": "p:agent"}, "agent")
    assert run.overrides(LATER).model == "p:agent"
    run.answer("elsewhere~0/llm~0", "switch_model", {"model": "p:run"}, "run")
    assert run.overrides(LATER).model == "p:run"


def test_an_answer_at_the_step_itself_goes_over_one_for_the_run() -> None:
    run = Run()
    run.answer(QUESTION, "switch_model", {"model": "p:own"})
    run.answer(QUESTION, "edit", {"arguments": {"text": "y"}})
    run.answer("elsewhere~0/llm~0", "switch_model", {"model": "p:run"}, "run")
    assert run.overrides(QUESTION) == StepOverrides(arguments={"text": "y"}, model="p:own")


def test_a_fallback_model_holds_until_an_operator_chooses_one_after_it() -> None:
    run = Run()
    run.answer(QUESTION, "switch_model", {"model": "p:own"})
    fell_back = ev.StepFellBack(node_id=QUESTION, parent_id=AGENT, from_model="p:own", to_model="p:fallback")
    run.apply(fell_back)
    assert run.overrides(QUESTION).model == "p:fallback"
    run.answer(QUESTION, "switch_model", {"model": "p:chosen"})
    assert run.overrides(QUESTION).model == "p:chosen"
