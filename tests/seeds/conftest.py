"""The bench of the runtime's tests, for the seeds' programs."""

from __future__ import annotations

from tests.runtime.conftest import bench

__all__ = ["bench"]
