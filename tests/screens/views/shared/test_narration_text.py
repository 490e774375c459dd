"""Sentences of events on a terminal: one line each, and nothing hostile in it, for every type of event."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.judgement.reports.narration import Due
from runtime.judgement.reports.narrator import narrate
from runtime.record.state import events as ev
from screens.views.shared.narration_text import parts_text, sentence_text
from tests.runtime.judgement.reports.event_samples import sample_event

DATA = Path(__file__).parents[3] / "data"
PAYLOADS: list[dict[str, Any]] = json.loads((DATA / "hostile-text.json").read_text())["payloads"]


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: str(payload["id"]))
def test_no_type_of_event_lets_hostile_text_through(payload: dict[str, Any]) -> None:
    raw = str(payload.get("text") or payload["unit"] * payload["repeat"] + payload["tail"])
    for kind in ev.EVENT_CLASSES:
        narration = narrate(sample_event(kind, raw))
        assert sentence_text(narration).isprintable(), kind
        assert sentence_text(narration, ascii_only=True).isascii(), kind


def test_what_is_waited_for_is_told_from_now_where_the_time_is_known() -> None:
    due = datetime(2026, 11, 20, 9, 1, 37, tzinfo=UTC)
    at = f"{due.astimezone():%H:%M:%S}"
    assert parts_text(("waits ", Due(due))) == f"waits until {at}"
    assert parts_text(("waits ", Due(due)), now=due - timedelta(seconds=24.4)) == "waits 25s"
    assert parts_text(("waits ", Due(due)), now=due) == f"waits until {at}"
