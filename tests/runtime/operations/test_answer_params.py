"""Parameters of answers: what each option takes, dates of grants, numbers; and what the fold remembers of attempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runtime.judgement.forms.secret_schema import is_secret
from runtime.judgement.recovery.input_validation import InvalidInput
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.options import make_option
from runtime.judgement.recovery.param_validation import check_params, parse_expiry
from runtime.operations.answer_params import InvalidCommand, checked_params
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FAULT = Classification(origin=Origin.TOOL, cause=Cause.NETWORK, persistence=Persistence.TRANSIENT, technical="refused")


def opened(**more: Any) -> ev.IncidentOpened:
    options = tuple(make_option(each) for each in OPTIONS)
    return ev.IncidentOpened(incident_id="i-1", fault=FAULT, options=options, **more)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", NOW + timedelta(minutes=30)),
        ("12h", NOW + timedelta(hours=12)),
        ("7d", NOW + timedelta(days=7)),
        ("2w", NOW + timedelta(weeks=2)),
        ("2026-11-21T09:00:00+00:00", datetime(2026, 11, 21, 9, tzinfo=UTC)),
        ("2026-11-21T09:00:00+02:00", datetime(2026, 11, 21, 7, tzinfo=UTC)),
        (None, None),
    ],
)
def test_a_grant_lasts_for_a_span_or_until_an_instant(text: str | None, expected: datetime | None) -> None:
    assert parse_expiry(text, NOW) == expected


def test_a_date_means_its_end() -> None:
    found = parse_expiry("2026-12-01", NOW)
    assert found is not None
    local = found.astimezone()
    assert (local.month, local.day, local.hour) == (12, 2, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("soon", "must be a date"),
        ("2020-01-01", "is past"),
        ("0001-01-01", "is past|out of range"),
        ("7 parsecs", "must be a date"),
        ("", "must be a date"),
        ("9999-12-31", "out of range"),
        ("99999999999d", "out of range"),
        ("9999999d", "out of range"),
        ("0001-01-01T00:00:00+14:00", "out of range"),
    ],
)
def test_what_is_no_date_or_past_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        parse_expiry(text, NOW)


@pytest.mark.parametrize(
    ("option_id", "params", "said"),
    [
        ("extend", {"amount": 0}, "more than 0"),
        ("extend", {"amount": "much"}, "amount is 'much'"),
        ("wait_retry", {"seconds": -1}, "0 or more"),
        ("wait_retry", {"seconds": float("inf")}, "0 or more"),
        ("wait_retry", {"seconds": 1e300}, "the most is 31622400"),
        ("extend", {"amount": 1e300}, "the most is"),
        ("grant", {"for": "ever"}, "'ever' is not one of these"),
        ("grant", {"for": "once", "pattern": "**"}, "takes no 'pattern'"),
        ("grant", {"for": "run", "until": "1999-01-01"}, "is past"),
        ("edit", {"arguments": "x"}, "needs arguments"),
        ("edit", {}, "needs arguments"),
        ("result", {}, "needs a value"),
        ("switch_model", {"model": ""}, "needs a model"),
        ("accept", {"value": "x"}, "it takes nothing"),
        ("format_disk", {}, "not a known option"),
    ],
)
def test_what_an_option_cannot_use_is_refused_by_name(option_id: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidCommand, match=said):
        checked_params(opened(), option_id, params)


SECRET = {"type": "string", "format": "password"}


@pytest.mark.parametrize(
    ("schema", "secret"),
    [
        (None, False),
        (SECRET, True),
        ({"type": "object", "properties": {"user": {"type": "string"}, "password": SECRET}}, True),
        ({"type": "array", "items": SECRET}, True),
        ({"anyOf": [{"type": "null"}, {"type": "string", "writeOnly": True}]}, True),
        ({"type": "object", "properties": {"format": {"type": "string"}, "writeOnly": {"type": "boolean"}}}, False),
    ],
)
def test_an_answer_with_a_secret_in_any_part_is_one(schema: dict[str, Any] | None, secret: bool) -> None:
    assert is_secret(schema) is secret


def test_what_fits_is_taken_in_its_type() -> None:
    assert checked_params(opened(), "wait_retry", {"seconds": "1.5"}) == {"seconds": 1.5}
    assert checked_params(opened(), "extend", {}) == {}
    assert checked_params(opened(), "grant", {}) == {"for": "once"}
    assert checked_params(opened(), "result", {"value": ""}) == {"value": ""}
    kept = checked_params(opened(), "grant", {"for": "always", "until": "1h"})
    assert datetime.fromisoformat(kept["until"]) > ev.utc_now()


def test_failed_attempts_are_remembered_with_their_waits() -> None:
    def attempt(number: int) -> list[ev.JournalEvent]:
        return [
            ev.StepStarted(node_id="t~0", kind="tool", name="t", agent="a", attempt=number, epoch=1),
            ev.StepEnded(node_id="t~0", attempt=number, fault=FAULT, seconds=0.5),
            ev.RetryScheduled(
                node_id="t~0", attempt=number + 1, max_attempts=3, delay_s=number, until=NOW, source="backoff"
            ),
        ]

    state = fold_events([ev.RunCreated(run_id="r", ref="x:y"), *attempt(1), *attempt(2)])
    tries = [(each.attempt, each.cause, each.seconds, each.wait_s, each.message) for each in state.nodes["t~0"].tries]
    assert tries == [(1, "network", 0.5, 1.0, "refused"), (2, "network", 0.5, 2.0, "refused")]


def test_a_secret_step_is_done_until_somebody_needs_it_again() -> None:
    events: list[ev.JournalEvent] = [
        ev.RunCreated(run_id="r", ref="x:y"),
        ev.StepStarted(node_id="ask~0", kind="value", name="ask", agent="", attempt=1, epoch=1),
        ev.StepEnded(node_id="ask~0", attempt=1, secret=True, settled=False),
    ]
    done = fold_events(events).nodes["ask~0"]
    assert (done.phase, done.recorded, done.result) == ("succeeded", False, None)
    events.append(ev.StepStarted(node_id="ask~0", kind="value", name="ask", agent="", attempt=2, epoch=2))
    state = fold_events(events)
    assert (state.nodes["ask~0"].phase, state.anomalies) == ("running", 0)
    assert {name: count for name, count in state.counts.items() if count} == {"running": 1}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "4", 4),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "4", "4"),
        ({"anyOf": [{"type": "boolean"}, {"type": ["null"]}]}, "yes", True),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, "1, 2", [1, 2]),
    ],
)
def test_what_is_typed_is_read_as_the_alternative_that_it_fits(
    schema: dict[str, object], text: str, value: object
) -> None:
    given = checked_params(opened(result_schema=schema), "result", {"value": text})
    assert (given["value"], type(given["value"])) == (value, type(value))


def test_what_fits_no_alternative_is_refused() -> None:
    schema = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    with pytest.raises(InvalidCommand, match=r"'result'.*four"):
        checked_params(opened(result_schema=schema), "result", {"value": "four"})


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("switch_model", "'switch_model' needs a model: give --model provider:name"),
        ("edit", "'edit' needs arguments: give --arguments '{\"path\": \"a.md\"}'"),
        ("input", "'input' needs a value: give --value TEXT (an empty text is a value, too)"),
        ("result", "'result' needs a value: give --value TEXT (an empty text is a value, too)"),
    ],
)
def test_a_parameter_that_is_missing_is_asked_for_with_an_example(option: str, said: str) -> None:
    assert {spec.id for spec in OPTIONS.values() for each in spec.params if each.required} == {
        "switch_model",
        "edit",
        "input",
        "result",
    }
    with pytest.raises(InvalidInput) as refused:
        check_params(opened(), option, {}, NOW)
    assert str(refused.value) == said
