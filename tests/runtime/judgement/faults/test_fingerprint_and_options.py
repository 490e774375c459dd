"""Fingerprints group what is the same; options are those that can work."""

from __future__ import annotations

import pytest

from runtime.judgement.faults.fingerprint import fingerprint, message_template
from runtime.judgement.recovery.option_spec import FaultSite
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.options import (
    options_for,
    why_no_retry,
)
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)


def fault(
    cause: Cause, persistence: Persistence = Persistence.TRANSIENT, origin: Origin = Origin.MODEL
) -> Classification:
    return Classification(origin=origin, cause=cause, persistence=persistence)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("took 4290 ms", "took 17 ms"),
        ("Please try again in 6m0s at 2026-11-20T10:00:00Z", "Please try again in 1m5s at 2026-11-21T11:30:00Z"),
        ("no such file: /data/a/b.txt", "no such file: /var/c.txt"),
        ("request req_011CQabcdefghijk failed", "request req_022XYZabcdefghi failed"),
        ("unknown column 'age'", "unknown column 'name'"),
    ],
)
def test_messages_that_differ_only_in_values_are_the_same(one: str, other: str) -> None:
    assert message_template(one) == message_template(other)
    assert fingerprint(fault(Cause.TIMEOUT), one, "p") == fingerprint(fault(Cause.TIMEOUT), other, "p")


def test_cause_place_and_words_keep_faults_apart() -> None:
    base = fingerprint(fault(Cause.TIMEOUT), "it took 5 s", "writer/save")
    assert base != fingerprint(fault(Cause.NETWORK), "it took 5 s", "writer/save")
    assert base != fingerprint(fault(Cause.TIMEOUT), "it took 5 s", "reader/load")
    assert base != fingerprint(fault(Cause.TIMEOUT), "it broke after 5 s", "writer/save")


def ids(found: Classification, where: FaultSite = "llm", **more: object) -> list[str]:
    return [option.id for option in options_for(found, where, **more)[0]]  # type: ignore[arg-type]


@pytest.mark.parametrize("cause", list(Cause))
@pytest.mark.parametrize("where", ["llm", "tool", "value", "agent", "group", "swarm", "run"])
def test_every_incident_can_be_aborted_and_its_default_is_harmless(cause: Cause, where: FaultSite) -> None:
    offered, safe = options_for(fault(cause), where)
    found = [option.id for option in offered]
    assert "abort" in found
    assert safe in found
    assert safe in ("abort", "deny")
    assert len(found) == len(set(found))
    assert set(found) <= OPTIONS.keys()


def test_retry_is_not_offered_where_it_cannot_work_and_the_report_says_why() -> None:
    for cause in (Cause.MODEL_UNKNOWN, Cause.CONTEXT_OVERFLOW, Cause.PAYLOAD_TOO_LARGE):
        assert "retry" not in ids(fault(cause, Persistence.NEEDS_CHANGE))
        assert why_no_retry(fault(cause, Persistence.NEEDS_CHANGE))
    assert "retry" not in ids(fault(Cause.UNKNOWN, Persistence.PERMANENT))
    assert "retry" in ids(fault(Cause.AUTH_FAILED, Persistence.NEEDS_CHANGE))


def test_labels_are_those_of_the_seeds() -> None:
    assert [OPTIONS[found].label for found in ("retry", "wait_retry", "input", "grant", "abort")] == [
        "Retry operation",
        "Wait and retry",
        "Provide corrected input",
        "Grant permission",
        "Abort execution",
    ]


def test_what_is_special_has_its_own_answers() -> None:
    need = fault(Cause.PERMISSION_DENIED, Persistence.NEEDS_CHANGE, Origin.TOOL)
    assert ids(need, "tool", need="fs.write:/x") == ["grant", "deny", "edit", "result", "skip", "abort"]
    assert options_for(need, "tool", need="fs.write:/x")[1] == "deny"
    assert ids(fault(Cause.MISSING_INPUT), "value", question=True) == ["input", "skip", "abort"]
    doubtful, safe = options_for(fault(Cause.CANCELLED, origin=Origin.TOOL), "tool", in_doubt=True)
    assert [option.id for option in doubtful] == ["result", "retry", "skip", "abort"]
    assert safe == "abort"
    assert "did NOT happen" in doubtful[1].hint
    assert ids(fault(Cause.RATE_LIMITED))[0] == "wait_retry"
