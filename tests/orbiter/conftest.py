"""What was waited between attempts."""

from __future__ import annotations

import pytest

from tests.orbiter.engine_fakes import skip_waits


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was waited between attempts, without waiting."""
    return skip_waits(monkeypatch)
