"""The settings of a tool, checked where they are written: each mistake is named with what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypedDict

from orbiter.errors import ToolError
from orbiter.policy import FailureMode, failure_word

Failure = FailureMode | Literal[""]
RetryPolicy = Callable[[], Mapping[str, Any]] | Mapping[str, Any]


class ToolOptions(TypedDict, total=False):
    """The options of a function as a tool: the keywords of `tool` and of `FunctionTool`."""

    name: str | None
    """Instead of the function's name."""
    description: str | None
    """Instead of the docstring's first line."""
    permissions: Sequence[str]
    """What an operator must have granted before it runs."""
    idempotent: bool
    """Whether running it twice is as good as once."""
    timeout: float | None
    """Seconds for one attempt."""
    risk: str
    """What can go wrong, in words, for the operator who is asked."""
    failure: Failure
    """What its failure means: ``fail``, ``degrade`` or ``continue`` (the default: the model is told)."""
    composite: bool
    """It only runs agents."""
    classify_error: Callable[[Exception, dict[str, Any]], Any] | None
    """``(exception, context) -> classification``, as in seed 002."""
    retry_policy: RetryPolicy | None
    """Gives the retry settings of its own: ``max_attempts``, ``delay_seconds``, ``backoff_factor``."""
    on_late: Callable[[Any, BaseException | None], None] | None
    """Gets result or exception of a plain function that ended after its call was abandoned."""


TOOL_DEFAULTS: ToolOptions = {
    "name": None,
    "description": None,
    "permissions": (),
    "idempotent": False,
    "timeout": None,
    "risk": "",
    "failure": "",
    "composite": False,
    "classify_error": None,
    "retry_policy": None,
    "on_late": None,
}


def check_function(fn: Any) -> None:
    """Refuse what can be no tool."""
    if not callable(fn):
        raise ToolError(f"A tool needs a function, got {fn!r}", hint="Write @tool above a function")
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise ToolError(f"Tool '{fn.__name__}' is a generator", hint="Return one value instead of yielding several")


def tool_signature(fn: Any) -> inspect.Signature:
    """The signature of a function that can be a tool."""
    try:
        return inspect.signature(fn)
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
