"""For the seeds' programs: the bench of the runtime's tests, and the provider on loopback."""

from __future__ import annotations

from tests.orbiter.models.conftest import says, server
from tests.runtime.conftest import bench

__all__ = ["bench", "says", "server"]
