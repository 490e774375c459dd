"""Which run of a guest the present task belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

L = TypeVar("L")


class CurrentLife(Generic[L]):
    """The life of a run that is under way in this task.

    Args:
        framework: Whose runs these are.
    """

    def __init__(self, framework: str) -> None:
        self._current: ContextVar[L | None] = ContextVar(f"orbiter_{framework}_life", default=None)

    def get(self) -> L | None:
        """The run that this task belongs to; None outside of a runtime, and inside of a call that is one step."""
        return self._current.get()

    @contextmanager
    def entered(self, life: L | None) -> Iterator[None]:
        """Make `life` the current one for what runs inside."""
        token = self._current.set(life)
        try:
            yield
        finally:
            self._current.reset(token)
