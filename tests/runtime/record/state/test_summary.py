"""A summary as JSON and back: it is read before pydantic is loaded."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.record.state.summary import FOLD_VERSION, RunPhase, Summary

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
COUNT = st.integers(0, 10**9)
INSTANT = st.none() | st.datetimes(timezones=st.just(UTC))
SUMMARIES = st.builds(
    Summary,
    id=TEXT,
    title=TEXT,
    state=st.sampled_from(get_args(RunPhase)),
    nodes=st.dictionaries(st.sampled_from(("running", "waiting")), COUNT),
    steps=COUNT,
    cost_usd=st.none() | st.floats(0, 1e6),
    created_at=INSTANT,
    wake_at=INSTANT,
    stuck=st.booleans(),
    fold=st.integers(0, FOLD_VERSION),
)


@given(SUMMARIES)
def test_what_is_written_is_read_again(summary: Summary) -> None:
    assert Summary.from_json(summary.to_json()) == summary
    assert Summary.from_json(json.dumps(summary.to_dict())) == summary
    assert "\n" not in summary.to_json()


def test_its_fold_is_always_said_and_where_an_earlier_program_did_not_it_was_the_third() -> None:
    assert json.loads(Summary("r").to_json()) == {"id": "r", "fold": FOLD_VERSION}
    assert Summary.from_json('{"id": "r"}').fold == 3


def test_half_an_emoji_is_replaced_and_unknown_fields_are_ignored() -> None:
    assert Summary.from_json(Summary("r", title="a\ud83d").to_json()).title == "a\N{REPLACEMENT CHARACTER}"
    assert Summary.from_json('{"id": "r", "from a newer program": [1]}') == Summary("r")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", 1), ("state", "asleep"), ("state", []), ("nodes", {"running": "3"}), ("nodes", []), ("steps", "3"),
        ("cost_usd", "much"), ("created_at", "yesterday"), ("created_at", "2026-01-01T00:00:00"), ("wake_at", 7),
        ("stuck", 1),
    ],
)  # fmt: skip
def test_a_field_that_cannot_be_is_named(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        Summary.from_json(json.dumps({"id": "r", field: value}))


@pytest.mark.parametrize("row", [None, 3, [], {}, {"title": "x"}])
def test_what_is_no_summary_is_refused(row: Any) -> None:
    with pytest.raises(ValueError, match="an object with an id"):
        Summary.from_json(json.dumps(row))


def test_instants_are_written_as_before() -> None:
    """Programs read them from `show --json`."""
    assert Summary("r", created_at=datetime(2026, 1, 2, tzinfo=UTC)).to_dict()["created_at"] == "2026-01-02T00:00:00Z"
