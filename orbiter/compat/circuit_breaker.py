"""A circuit breaker around a function of one's own (seed 003)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from orbiter.errors import APIError, ExecutionError

R = TypeVar("R")

logger = logging.getLogger("orbiter.recovery")


class CircuitBreaker:
    """Prevent cascading failures with a circuit breaker around a function.

    `state` is "closed", "open" or "half-open"; `failure_count` counts failures since it was last reset.

    Args:
        failure_threshold: Failures that open it.
        recovery_timeout: Seconds after the last failure until one call is let through to see.
        expected_exception: What counts as a failure; anything else passes through uncounted.
    """

    def __init__(
        self,
        failure_threshold: int = 5,
        recovery_timeout: float = 60.0,
        expected_exception: type[BaseException] = APIError,
    ) -> None:
        self.failure_threshold = failure_threshold
        self.recovery_timeout = recovery_timeout
        self.expected_exception = expected_exception
        self.failure_count = 0
        self.last_failure_time: datetime | None = None
        self.state = "closed"
        self._probing = False

    async def call(self, func: Callable[..., Awaitable[R]], *args: Any, **kwargs: Any) -> R:
        """What ``func(*args, **kwargs)`` returns.

        Raises:
            ExecutionError: "Circuit breaker is open": `func` was not called.
            Exception: What `func` raised.
        """
        probe = self._admit()
        try:
            result = await func(*args, **kwargs)
        except self.expected_exception:
            self._record_failure()
            if probe or self.failure_count >= self.failure_threshold:
                self._trip()
            raise
        else:
            if probe:
                self._reset()
            return result
        finally:
            # A probe that was cancelled, or failed in another way, leaves its place to the next call.
            if probe:
                self._probing = False

    def _admit(self) -> bool:
        """Whether this call is the probe; raises where no call may go out."""
        if self.state == "open" and self._should_attempt_reset():
            self.state = "half-open"
        if self.state == "open" or (self.state == "half-open" and self._probing):
            raise ExecutionError(
                "Circuit breaker is open",
                context={"failure_count": self.failure_count},
                suggestion=f"Wait {self.recovery_timeout}s for recovery",
            )
        self._probing = self.state == "half-open"
        return self._probing

    def _should_attempt_reset(self) -> bool:
        waited = timedelta(seconds=self.recovery_timeout)
        return self.last_failure_time is not None and datetime.now() - self.last_failure_time >= waited  # noqa: DTZ005

    def _record_failure(self) -> None:
        self.failure_count += 1
        # Local time without a zone, as the seed's page has it: callers set and compare it so.
        self.last_failure_time = datetime.now()  # noqa: DTZ005

    def _reset(self) -> None:
        self.failure_count = 0
        self.last_failure_time = None
        self.state = "closed"

    def _trip(self) -> None:
        self.state = "open"
        logger.warning("Circuit breaker tripped after %s failures", self.failure_count)
