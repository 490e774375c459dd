"""What must be there."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def present(found: T | None) -> T:
    """What was looked for, which is there."""
    assert found is not None
    return found
