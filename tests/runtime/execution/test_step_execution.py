"""A step has one owner, and one way to end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, cast, get_args

import pytest

from orbiter._internal.loop.value_step import ValueCodec
from orbiter.steps import Aborted, Answer, Place, Skipped, Step, Traits
from orbiter.types import Usage
from runtime.execution.durable_scope import DurableScope
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.failures.stall_detector import let_go_on
from runtime.execution.gates.blocked import Blocked
from runtime.execution.gates.breaker import NO_BREAKER, StepBreaker
from runtime.execution.node_faults import answer_for_body
from runtime.execution.resolution import apply_answer
from runtime.execution.run_session import RunSession
from runtime.execution.step_execution import FinishedTwiceError, StepExecution
from runtime.execution.step_overrides import StepOverrides
from runtime.execution.step_result import NO_RESULT, AttemptEnd
from runtime.judgement.recovery.option_spec import AnswerEffect, OptionSpec
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.fault_taxonomy import Cause, Classification, Effect, Impact, Origin, Persistence
from tests.runtime.bench import ME, Bench

NODE = "note~0"
REFUSED = Classification(
    origin=Origin.TOOL,
    cause=Cause.POLICY_DENIED,
    persistence=Persistence.NEEDS_CHANGE,
    effect=Effect.NOT_ATTEMPTED,
    impact=Impact.ABSORBED,
    user_message="not permitted",
)


class NoteCodec(ValueCodec):
    """A tool's arguments, as JSON under one key; every call costs three tokens."""

    def editable(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"arguments": arguments}

    def replace(self, arguments: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        return dict(changes.get("arguments", arguments))

    def usage(self, result: Any) -> Usage:
        return Usage(input_tokens=1, output_tokens=2)


class Hooks:
    """POST hooks that keep what they were given."""

    def __init__(self) -> None:
        self.given: list[tuple[Any, Any]] = []
        self.raises: Exception | None = None

    async def __call__(self, arguments: Any, result: Any) -> None:
        self.given.append((arguments, result))
        if self.raises is not None:
            raise self.raises


async def _call(arguments: dict[str, Any]) -> str:
    return str(arguments["text"])


@pytest.fixture
def hooks() -> Hooks:
    return Hooks()


@pytest.fixture
async def execution(bench: Bench, hooks: Hooks) -> StepExecution:
    """A step of a run whose lease this test holds."""
    run_id = await bench.start("plain")
    lease = await bench.journal.claim(run_id, "test", 60.0)
    assert lease is not None
    config = ExecutionConfig(workspace=str(bench.root))
    session = RunSession(bench.journal, lease, fold_events(await bench.journal.read(run_id)), config, ev.utc_now)
    await session.record(ev.RunStarted(epoch=lease.epoch, owner="test"))
    root = DurableScope(session, "", "root", session.state.ref)
    arguments = {"text": "x"}
    step: Step[Any, Any] = Step("tool", "note", "writer", Place(0), arguments, _call, NoteCodec(), after=hooks)
    return StepExecution(session, step, NODE, "", session.tracker.open_activity(None), root, {"text": "x"})


async def written(execution: StepExecution) -> list[ev.JournalEvent]:
    """The events of the step, once all are written."""
    await execution.session.writer.flush()
    recorded = await execution.session.journal.read(execution.state.id)
    return [event for event in recorded if event.node_id == NODE]


async def test_a_result_is_written_then_hooks_run_then_the_step_is_settled(
    execution: StepExecution, hooks: Hooks
) -> None:
    done = await execution.finish("a note", attempt=AttemptEnd(NODE, "", 1, {"text": "changed"}, seconds=0.5))
    assert done.result == "a note"
    assert hooks.given == [({"text": "changed"}, "a note")]
    ended, settled = await written(execution)
    assert isinstance(ended, ev.StepEnded)
    assert (ended.result, ended.settled, ended.attempt, ended.seconds) == ("a note", False, 1, 0.5)
    assert (ended.input_tokens, ended.output_tokens) == (1, 2)
    assert isinstance(settled, ev.StepSettled)


async def test_a_step_is_ended_once(execution: StepExecution, hooks: Hooks) -> None:
    await execution.finish("a note", attempt=AttemptEnd(NODE, "", 1, {}))
    before = await written(execution)
    with pytest.raises(FinishedTwiceError, match="'note~0' was ended a second time"):
        await execution.finish("another", by=ME)
    assert await written(execution) == before
    assert len(hooks.given) == 1


async def test_a_hook_that_fails_leaves_the_end_written_and_the_step_ended(
    execution: StepExecution, hooks: Hooks
) -> None:
    hooks.raises = ValueError("a hook of the user's")
    with pytest.raises(ValueError, match="a hook of the user's"):
        await execution.finish("a note", attempt=AttemptEnd(NODE, "", 1, {}))
    assert [type(event) for event in await written(execution)] == [ev.StepEnded]
    with pytest.raises(FinishedTwiceError):
        await execution.finish("a note", attempt=AttemptEnd(NODE, "", 1, {}))


async def test_a_refusal_introduces_the_step_and_tells_the_model(execution: StepExecution, hooks: Hooks) -> None:
    await execution.finish("denied", fault=REFUSED, absorbed=True)
    requested, ended, settled = await written(execution)
    assert isinstance(requested, ev.StepRequested)
    assert isinstance(ended, ev.StepEnded)
    assert (ended.fault, ended.absorbed, ended.result, ended.attempt) == (REFUSED, True, "denied", 0)
    assert (ended.input_tokens, ended.output_tokens) == (0, 0)  # no call was made
    assert hooks.given == [({"text": "x"}, "denied")]
    assert isinstance(settled, ev.StepSettled)


@pytest.mark.parametrize(
    ("result", "more", "expected"),
    [
        ("by hand", {}, {"result": "by hand"}),
        ("skipped", {"skipped": True}, {"result": "skipped", "skipped": True}),
        (NO_RESULT, {"written": "instead", "skipped": True}, {"result": "instead", "skipped": True}),
        ("hunter2", {"secret": True}, {"result": None, "secret": True, "settled": False}),
    ],
)
async def test_what_a_person_gives_runs_no_hooks(
    execution: StepExecution, hooks: Hooks, result: Any, more: dict[str, Any], expected: dict[str, Any]
) -> None:
    done = await execution.finish(result, by=ME, **more)
    assert done.result is result
    ended = (await written(execution))[-1]
    assert isinstance(ended, ev.StepEnded)
    assert ended.by == ME
    assert {"settled": True} | expected == {key: getattr(ended, key) for key in {"settled": True} | expected}
    assert hooks.given == []


async def test_what_goes_back_into_the_swarm_is_written_with_the_end_of_its_attempt(
    execution: StepExecution, hooks: Hooks
) -> None:
    returned = ev.ControlReturned(node_id=NODE, remedy="degrade", scope="", reason="could not")
    attempt = AttemptEnd(NODE, "", 2, {}, fault=REFUSED, effect_unknown=True)
    await execution.finish(NO_RESULT, attempt=attempt, absorbed=True, beside=(returned,))
    ended, after = await written(execution)
    assert isinstance(ended, ev.StepEnded)
    assert (ended.result, ended.absorbed, ended.effect_unknown, ended.model_told) == (None, True, True, False)
    assert isinstance(after, ev.ControlReturned)
    assert hooks.given == []


def test_overrides_decide_what_an_attempt_uses_and_what_a_person_is_shown(execution: StepExecution) -> None:
    assert execution.tool_arguments == {"text": "x"}
    execution.overrides = StepOverrides(arguments={"text": "y"})
    assert execution.tool_arguments == {"text": "y"}
    assert execution.action == {"tool": "note", "arguments": {"text": "y"}}
    assert execution.model == ""
    draft = execution.draft(Blocked(REFUSED, need="fs.write:/a"))
    assert draft.action == {"tool": "note", "arguments": {"text": "y"}, "permission": "fs.write:/a"}
    assert draft.fault.impact is Impact.NODE  # what a person is asked about was not absorbed


def test_a_tool_that_must_not_be_repeated_says_so(execution: StepExecution) -> None:
    assert not execution.repeatable
    execution.step.traits = Traits(idempotent=True)
    assert execution.repeatable


# -- what an answer does: every effect has a case ------------------------------------------------------------------

Apply = Callable[[StepExecution, ev.IncidentAnswered], Awaitable[object]]


async def _at_step(execution: StepExecution, answer: ev.IncidentAnswered) -> object:
    return await apply_answer(execution, answer)


async def _at_node(execution: StepExecution, answer: ev.IncidentAnswered) -> object:
    return answer_for_body(execution.session, answer, ValueError("what the body raised"))


async def _at_circle(execution: StepExecution, answer: ev.IncidentAnswered) -> object:
    let_go_on(execution.session, answer)
    return None


async def answered(execution: StepExecution, option: str) -> ev.IncidentAnswered:
    """An answer for this branch alone, to an incident of the step."""
    opened = ev.IncidentOpened(incident_id="i-1", node_id=NODE, fault=REFUSED, message="not permitted")
    params = {"value": "by hand", "arguments": {"text": "y"}, "model": "scripted:m", "seconds": 0}
    answer = ev.IncidentAnswered(
        incident_id="i-1", revision=opened.revision, option=option, params=params, reach="attempt", by=ME
    )
    await execution.session.record(opened)
    await execution.session.record(answer)
    return answer


async def outcome(execution: StepExecution, apply: Apply, option: str) -> object:
    """What an answer gives, or what it raises for the branch."""
    try:
        return await apply(execution, await answered(execution, option))
    except (Aborted, Skipped) as exc:
        return exc


@pytest.fixture
def new_effect() -> Iterator[str]:
    """An option whose effect is in no `match`, as if a programmer had added it to `AnswerEffect` alone."""
    spec = OptionSpec(id="improvise", label="Improvise", key="w", does="", effect=cast("AnswerEffect", "improvise"))
    OPTIONS[spec.id] = spec
    yield spec.id
    del OPTIONS[spec.id]


@pytest.mark.parametrize("apply", [_at_step, _at_node, _at_circle])
async def test_an_effect_without_a_case_is_refused_and_not_taken_for_another_attempt(
    execution: StepExecution, apply: Apply, new_effect: str
) -> None:
    with pytest.raises(AssertionError, match="improvise"):
        await outcome(execution, apply, new_effect)


@pytest.mark.parametrize("effect", get_args(AnswerEffect))
async def test_every_effect_has_a_case_at_a_step_a_node_and_a_circle(execution: StepExecution, effect: str) -> None:
    (option,) = [each.id for each in OPTIONS.values() if each.effect == effect]
    again = ("retry", "wait_retry", "switch_model", "edit", "grant", "accept", "extend", "reset")
    body_again, body_ends = ("retry", "wait_retry", "grant"), ("deny", "acknowledge", "abort")
    assert (await outcome(execution, _at_node, option) == Answer("retry", "by hand")) == (effect in body_again)
    assert isinstance(await outcome(execution, _at_node, option), Aborted) == (effect in body_ends)
    assert (await outcome(execution, _at_circle, option) is None) == (effect not in ("skip", "acknowledge", "abort"))
    assert (await outcome(execution, _at_step, option) is None) == (effect in again)


async def test_the_word_of_a_newer_program_is_another_attempt_at_a_step(execution: StepExecution) -> None:
    assert await outcome(execution, _at_step, "levitate") is None
    assert await outcome(execution, _at_node, "levitate") == Answer("levitate", "by hand")


async def test_a_refused_call_says_nothing_of_its_tool_until_a_person_gave_other_arguments(
    execution: StepExecution,
) -> None:
    execution.step.refused = True
    assert (execution.repeatable, execution.breaker_key, execution.breaker) == (True, "", NO_BREAKER)
    execution.overrides.arguments = {"text": "y"}
    assert (execution.refused, execution.repeatable) == (False, False)
    assert isinstance(execution.breaker, StepBreaker)
    assert execution.breaker.key == execution.breaker_key == f"tool:{execution.step.name}"
