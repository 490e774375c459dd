"""What Prometheus is told, read back with its own parser."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from runtime.judgement.metrics.exposition import Gauges, exposition
from runtime.judgement.metrics.journal_metrics import JournalMetrics
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause, Classification, Origin, Persistence
from tests.runtime.judgement.reports.event_samples import NOON, sample_event

NOW = Gauges(runs={"running": 2}, incidents={}, oldest_incident_s=0.0, breakers={})
FAULT = Classification(origin=Origin.MODEL, cause=Cause.RATE_LIMITED, persistence=Persistence.TRANSIENT)


def samples(metrics: JournalMetrics, now: Gauges = NOW) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample by its name and labels, as the client library of Prometheus reads the text."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for family in text_string_to_metric_families(exposition(now, metrics)):
        for each in family.samples:
            key = (each.name, tuple(sorted(each.labels.items())))
            assert key not in found
            found[key] = each.value
    return found


def started(name: str = "openai:gpt", kind: Any = "llm", **fields: Any) -> ev.StepStarted:
    return ev.StepStarted(
        **{"run_id": "r", "node_id": "n", "attempt": 1, "epoch": 1, "kind": kind, "name": name, "agent": "a"} | fields
    )


def ended(**fields: Any) -> ev.StepEnded:
    return ev.StepEnded(run_id="r", node_id="n", attempt=1, **fields)


def fold(*events: ev.JournalEvent) -> JournalMetrics:
    metrics = JournalMetrics()
    for event in events:
        metrics.apply(event)
    return metrics


def test_attempts_tokens_cost_and_faults_of_a_model_call() -> None:
    spent = {"input_tokens": 10, "output_tokens": 4, "cost_usd": 0.25, "seconds": 2.0}
    again = started(attempt=2)
    found = samples(fold(started(), ended(fault=FAULT, seconds=0.2), again, ended(result="hi", **spent)))
    assert found["orbiter_steps_total", (("kind", "llm"),)] == 1
    assert found["orbiter_attempts_total", (("kind", "llm"), ("outcome", "fault"))] == 1
    assert found["orbiter_attempts_total", (("kind", "llm"), ("outcome", "ok"))] == 1
    assert found["orbiter_faults_total", (("cause", "rate_limited"), ("origin", "model"))] == 1
    assert found["orbiter_tokens_total", (("direction", "input"), ("model", "openai:gpt"))] == 10
    assert found["orbiter_cost_usd_total", (("model", "openai:gpt"),)] == 0.25
    assert found["orbiter_attempt_seconds_bucket", (("kind", "llm"), ("le", "0.5"))] == 1
    assert found["orbiter_attempt_seconds_bucket", (("kind", "llm"), ("le", "+Inf"))] == 2
    assert found["orbiter_attempt_seconds_sum", (("kind", "llm"),)] == 2.2


def test_a_model_that_a_decision_chose_is_the_one_that_is_counted() -> None:
    found = samples(fold(started(effective={"model": "openai:other"}), ended(input_tokens=3)))
    assert found["orbiter_tokens_total", (("direction", "input"), ("model", "openai:other"))] == 3


def test_what_a_fork_copies_is_counted_once() -> None:
    found = fold(started(), ended(input_tokens=3), started(run_id="f", epoch=0), replace(ended(), run_id="f"))
    assert found.attempts == {("llm", "ok"): 1}
    copied: dict[str, Any] = {"run_id": "f", "node_id": "n", "incident_id": "i-f"}
    asked = ev.IncidentOpened(fault=FAULT, **copied)
    answered = ev.IncidentAnswered(revision=1, option="retry", by=ev.Actor(name="eva", channel="cli"), **copied)
    found = fold(started(run_id="f", epoch=0), asked, answered)
    assert (found.incidents, found.decisions, found.decision_seconds.count) == ({}, {}, 0), (
        "its origin has counted them"
    )


def test_only_a_persons_answer_counts_as_time_to_decision() -> None:
    opened = ev.IncidentOpened(run_id="r", incident_id="i", fault=FAULT, ts=NOON)
    answered = ev.IncidentAnswered(
        run_id="r", incident_id="i", revision=1, option="retry", ts=NOON + timedelta(seconds=45)
    )
    by_rule = fold(opened, replace(answered, by=ev.Actor(channel="rule")))
    by_person = fold(opened, replace(answered, by=ev.Actor(name="eva", channel="console")))
    assert samples(by_rule)["orbiter_decision_seconds_count", ()] == 0
    assert samples(by_rule)["orbiter_decisions_total", (("channel", "rule"), ("option", "retry"))] == 1
    assert samples(by_person)["orbiter_decision_seconds_sum", ()] == 45
    assert samples(by_person)["orbiter_decision_seconds_bucket", (("le", "60"),)] == 1
    assert samples(by_person)["orbiter_decision_seconds_bucket", (("le", "30"),)] == 0


def test_gauges() -> None:
    now = Gauges(runs={"failed": 1}, incidents={"timeout": 2}, oldest_incident_s=1.5, breakers={"model:a": True})
    found = samples(JournalMetrics(), now)
    assert found["orbiter_runs", (("state", "failed"),)] == 1
    assert found["orbiter_incidents_open", (("cause", "timeout"),)] == 2
    assert found["orbiter_incident_oldest_seconds", ()] == 1.5
    assert found["orbiter_breaker_open", (("key", "model:a"),)] == 1


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_hostile_name_is_one_label_of_one_sample(first: str, second: str) -> None:
    metrics = fold(started(first, "tool"), ended(), started(second), ended(input_tokens=1))
    found = samples(metrics, Gauges(runs={}, incidents={}, oldest_incident_s=0, breakers={first: False}))
    assert sum(name == "orbiter_tokens_total" for name, _ in found) == 2
    assert sum(name == "orbiter_breaker_open" for name, _ in found) == 1
    assert all(math.isfinite(value) for value in found.values())


KINDS = (ev.StepStarted, ev.StepEnded, ev.IncidentOpened, ev.IncidentAnswered, ev.IncidentClosed, ev.RunFinished)


@given(st.lists(st.sampled_from(KINDS), max_size=12))
def test_events_in_any_order_are_counted(kinds: list[type[ev.JournalEvent]]) -> None:
    """A rewind, a death and a prune leave halves of pairs."""
    found = fold(*(sample_event(kind, "x") for kind in kinds))
    samples(found)
    assert sum(found.attempts.values()) <= kinds.count(ev.StepStarted)
    assert sum(found.decisions.values()) == kinds.count(ev.IncidentAnswered)
