"""The scope of plain `run`: it calls, retries as seed 000 says, and raises."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from orbiter._internal.seam.errors_around import plain_attempts, plain_retry_delay
from orbiter._internal.seam.scope import Scope, ScopeKind
from orbiter._internal.seam.signals import Answer
from orbiter._internal.seam.step import A, Place, R, Step

if TYPE_CHECKING:
    from orbiter.types import Message


async def sleep(seconds: float) -> None:
    """What waits between attempts; a program that replaces ``asyncio.sleep`` replaces this wait too.

    Args:
        seconds: How long.
    """
    await asyncio.sleep(seconds)


logger = logging.getLogger("orbiter")

_SAID = {
    "rate_limit": "Rate limit",
    "timeout": "Timeout",
    "network_error": "Connection error",
    "server_error": "Server error",
    "service_unavailable": "Server error",
}
# The words of seed 003's log, by `ModelAPIError.classification`.


async def back_off(seconds: float, exc: Exception, model: str, attempt: int, tries: int) -> None:
    """Waits before the next attempt of a model call, without a runtime, and says so in the log as seed 003 does.

    Args:
        seconds: How long.
        exc: Why the last attempt failed.
        model: The model string.
        attempt: How many attempts there were.
        tries: Attempts where nothing else is configured.
    """
    said = _SAID.get(getattr(exc, "classification", "")) or _said_by_type(exc)
    status = getattr(exc, "status", None)
    name = model.partition(":")[2] or model
    turn = f"Retry {attempt}/{plain_attempts(exc, tries) - 1} after {seconds}s"
    logger.warning("%s%s from %s. %s", said, f" {status}" if isinstance(status, int) else "", name, turn)
    await sleep(seconds)


def _said_by_type(exc: Exception) -> str:
    """As `_SAID`, of an error that carries no such word."""
    if isinstance(exc, TimeoutError):
        return _SAID["timeout"]
    return _SAID["network_error"] if isinstance(exc, ConnectionError) else type(exc).__name__


def log_success(retries: int) -> None:
    """Says in the log that a call succeeded after it was tried again.

    Args:
        retries: How often it was tried again; 0: nothing is logged.
    """
    if retries:
        logger.info("Request successful after %d %s", retries, "retry" if retries == 1 else "retries")


def _retry_delay(step: Step[Any, Any], exc: Exception, attempt: int) -> float | None:
    """The seconds until a step is tried again; None: it is not. What is configured is for our own model calls."""
    if step.not_retryable is None:
        return 2.0 ** (attempt - 1) if attempt < step.tries else None
    return None if step.not_retryable(exc) else plain_retry_delay(exc, attempt, step.tries)


class DirectScope(Scope):
    """The scope of plain `run`: no record, no one to wait for. There is one, `DIRECT`, and it is its own child."""

    __slots__ = ()

    def scope(
        self, kind: ScopeKind, name: str, place: Place | None = None, info: Mapping[str, Any] | None = None
    ) -> Scope:
        return self

    async def step(self, step: Step[A, R]) -> R:
        """PRE hooks, up to `tries` attempts 1, 2, 4 … s apart (seed 000) or as configured, POST hooks. A hook's error
        is raised as it is; so is what an earlier step of the call failed with.
        """
        if step.failed is not None:
            raise step.failed
        arguments = step.arguments
        if step.before is not None:
            await step.before(arguments)
        attempt = 1
        while True:
            try:
                result = await step.call(arguments)
                if attempt > 1:
                    log_success(attempt - 1)
                break
            except Exception as exc:
                absorbed = step.codec.absorb(arguments, exc)
                if absorbed is not None:
                    result = absorbed
                    break
                delay = _retry_delay(step, exc, attempt)
                if delay is None:
                    raise
                failed = exc
            await back_off(delay, failed, step.name, attempt, step.tries)
            del failed  # its traceback holds this frame
            attempt += 1
        if step.after is not None:
            await step.after(arguments, result)
        return result

    async def fault(self, exc: Exception, *, at: int | None = None) -> Answer:
        raise exc

    async def turn(self, number: int, messages: list[Message]) -> None:
        return None


DIRECT = DirectScope()
