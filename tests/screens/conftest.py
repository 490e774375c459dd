"""The zone of times that are shown, and what else would differ from one reader or moment to the next."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from runtime.record.inbox_row import InboxRow
from runtime.record.state.fault_taxonomy import Cause, Classification, Origin, Persistence
from runtime.record.state.incident_events import IncidentOpened
from screens.views.run.preview import load_decisions

FAULT = Classification(origin=Origin.TOOL, cause=Cause.UNKNOWN, persistence=Persistence.UNKNOWN)


@pytest.fixture
def in_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times are shown in the zone of the reader; in tests that is Greenwich."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="session", autouse=True)
def _decisions_are_loaded() -> None:
    """The preview of a decision is there at once, and not when a thread has loaded it."""
    load_decisions(InboxRow("r", IncidentOpened(incident_id="i", fault=FAULT)))
