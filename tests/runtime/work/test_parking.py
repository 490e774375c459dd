"""Parking: what is decided about a run is decided by the journal, in the transaction that writes it."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.runtime.work.parking_machine import Interleaved

TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(
    max_examples=15, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
