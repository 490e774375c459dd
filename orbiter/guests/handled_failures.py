"""Failures of tools and models of which code of the agent's own is told first: what it makes of them counts, as it does
alone.

Such a failure is recorded as the outcome of its step, and raised to that code. Where an exception comes out of it in
the end, the framework would end the run: then a person is asked, in a further step of the same call that has failed
already. What comes of that step is the outcome with which the code around the call is run again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from orbiter.errors import OrbiterError
from orbiter.steps import HELD_BACK, Aborted, Place

R = TypeVar("R")


@dataclass(slots=True, eq=False)
class HandledCall:
    """One call of a tool, or one request to a model, in one life of a run, with the code around it.

    `life` is the run of the agent that makes it. `places` has the steps that the call had. `settle` carries out the
    step that asks a person of the latest failure, and gives its outcome; None: the call has not failed. `settled` is
    that outcome.
    """

    life: object
    places: list[Place] = field(default_factory=list)
    settle: Callable[[Exception], Awaitable[Any]] | None = None
    settled: Any = None

    async def through(self, call: Callable[[], Awaitable[R]], passed: tuple[type[Exception], ...]) -> R:
        """Make the call by `call`, which runs the code around it.

        Args:
            call: Makes it.
            passed: Exceptions by which the framework is steered; a person is not asked of them.

        Raises:
            Exception: What `call` raises that no failed step of this call led to.
        """
        while True:
            try:
                with _entered(self):
                    return await call()
            except Exception as exc:
                steering = isinstance(exc, (Aborted, *passed))
                if steering or self.settle is None or self.settled is not None:
                    raise
                self.settled = await self.settle(exc)


async def made_or_settled(
    call: HandledCall | None,
    make: Callable[[HandledCall | None, Exception | None], Awaitable[R]],
    error_of: Callable[[R], Exception | None],
) -> R:
    """The outcome of a call, once a person has settled its failure; else of the step that carries it out now.

    Args:
        call: The call; None where no code of the agent's own is told of failures.
        make: Carries it out as a step: handled, or with the exception that came out of the code around it.
        error_of: What an outcome raises to the code around the call; None if nothing.

    Raises:
        Exception: What `error_of` gives.
    """
    done: R = call.settled if call is not None and call.settled is not None else await make(call, None)
    error = error_of(done)
    if error is None:
        return done
    if call is not None:
        call.settle = partial(make, call)
    raise error


def is_held_back(error: BaseException | None) -> bool:
    """Whether an exception says, or was raised from one that says, that an open circuit breaker held the call back."""
    held = (each for each in (error, getattr(error, "__cause__", None)) if isinstance(each, OrbiterError))
    return any(each.error_code == HELD_BACK for each in held)


def first_attempt(failed: Exception | None) -> Exception | None:
    """What stands for the first attempt of the step that asks a person of a request to a model: what came out of the
    code around it. None where a circuit breaker held the request back: then the step waits, and makes it.
    """
    return None if is_held_back(failed) else failed


_CURRENT: ContextVar[HandledCall | None] = ContextVar("orbiter_handled_call", default=None)


@contextmanager
def _entered(call: HandledCall) -> Iterator[None]:
    token = _CURRENT.set(call)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def handled_call(life: object) -> HandledCall | None:
    """The call of this run in which the present task is; None where no code of the agent's own is told of failures."""
    found = _CURRENT.get()
    return found if found is not None and found.life is life else None
