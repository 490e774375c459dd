"""Which answers each class of fault offers, where, as one table; and what holds for all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.judgement.recovery.option_spec import FaultSite
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.options import (
    STEP_KINDS,
    make_option,
    options_for,
    why_no_retry,
)
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)

T, N, P, U = Persistence.TRANSIENT, Persistence.NEEDS_CHANGE, Persistence.PERMANENT, Persistence.UNKNOWN
WHERES: tuple[FaultSite, ...] = ("llm", "tool", "value", "agent", "group", "swarm", "run")


def fault(cause: Cause, persistence: Persistence, effect: Effect = Effect.NONE, **more: object) -> Classification:
    return Classification(origin=Origin.RUNNER, cause=cause, persistence=persistence, effect=effect, **more)  # type: ignore[arg-type]


def ids(found: Classification, where: FaultSite, **more: object) -> str:
    return " ".join(each.id for each in options_for(found, where, **more)[0])  # type: ignore[arg-type]


TABLE: list[tuple[FaultSite, Cause, Persistence, str]] = [
    # a model's call
    ("llm", Cause.RATE_LIMITED, T, "wait_retry retry switch_model result skip abort"),
    ("llm", Cause.QUOTA_EXHAUSTED, N, "retry switch_model result skip abort"),
    ("llm", Cause.AUTH_FAILED, N, "retry switch_model result skip abort"),
    ("llm", Cause.PERMISSION_DENIED, N, "retry switch_model result skip abort"),
    ("llm", Cause.MODEL_UNKNOWN, N, "switch_model result skip abort"),
    ("llm", Cause.CONTEXT_OVERFLOW, N, "switch_model result skip abort"),
    ("llm", Cause.PAYLOAD_TOO_LARGE, N, "switch_model result skip abort"),
    ("llm", Cause.BAD_REQUEST, P, "switch_model result skip abort"),
    ("llm", Cause.BAD_REQUEST, N, "retry switch_model result skip abort"),
    ("llm", Cause.SERVICE_UNAVAILABLE, T, "retry switch_model result skip abort"),
    ("llm", Cause.NETWORK, T, "retry switch_model result skip abort"),
    ("llm", Cause.TIMEOUT, T, "retry switch_model result skip abort"),
    ("llm", Cause.EMPTY_COMPLETION, T, "retry switch_model result skip abort"),
    ("llm", Cause.REFUSED, N, "retry switch_model result skip abort"),
    ("llm", Cause.CIRCUIT_OPEN, T, "wait_retry reset switch_model result skip abort"),
    ("llm", Cause.LIMIT_REACHED, N, "extend result skip abort"),
    ("llm", Cause.CONFIG_INVALID, N, "switch_model result skip abort"),
    ("llm", Cause.UNKNOWN, U, "retry switch_model result skip abort"),
    ("llm", Cause.UNKNOWN, P, "switch_model result skip abort"),
    # a tool's call
    ("tool", Cause.TOOL_FAILED, T, "retry edit result deny skip abort"),
    ("tool", Cause.NETWORK, T, "retry edit result deny skip abort"),
    ("tool", Cause.TIMEOUT, T, "retry edit result deny skip abort"),
    ("tool", Cause.NOT_FOUND, N, "retry edit result deny skip abort"),
    ("tool", Cause.ARGS_INVALID, N, "edit result deny skip abort"),
    ("tool", Cause.CONFIG_INVALID, N, "edit result deny skip abort"),
    ("tool", Cause.UNKNOWN, P, "edit result deny skip abort"),
    ("tool", Cause.RATE_LIMITED, T, "wait_retry retry edit result deny skip abort"),
    ("tool", Cause.CIRCUIT_OPEN, T, "wait_retry reset result deny skip abort"),
    ("tool", Cause.LIMIT_REACHED, N, "extend result deny skip abort"),
    # nodes whose body is done again
    ("agent", Cause.OUTPUT_INVALID, N, "input retry result skip abort"),
    ("agent", Cause.ARGS_INVALID, N, "input retry skip abort"),
    ("agent", Cause.LOOP_DETECTED, N, "input retry skip abort"),
    ("agent", Cause.RATE_LIMITED, T, "wait_retry retry skip abort"),
    ("agent", Cause.CONFIG_INVALID, N, "skip abort"),
    ("agent", Cause.INTERNAL, N, "retry skip abort"),
    ("group", Cause.DEPENDENCY_FAILED, N, "retry accept skip abort"),
    ("group", Cause.DEPENDENCY_FAILED, P, "accept skip abort"),
    ("swarm", Cause.DEPENDENCY_FAILED, N, "retry accept abort"),
    ("swarm", Cause.LIMIT_REACHED, N, "accept abort"),
    ("swarm", Cause.CONFIG_INVALID, P, "abort"),
    ("run", Cause.CONFIG_INVALID, N, "retry abort"),
    ("run", Cause.NOT_FOUND, N, "retry abort"),
    ("run", Cause.INTERNAL, N, "retry abort"),
]


@pytest.mark.parametrize(("where", "cause", "persistence", "expected"), TABLE)
def test_each_class_offers_exactly_what_can_work(
    where: FaultSite, cause: Cause, persistence: Persistence, expected: str
) -> None:
    assert ids(fault(cause, persistence), where) == expected


def test_every_cause_stands_in_the_table_where_it_has_options_of_its_own() -> None:
    usual: dict[FaultSite, str] = {
        "llm": "retry switch_model result skip abort",
        "tool": "retry edit result deny skip abort",
    }
    listed = {(where, cause) for where, cause, _, _ in TABLE}
    listed |= {("tool", cause) for cause in (Cause.MODEL_UNKNOWN, Cause.CONTEXT_OVERFLOW, Cause.PAYLOAD_TOO_LARGE)}
    for where, expected in usual.items():
        for cause in set(Cause) - {Cause.MISSING_INPUT}:
            if (where, cause) not in listed:
                assert ids(fault(cause, T), where) == expected, cause


def test_a_repetition_of_what_may_have_happened_needs_a_look_also_after_a_wait() -> None:
    unknown = Effect.UNKNOWN
    for found in (fault(Cause.RATE_LIMITED, T, unknown), fault(Cause.TIMEOUT, T, unknown, retry_after_s=30)):
        offered = {each.id: each for each in options_for(found, "tool")[0]}
        assert offered["wait_retry"].hint == offered["retry"].hint != ""


def test_a_hint_of_the_server_is_offered_first_wherever_a_step_may_wait() -> None:
    wheres: tuple[FaultSite, ...] = ("llm", "tool")
    for where in wheres:
        assert ids(fault(Cause.SERVICE_UNAVAILABLE, T, retry_after_s=30), where).startswith("wait_retry retry")
    assert "wait_retry" not in ids(fault(Cause.INTERNAL, T, retry_after_s=30), "agent")


def test_an_effect_in_doubt_is_verified_before_it_is_repeated_and_never_by_default() -> None:
    for effect in (Effect.UNKNOWN, Effect.APPLIED):
        offered, safe = options_for(fault(Cause.TIMEOUT, T, effect), "tool")
        assert [each.id for each in offered] == ["result", "retry", "edit", "deny", "skip", "abort"]
        assert ["DID happen" in offered[0].hint, "did NOT happen" in offered[1].hint] == [True, True]
        assert safe == "abort"
    offered, safe = options_for(fault(Cause.CANCELLED, N, Effect.UNKNOWN), "tool", in_doubt=True)
    assert [each.id for each in offered] == ["result", "retry", "skip", "abort"]
    assert safe == "abort"


def test_what_is_special_comes_before_the_class() -> None:
    denied = fault(Cause.PERMISSION_DENIED, N)
    assert ids(denied, "tool", need="shell") == "grant deny edit result skip abort"
    assert options_for(denied, "tool", need="shell")[1] == "deny"
    assert ids(fault(Cause.MISSING_INPUT, N), "value", question=True) == "input skip abort"
    assert ids(fault(Cause.MISSING_INPUT, N, rule_id="breakpoint"), "tool") == "retry edit result deny skip abort"
    assert ids(fault(Cause.MISSING_INPUT, N, rule_id="breakpoint"), "agent") == "retry skip abort"
    assert ids(fault(Cause.INTERNAL, P, impact=Impact.PROCESS), "agent") == "acknowledge abort"


def test_an_input_is_offered_only_where_it_changes_what_comes() -> None:
    for cause in (Cause.OUTPUT_INVALID, Cause.LOOP_DETECTED):
        assert "input" in ids(fault(cause, N), "agent").split()
        assert "input" not in ids(fault(cause, N), "agent", in_place=False).split()
    # What is given is the input of the body, which is done again with it.
    assert "input" in ids(fault(Cause.ARGS_INVALID, N), "agent", in_place=False).split()
    assert "input" not in ids(fault(Cause.ARGS_INVALID, N), "run", in_place=False).split()


def test_accept_is_offered_exactly_where_something_is_there() -> None:
    wheres: tuple[FaultSite, ...] = ("group", "swarm")
    for where in wheres:
        assert "accept" in ids(fault(Cause.TOOL_FAILED, N), where, partial=True)
        assert "accept" not in ids(fault(Cause.DEPENDENCY_FAILED, N), where, partial=False)
    assert "accept" not in ids(fault(Cause.TOOL_FAILED, N), "agent", partial=True)


faults = st.builds(
    Classification,
    origin=st.sampled_from(Origin),
    cause=st.sampled_from(Cause),
    persistence=st.sampled_from(Persistence),
    effect=st.sampled_from(Effect),
    impact=st.sampled_from(Impact),
    retry_after_s=st.none() | st.floats(0, 1e6),
)


@given(faults, st.sampled_from(WHERES), st.booleans(), st.booleans(), st.sampled_from(["", "shell"]), st.booleans())
def test_whatever_fails_can_be_aborted_and_its_default_is_harmless(  # noqa: PLR0917 - one drawn value each
    found: Classification, where: FaultSite, in_doubt: bool, question: bool, need: str, in_place: bool
) -> None:
    offered, safe = options_for(found, where, in_doubt=in_doubt, question=question, need=need, in_place=in_place)
    names = [each.id for each in offered]
    assert names[-1] == "abort"
    assert safe in names
    assert safe in ("abort", "deny")
    assert len(names) == len(set(names))
    assert set(names) <= OPTIONS.keys()
    assert {each.id for each in offered if each.standing} <= {"grant"}
    if where not in STEP_KINDS and not need:
        assert not {"edit", "switch_model", "extend", "reset", "deny"} & set(names)
        assert "wait_retry" not in names or (where, found.cause) == ("agent", Cause.RATE_LIMITED)


@given(faults, st.sampled_from(WHERES))
def test_where_retry_is_not_offered_somebody_says_why(found: Classification, where: FaultSite) -> None:
    names = ids(found, where).split()
    if "retry" not in names and "acknowledge" not in names and found.cause is not Cause.MISSING_INPUT:
        assert why_no_retry(found), (found.cause, where)


def test_an_option_of_no_such_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        make_option("format_disk")
