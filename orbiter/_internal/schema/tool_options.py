"""The settings of a tool, checked where they are written: each mistake is named with what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from orbiter.errors import ToolError
from orbiter.policy import FailureMode, failure_word

__all__ = [
    "Failure",
    "RetryPolicy",
    "check_failure",
    "check_function",
    "check_permissions",
    "check_retry_policy",
    "check_timeout",
]

Failure = FailureMode | Literal[""]
RetryPolicy = Callable[[], Mapping[str, Any]] | Mapping[str, Any]


def check_function(fn: Any) -> None:
    if not callable(fn):
        raise ToolError(f"A tool needs a function, got {fn!r}", hint="Write @tool above a function")
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise ToolError(f"Tool '{fn.__name__}' is a generator", hint="Return one value instead of yielding several")
    try:
        inspect.signature(fn)
    except (TypeError, ValueError) as exc:
        raise ToolError(
            f"The signature of {fn!r} cannot be read: {exc}", hint="Wrap it in a function with annotated parameters"
        ) from exc


def check_permissions(name: str, permissions: Sequence[str]) -> tuple[str, ...]:
    if isinstance(permissions, str):
        raise ToolError(
            f"Tool '{name}': permissions must be a sequence of names, got the string {permissions!r}",
            hint=f"Write permissions=({permissions!r},)",
        )
    return tuple(permissions)


def check_timeout(name: str, timeout: float | None) -> float | None:
    if timeout is not None and not timeout > 0:
        raise ToolError(
            f"Tool '{name}': timeout must be above 0 seconds, got {timeout!r}", hint="Leave it out for no limit"
        )
    return timeout


def check_failure(name: str, failure: str) -> Failure:
    return failure_word(failure, f"tool '{name}'") if failure else ""


def check_retry_policy(
    policy: RetryPolicy | None,
) -> Callable[[], Mapping[str, Any]] | None:
    if policy is None or callable(policy):
        return policy
    return partial(dict, policy)
