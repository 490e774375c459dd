"""The zone of times that are shown."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from screens.views.run.preview import load_decisions
from tests.screens.stories import limited, waiting_of


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
    load_decisions(waiting_of(limited(1))[0])
