"""Which error configuration is given around a task's work, by its swarms and by its calls of `run` (seed 003).

A runtime gets it with the nodes that are opened, and records it; plain `run` takes from it how a model call is retried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import reduce
from typing import Any

from orbiter.errors import causes
from orbiter.policy import ErrorHandlingConfig, as_error_handling

SWARM_KEY, RUN_KEY = "errors", "run_errors"
"""Under these names a node's info has what its swarm declares, and what `run` was given."""

_RATE_LIMITED = 429


_Given = tuple[ErrorHandlingConfig, ...]
_of_runs: ContextVar[_Given] = ContextVar("orbiter_errors_of_runs", default=())
_of_swarms: ContextVar[_Given] = ContextVar("orbiter_errors_of_swarms", default=())
# What was given, innermost first.


def errors_of_run(errors: ErrorHandlingConfig | None) -> AbstractContextManager[None]:
    """For what runs inside, what `run` was given: before what swarms declare. Never in a generator's body: a generator
    shares its caller's context.

    Args:
        errors: The configuration, or a mapping of its fields; None: nothing was given.

    Returns:
        A context manager.

    Raises:
        ConfigurationError: It is not an error configuration.
    """
    given = as_error_handling(errors)
    return _UNCHANGED if given is None else _given_first(_of_runs, given)


def errors_of_swarm(errors: ErrorHandlingConfig | None) -> AbstractContextManager[None]:
    """For what runs inside, what a swarm declares: before what the swarms around it do.

    Args:
        errors: The configuration; None: the swarm declares none.

    Returns:
        A context manager.
    """
    return _UNCHANGED if errors is None else _given_first(_of_swarms, errors)


_UNCHANGED: AbstractContextManager[None] = nullcontext()


@contextmanager
def _given_first(around: ContextVar[_Given], errors: ErrorHandlingConfig) -> Iterator[None]:
    token = around.set((errors, *around.get()))
    try:
        yield
    finally:
        around.reset(token)


def with_run_errors(info: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A node's info, with what the calls of `run` around it were given."""
    given = _of_runs.get()
    return {**(info or {}), RUN_KEY: errors_as_json(reduce(_over, given))} if given else info


def errors_as_json(errors: ErrorHandlingConfig) -> dict[str, Any]:
    """What is set in a configuration, as a node's info and a run's options have it.

    Args:
        errors: The configuration.

    Returns:
        The fields that are set, by name.
    """
    return errors.model_dump(mode="json", exclude_unset=True)


def _over(inner: ErrorHandlingConfig, outer: ErrorHandlingConfig) -> ErrorHandlingConfig:
    return inner.over(outer)


def plain_retry_delay(exc: Exception, attempt: int, tries: int) -> float | None:
    """The seconds until a failed call is tried again without a runtime; None: it is not.

    Without a configuration: `tries` attempts, 1, 2, 4 … s apart (seed 000). What a configuration sets of attempts and
    waits holds in their place.

    Args:
        exc: The failure.
        attempt: How many attempts there were.
        tries: Attempts where nothing else is configured.

    Returns:
        Seconds; None where it is not tried again.
    """
    if attempt >= plain_attempts(exc, tries):
        return None
    given = (*_of_runs.get(), *_of_swarms.get())
    if not given:
        return float(2.0 ** (attempt - 1))
    config = reduce(_over, given)
    provider, limited = _facts(exc)
    own, said = config.provider(provider), config.model_fields_set
    base = config.base_retry_delay if own.base_retry_delay is None else own.base_retry_delay
    if limited and own.rate_limit_strategy == "fixed_delay":
        return base
    delay = float(base * 2.0 ** (attempt - 1))
    return min(delay, max(base, config.max_retry_delay)) if "max_retry_delay" in said else delay


def plain_attempts(exc: Exception, tries: int) -> int:
    """How many attempts there are in all, without a runtime, of a call that failed so."""
    given = (*_of_runs.get(), *_of_swarms.get())
    if not given:
        return tries
    provider, limited = _facts(exc)
    return _attempts(reduce(_over, given), provider, tries, limited=limited)


def _attempts(config: ErrorHandlingConfig, provider: str, tries: int, *, limited: bool) -> int:
    own, said = config.provider(provider), config.model_fields_set
    if limited and not config.auto_retry_on_rate_limits:
        return 1
    if own.max_retries is not None:
        return own.max_retries + 1
    if limited and "max_rate_limit_retries" in said:
        return config.max_rate_limit_retries + 1
    return config.max_attempts if "max_attempts" in said else tries


def _facts(exc: Exception) -> tuple[str, bool]:
    """The provider of a failed call, and whether it was a rate limit."""
    links = list(causes(exc))
    provider = next((str(link.provider) for link in links if getattr(link, "provider", "")), "")  # type: ignore[attr-defined]
    return provider, any(getattr(link, "status", None) == _RATE_LIMITED for link in links)
