"""A journal of both kinds on a clock that is set, as the tests of journals have it."""

from __future__ import annotations

from tests.runtime.record.conftest import clock, journal, store

__all__ = ["clock", "journal", "store"]
