"""Loop detection: equal tool calls in a row are counted (seed 001, "Loop Detection")."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from orbiter._internal.loop.tool_step import ToolInvocation
from orbiter.errors import LoopDetectedError


def call_signature(calls: Iterable[tuple[str, Any]]) -> str:
    """Names and arguments of a reply's calls as one string, whatever the order of calls or of keys."""
    parts = [
        json.dumps([name, arguments], sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
        for name, arguments in calls
    ]
    return "|".join(sorted(parts))


class LoopDetector:
    """How often the latest tool calls were made in a row (`own`: in this run alone); a loop at `threshold`."""

    __slots__ = ("_calls", "_signature", "_start", "count", "own", "threshold")

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self.count = 0
        self.own = 0
        self._signature: str | None = None
        self._calls: list[tuple[str, Any]] | None = None
        self._start: tuple[str | None, int] = (None, 0)

    def resume(self, last: str | None, count: int) -> None:
        """Earlier runs made the calls `last`, `count` times in a row."""
        self._start = (last, count)
        self.rewind()

    @property
    def signature(self) -> str | None:
        """The latest calls, canonical; None before the first."""
        if self._signature is None and self._calls is not None:
            self._signature = call_signature(self._calls)
        return self._signature

    @property
    def is_loop(self) -> bool:
        """Whether the latest calls make the loop; a threshold of 0 or less: nothing does."""
        return 0 < self.threshold <= self.count

    def add(self, invocations: Sequence[ToolInvocation]) -> LoopDetectedError | None:
        """Count one reply's calls; the error if they make the loop."""
        calls = [(each.tool_name, each.problem if each.malformed else dict(each.arguments)) for each in invocations]
        return self.add_calls(calls)

    def add_calls(self, calls: list[tuple[str, Any]]) -> LoopDetectedError | None:
        """As `add`, for names and arguments."""
        if self._equals_last(calls):
            self.count += 1
            self.own += 1
        else:
            self.count = self.own = 1
        self._calls, self._signature = calls, None
        if self.is_loop:
            return LoopDetectedError(
                f"Endless loop detected: same tool calls repeated {self.count} times (threshold={self.threshold})",
                count=self.count,
                threshold=self.threshold,
                suggestion="Give the model a way out in its instructions or tools, or raise loop_threshold.",
            )
        return None

    def _equals_last(self, calls: list[tuple[str, Any]]) -> bool:
        before = self._calls
        if before is not None:
            # Dicts compare whatever the order of their keys; canonical text is for several calls only.
            if len(calls) == 1 and len(before) == 1:
                return calls == before
            if len(calls) != len(before):
                return False
        return self.signature is not None and self.signature == call_signature(calls)

    def rewind(self) -> None:
        """Back to what was known at the beginning: the same replies will be counted again."""
        self._signature, self.count = self._start
        self._calls = None
        self.own = 0

    def clear(self) -> None:
        """Forget what was counted: an operator has answered."""
        self.count = self.own = 0
        self._calls = self._signature = None
