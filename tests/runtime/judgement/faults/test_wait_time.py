"""Spans and points in time, as seconds from now."""

from __future__ import annotations

from datetime import UTC, datetime

from runtime.judgement.faults.wait_time import parse_moment

NOW = 1_767_225_600.25  # 2026-01-01T00:00:00.25Z


def test_a_date_is_rounded_up_never_down() -> None:
    when = datetime.fromtimestamp(NOW + 41.3, UTC)
    seconds = parse_moment(when.isoformat(), NOW)
    assert seconds == 42.0
