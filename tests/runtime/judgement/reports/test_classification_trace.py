"""How an error would be judged, for people who debug their rules."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runtime.judgement.faults.rules.rule import parse_rules
from runtime.judgement.reports.classification_trace import trace_classification


def test_a_rate_limit_is_waited_out() -> None:
    found = trace_classification(
        {"provider": "openai", "status": 429, "message": "slow", "headers": {"Retry-After": "7"}}
    )
    assert list(found)[:8] == [
        "cause", "origin", "persistence", "impact", "retry_after_s", "remedy", "options", "rule_id",
    ]  # fmt: skip
    assert (found["cause"], found["remedy"], found["retry_after_s"], found["delay_s"]) == (
        "rate_limited",
        "wait_retry",
        7,
        7,
    )
    assert found["options"][0] == "wait_retry"


def test_a_key_is_for_a_person_to_mend() -> None:
    found = trace_classification(
        {"provider": "anthropic", "status": 401, "type": "authentication_error", "message": "no"}
    )
    assert (found["remedy"], found["persistence"]) == ("ask_human", "needs_change")
    assert "abort" in found["options"]


def test_a_conversation_that_is_too_long_is_compacted() -> None:
    assert trace_classification({"status": 400, "code": "context_length_exceeded"})["remedy"] == "compact_retry"


def test_a_timeout_in_a_log_is_a_calls_but_a_tools_where_it_says_so() -> None:
    assert trace_classification({"exception": "TimeoutError"})["remedy"] == "retry"
    assert trace_classification({"exception": "TimeoutError", "where": "tool"})["remedy"] == "feed_back"


def test_an_operators_rule_shows_by_its_id() -> None:
    ours = parse_rules([{"id": "mine", "text": "flux capacitor", "cause": "not_found"}])
    assert trace_classification({"message": "no Flux Capacitor"}, rules=ours)["rule_id"] == "mine"


@given(
    st.dictionaries(
        st.sampled_from(["provider", "status", "type", "code", "message", "where", "headers", "exception"]),
        st.none() | st.text(max_size=20) | st.integers() | st.lists(st.text(max_size=5), max_size=3),
    )
)
def test_any_record_is_explained_the_same_twice(record: dict[str, Any]) -> None:
    found = trace_classification(record, now=1.8e9)
    assert found == trace_classification(record, now=1.8e9)
    assert json.loads(json.dumps(found)) == found
    assert found["options"]
