"""Failure policies, join policies and fallback chains: checked when they are made."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.errors import ConfigurationError, GroupError, JoinError
from orbiter.policy import FailurePolicy, JoinKind, JoinPolicy, Verdict, fallback_chain


def test_defaults() -> None:
    assert FailurePolicy() == FailurePolicy(model="fail", tool="continue", agent="fail")
    assert FailurePolicy.of(None) == FailurePolicy()
    assert JoinPolicy.of(None) == JoinPolicy("all_required")


def test_failure_policies_from_words_and_mappings() -> None:
    assert FailurePolicy.of("degrade") == FailurePolicy("degrade", "degrade", "degrade")
    assert FailurePolicy.of("continue") == FailurePolicy(model="degrade", tool="continue", agent="continue")
    assert FailurePolicy.of({"tool": "fail"}) == FailurePolicy(tool="fail")
    policy = FailurePolicy(agent="continue")
    assert FailurePolicy.of(policy) is policy


@pytest.mark.parametrize(
    ("make", "text", "hint"),
    [
        (lambda: FailurePolicy(tool="fial"), "failure policy for a tool: 'fial'", "Did you mean 'fail'?"),  # type: ignore[arg-type]
        (lambda: FailurePolicy(model="continue"), "failure policy for a model: 'continue'", "fail, degrade"),
        (lambda: FailurePolicy.of("FAIL"), "'FAIL'", "Did you mean 'fail'?"),
        (lambda: FailurePolicy.of({"tools": "fail"}), "place of a failure policy 'tools'", "Did you mean 'tool'?"),
        (lambda: FailurePolicy.of(3), "3", "Valid are"),  # type: ignore[arg-type]
        (lambda: JoinPolicy.of("all"), "join policy 'all'", "all_required"),
        (lambda: JoinPolicy.of("quorom"), "join policy 'quorom'", "Did you mean 'quorum'?"),
        (lambda: JoinPolicy.of("quorum:many"), "join policy 'quorum:many'", "quorum:2"),
    ],
)
def test_an_unknown_word_is_refused_with_the_nearest_valid_one(make: Any, text: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert text in str(caught.value)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    "make",
    [
        lambda: JoinPolicy("quorum", quorum=0),
        lambda: JoinPolicy("quorum", quorum=True),
        lambda: JoinPolicy("quorum", quorum=1.5),  # type: ignore[arg-type]
        lambda: JoinPolicy("first_success", optional=("a",)),
        lambda: JoinPolicy("quorum", quorum=3).check(["a", "b"], "group 'g'"),
        lambda: JoinPolicy("allow_optional_failures", optional=("aa",)).check(["a", "b"], "group 'g'"),
    ],
)
def test_a_policy_that_cannot_be_met_is_refused(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()


def test_a_quorum_in_a_word() -> None:
    assert JoinPolicy.of("quorum:2") == JoinPolicy("quorum", quorum=2)
    assert JoinPolicy.of("quorum") == JoinPolicy("quorum", quorum=1)


OPTIONAL_C = JoinPolicy("allow_optional_failures", optional=("c",))


@pytest.mark.parametrize(
    ("policy", "succeeded", "failed", "verdict"),
    [
        ("all_required", "ab", "", "pending"),
        ("all_required", "abc", "", "met"),
        ("all_required", "a", "b", "violated"),
        (OPTIONAL_C, "ab", "c", "degraded"),
        (OPTIONAL_C, "", "c", "pending"),
        (OPTIONAL_C, "abc", "", "met"),
        (OPTIONAL_C, "bc", "a", "violated"),
        ("allow_optional_failures", "a", "bc", "degraded"),
        ("allow_optional_failures", "", "abc", "violated"),
        ("allow_optional_failures", "", "ab", "pending"),
        ("first_success", "a", "", "met"),
        ("first_success", "", "ab", "pending"),
        ("first_success", "", "abc", "violated"),
        ("quorum:2", "a", "b", "pending"),
        ("quorum:2", "ab", "", "met"),
        ("quorum:2", "a", "bc", "violated"),
        ("quorum:2", "", "ab", "violated"),
    ],
)
def test_verdicts(policy: Any, succeeded: str, failed: str, verdict: Verdict) -> None:
    assert JoinPolicy.of(policy).verdict("abc", list(succeeded), list(failed)) == verdict


@pytest.mark.parametrize(
    ("policy", "succeeded", "failed", "text"),
    [
        ("all_required", "a", {"b": "boom"}, "group 'g': Required subagent failed (all_required policy): 'b': boom"),
        ("first_success", "", {"a": "x"}, "group 'g': No subagent succeeded (first_success policy): 'a': x"),
        (
            "quorum:2",
            "a",
            {"b": "x", "c": "y"},
            "group 'g': Quorum of 2 not reached, 1 succeeded (quorum policy): 'b': x; 'c': y",
        ),
        (
            "allow_optional_failures",
            "",
            {"a": "x"},
            "group 'g': No subagent succeeded (allow_optional_failures policy): 'a': x",
        ),
    ],
)
def test_a_violation_says_who_failed_and_why(policy: str, succeeded: str, failed: dict[str, str], text: str) -> None:
    error = JoinPolicy.of(policy).violation("group 'g'", succeeded, failed)
    assert isinstance(error, JoinError)
    assert isinstance(error, GroupError)
    assert str(error) == text
    assert (error.policy, error.failed, error.succeeded) == (policy.partition(":")[0], failed, tuple(succeeded))


@given(
    st.sampled_from(get_args(JoinKind)),
    st.integers(1, 5),
    st.lists(st.booleans(), min_size=1, max_size=5),
    st.sets(st.integers(0, 4)),
)
def test_a_verdict_once_given_stands_and_the_end_is_never_pending(
    kind: JoinKind, quorum: int, outcomes: list[bool], optional: set[int]
) -> None:
    members = [str(index) for index in range(len(outcomes))]
    spare = tuple(members[index] for index in sorted(optional) if index < len(members))
    policy = JoinPolicy(kind, quorum=quorum, optional=spare if kind == "allow_optional_failures" else ())
    succeeded: list[str] = []
    failed: list[str] = []
    given_: Verdict = "pending"
    for member, good in zip(members, outcomes, strict=True):
        (succeeded if good else failed).append(member)
        verdict = policy.verdict(members, succeeded, failed)
        if given_ in {"met", "violated"}:
            assert verdict == given_
        given_ = verdict
    assert given_ != "pending"


def test_fallback_chains() -> None:
    assert fallback_chain(None) == ()
    assert fallback_chain("a:b") == ("a:b",)
    assert fallback_chain(["a:b", "c:d", "a:b", "p:q"], primary="p:q") == ("a:b", "c:d")
    for bad in ([3], [""], ["  "]):
        with pytest.raises(ConfigurationError, match="must be a model string") as caught:
            fallback_chain(bad)  # type: ignore[arg-type]
        assert caught.value.hint
