"""When a server says to come back."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.judgement.faults import retry_after
from runtime.judgement.faults.wait_time import MAX_DATE_DISTANCE_S

NOW = 1_767_225_600.25  # 2026-01-01T00:00:00.25Z


def _header(name: str, value: str, *, resets: retry_after.Resets = "any") -> float | None:
    found = retry_after.find_retry_hint({name: value}, None, "", now=NOW, resets=resets)
    return found.seconds if found else None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1", 1.0),
        ("1.5", 1.5),
        ("0.5", 0.5),
        ("130", 130.0),
        ("0", 0.0),
        ("-3", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("1e9", None),
        ("", None),
        ("٣", None),
        ("9" * 300, None),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0),
        ("Thu, 01 Jan 2026 00:00:01 GMT", 1.0),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0.0),
        ("2026-01-01T00:01:00Z", 60.0),
        ("2026-01-01T01:01:00.123456789+01:00", 60.0),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    assert _header("retry-after", value) == seconds


@pytest.mark.parametrize(
    ("name", "value", "seconds"),
    [
        ("retry-after", "12, 30", 30.0),
        ("x-ms-retry-after-ms", "1500", 1.5),
        ("ratelimit", '"default";r=0;t=30', 30.0),
        ("ratelimit", '"burst";r=5;t=3, "daily";r=0;t=900', 900.0),
        ("ratelimit", "limit=100, remaining=0, reset=50", 50.0),
        ("ratelimit", "limit=100, remaining=7, reset=50", None),
    ],
)
def test_what_gateways_send(name: str, value: str, seconds: float | None) -> None:
    assert _header(name, value) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Request was throttled. Expected available in 52 seconds.", 52.0),
        ("Try your request again after 10 sec", 10.0),
        ("[violations { quota_value: 15 } , retry_delay { seconds: 17 }]", 17.0),
        ("retry_delay { seconds: 1 nanos: 500000000 }", 1.5),
        ("retry_delay { }", None),
        ("The plan is only available for 30 days", None),
    ],
)
def test_words_of_gateways(text: str, seconds: float | None) -> None:
    found = retry_after.find_retry_hint({}, None, text, now=NOW)
    assert (found.seconds if found else None) == seconds


def test_the_servers_own_clock_measures_its_dates() -> None:
    headers = {"date": "Fri, 01 Jan 2021 00:00:00 GMT", "retry-after": "Fri, 01 Jan 2021 00:00:30 GMT"}
    found = retry_after.find_retry_hint(headers, None, "", now=NOW)
    assert found == retry_after.RetryHint(30.0, "retry-after header")


def test_milliseconds_win() -> None:
    found = retry_after.find_retry_hint({"retry-after": "1", "retry-after-ms": "700"}, None, "", now=NOW)
    assert found == retry_after.RetryHint(0.7, "retry-after-ms header")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("6m0s", 360.0),
        ("1s", 1.0),
        ("120ms", 0.12),
        ("7.66s", 7.66),
        ("1h2m3s", 3723.0),
        ("35", 35.0),
        (str(int(NOW) + 42), 42.0),
        (str((int(NOW) + 42) * 1000), 42.0),
        ("2026-01-01T00:02:00Z", 120.0),
        (str(10**15), None),
    ],
)
def test_resets(value: str, seconds: float | None) -> None:
    for name in ("x-ratelimit-reset", "anthropic-ratelimit-requests-reset", "x-ratelimit-reset-tokens"):
        assert _header(name, value) == seconds


def test_resets_count_for_rate_limits_only() -> None:
    assert _header("x-ratelimit-reset-tokens", "6m0s", resets="none") is None


def test_of_several_resets_the_one_that_is_used_up_counts() -> None:
    headers = {
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-requests": "12",
        "x-ratelimit-reset-tokens": "6m0s",
        "x-ratelimit-remaining-tokens": "0",
    }
    assert retry_after.find_retry_hint(headers, None, "", now=NOW, resets="any") == retry_after.RetryHint(
        360.0, "x-ratelimit-reset-tokens header"
    )
    headers["x-ratelimit-remaining-tokens"] = "5"
    assert retry_after.find_retry_hint(headers, None, "", now=NOW, resets="used_up") is None
    by_words = retry_after.find_retry_hint(headers, None, "tokens per min (TPM)", now=NOW, resets="any")
    assert by_words is not None
    assert by_words.seconds == 360.0


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"details": [{"@type": "x", "retryDelay": "26s"}]}}, 26.0),
        ({"error": {"details": [{"retryDelay": {"seconds": 3, "nanos": 500000000}}]}}, 3.5),
        ({"retry_after": 12}, 12.0),
        ({"retryAfterMs": 1500}, 1.5),
        ({"estimated_time": 20.0, "error": "loading"}, 20.0),
        ({"error": {"resets_in_seconds": 300}}, 300.0),
        ({"error": {"resets_at": int(NOW) + 10}}, 10.0),
        ({"error": {"metadata": {"headers": {"Retry-After": "9"}}}}, 9.0),
        ({"error": {"metadata": {"headers": {"X-RateLimit-Reset": str((int(NOW) + 9) * 1000)}}}}, 9.0),
        ({"retry_after": True}, None),
        ({"retry_after": "never"}, None),
        ({"retry_after": -1}, None),
        ('{"retry_after": 5}', 5.0),
    ],
)
def test_bodies(body: Any, seconds: float | None) -> None:
    found = retry_after.find_retry_hint({}, body, "", now=NOW, resets="any")
    assert (found.seconds if found else None) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 644ms.", 0.644),
        ("Please try again in 9m38.016s. Need more tokens?", 578.016),
        ("Try again in 1,200 seconds.", 1200.0),
        ("Please retry after 1,234,567 ms", 1234.567),
        ("Please retry in one hour.", 3600.0),
        ("Try again in a minute.", 60.0),
        ("Please retry in 0,123 s", 0.0),
        ("The limit resets once a day.", None),
        ("Try again in half an hour.", None),
        ("Try again in an hour and a half.", None),
        ("Limits: 10,500 tokens. Try again in 5 s.", 5.0),
        ("try again in 1m6s", 66.0),
        ("Please retry in 14.153226897s.", 14.153226897),
        ("Please retry after 86400 seconds.", 86400.0),
        ("Rate limit exceeded, retry after 2s", 2.0),
        ("Please wait 21000 seconds before retrying", 21000.0),
        ("Wait 1 hour and 5 minutes", 3900.0),
        ("Your quota will reset after 5s.", 5.0),
        ("Retry after 60", 60.0),
        ("You will regain access on 2026-01-02 at 00:00 UTC.", 86400.0),
        ('"retryDelay": "26s"', 26.0),
        ("took 4290 ms", None),
        ("try again in 3 attempts", None),
        ("Please try again later. 500 s", None),
        ("released on 2026-04-01", None),
    ],
)
def test_words(text: str, seconds: float | None) -> None:
    found = retry_after.find_retry_hint({}, None, text, now=NOW)
    assert (found.seconds if found else None) == (pytest.approx(seconds) if seconds is not None else None)


@pytest.mark.parametrize(("value", "says"), [("true", True), ("False", False), ("maybe", None), ("", None)])
def test_should_retry(value: str, says: bool | None) -> None:
    assert retry_after.should_retry({"x-should-retry": value}) is says


@given(st.text(max_size=80), st.floats(0, 4e9))
def test_a_header_of_any_content_is_seconds_within_bounds_or_nothing(value: str, now: float) -> None:
    for name in ("retry-after", "retry-after-ms", "x-ratelimit-reset"):
        found = retry_after.find_retry_hint({name: value}, None, "", now=now, resets="any")
        assert found is None or (math.isfinite(found.seconds) and 0 <= found.seconds <= MAX_DATE_DISTANCE_S)


@given(st.integers(1, 10**9), st.sampled_from(["retry-after", "x-ratelimit-reset"]))
def test_a_date_never_comes_out_early(offset_ms: int, name: str) -> None:
    target = datetime.fromtimestamp(math.floor(NOW + offset_ms / 1000) + 1, UTC)
    found = retry_after.find_retry_hint({name: format_datetime(target, usegmt=True)}, None, "", now=NOW, resets="any")
    assert found is not None
    assert 0 <= NOW + found.seconds - target.timestamp() < 1


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(
            st.sampled_from(["retryDelay", "retry_after", "resets_at", "error", "x"]), children, max_size=4
        )
    ),
    max_leaves=20,
)


@given(_JSON)
def test_a_body_of_any_content_is_read_or_ignored(body: Any) -> None:
    found = retry_after.find_retry_hint({}, body, "", now=NOW, resets="any")
    assert found is None or 0 <= found.seconds <= MAX_DATE_DISTANCE_S


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"retryAfterMs": "900"}}, 0.9),
        ({"error": {"retry_after_ms": 900}}, 0.9),
        ({"error": {"retry_after": "PT1M30.5S"}}, 90.5),
        ({"error": {"retry_in": "5s"}}, 5.0),
        ({"error": {"cooldown_seconds": 33}}, 33.0),
        ({"rate_limit_reset": 1_767_225_615}, 15.0),
        ({"error": {"retry_after": "PT"}}, None),
        ({"error": {"retryAfterMs": "soon"}}, None),
    ],
)
def test_further_forms_of_bodies(body: dict[str, Any], seconds: float | None) -> None:
    found = retry_after.find_retry_hint({}, body, "", now=NOW)
    assert (found.seconds if found else None) == seconds


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Out of call volume quota. Quota will be replenished in 02:14:15.", 8055.0),
        ("Out of call volume quota. Quota will be replenished in 2.21:14:15.", 249_255.0),
        ("请求过于频繁，请30秒后再试", 30.0),
        ("请在 5 分钟后重试", 300.0),
        ("请求在120秒后超时", None),
        ("请求在30分钟后超时", None),
        ("连接在5小时后被中断", None),
        ("订单3分钟后到货", None),
        ("请求在60秒后重试失败", None),
        ("You have hit your usage limit. Try again after 11:34 AM.", None),
        ("the meeting is in 02:14:15", None),
        ("第30秒", None),
    ],
)
def test_further_forms_of_words(words: str, seconds: float | None) -> None:
    found = retry_after.find_retry_hint({}, None, words, now=NOW)
    assert (found.seconds if found else None) == seconds
