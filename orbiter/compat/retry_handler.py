"""Retries with exponential back-off around a function of one's own (seed 003)."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from orbiter._internal.seam.direct_scope import sleep
from orbiter.errors import (
    APIError,
    ExecutionError,
    RateLimitError,
    TimeoutError,  # noqa: A004 - seed 003 names it so
)

R = TypeVar("R")

logger = logging.getLogger("orbiter.recovery")

_SERVER_ERRORS = frozenset({500, 502, 503, 504})


class RetryHandler:
    """Intelligent retry with exponential backoff.

    Args:
        max_retries: Attempts in total, as the seed counts here.
        base_delay: Seconds before the second attempt, before jitter.
        max_delay: No delay of our own is longer, in seconds.
        exponential_base: What the delay grows by.
    """

    def __init__(
        self,
        max_retries: int = 3,
        base_delay: float = 1.0,
        max_delay: float = 60.0,
        exponential_base: float = 2.0,
    ) -> None:
        self.max_retries = max_retries
        self.base_delay = base_delay
        self.max_delay = max_delay
        self.exponential_base = exponential_base

    async def execute_with_retry(self, func: Callable[..., Awaitable[R]], *args: Any, **kwargs: Any) -> R:
        """What ``func(*args, **kwargs)`` returns, tried again after rate limits, time-outs and server errors.

        A rate limit waits as long as its ``context["retry_after"]`` says. A time-out is repeated only if it is
        `recoverable`, an `APIError` only for the statuses 500, 502, 503 and 504.

        Raises:
            ExecutionError: All attempts failed; the last error is its cause.
            Exception: What `func` raised and no repetition heals.
        """
        last: Exception | None = None
        for attempt in range(self.max_retries):
            try:
                return await func(*args, **kwargs)
            except Exception as exc:
                delay = self._delay_after(exc, attempt)
                last = exc
            # The seed sleeps after the last attempt too; nothing comes after it.
            if attempt + 1 < self.max_retries:
                await sleep(delay)
        raise ExecutionError(
            f"Max retries ({self.max_retries}) exceeded",
            context={"last_error": str(last)},
            suggestion="Consider increasing timeout or using a different approach",
        ) from last

    def _delay_after(self, exc: Exception, attempt: int) -> float:
        """Seconds to wait after a failure that a repetition can heal; raises any other."""
        turn = f"Retry {attempt + 1}/{self.max_retries} in"
        if isinstance(exc, RateLimitError):
            hint = exc.context.get("retry_after")
            delay = self._calculate_delay(attempt) if hint is None else float(hint)
            logger.info("Rate limited. %s %ss", turn, delay)
            return delay
        delay = self._calculate_delay(attempt)
        if isinstance(exc, TimeoutError) and exc.recoverable:
            logger.warning("Timeout. %s %ss", turn, delay)
            return delay
        if isinstance(exc, APIError) and exc.context.get("status_code") in _SERVER_ERRORS:
            logger.warning("Server error (after adapter retries). %s %ss", turn, delay)
            return delay
        raise exc

    def _calculate_delay(self, attempt: int) -> float:
        """Exponential, times a half to one and a half, at most `max_delay`. `attempt` counts from 0."""
        try:
            delay = self.base_delay * self.exponential_base**attempt
        except OverflowError:
            delay = self.max_delay
        return min(delay * (0.5 + random.random()), self.max_delay)
