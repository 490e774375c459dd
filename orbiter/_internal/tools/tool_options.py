"""The settings of a tool, checked where they are written: each mistake is named with what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, TypedDict

from orbiter._internal.arguments import (
    FLAG,
    FUNCTION,
    MAPPING,
    NAME,
    NUMBER,
    TEXT,
    ArgumentKind,
    check_argument,
    check_json,
)
from orbiter.errors import ToolError
from orbiter.parsing.near_names import did_you_mean
from orbiter.policy import FailureMode, failure_word
from orbiter.steps import Traits

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


RETRY_SETTINGS: Final = (
    *("max_attempts", "delay_seconds", "backoff_factor"),  # seed 002
    *("max_retries", "base_retry_delay", "max_retry_delay", "rate_limit_strategy"),  # seed 003
    *("base_delay", "max_delay"),
)
"""What a retry policy may say. `runtime.judgement.recovery.retry` reads them."""
_RETRY_EXAMPLE: Final = "Write retry_policy={'max_attempts': 2, 'delay_seconds': 0.5}"

_SCHEMA_EXAMPLE: Final = "{'type': 'function', 'function': {'name': 'search', 'parameters': {'type': 'object'}}}"

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


_KINDS: Mapping[str, tuple[ArgumentKind, str]] = {
    "name": (TEXT, "'search'"),
    "description": (TEXT, "'Search the archive.'"),
    "idempotent": (FLAG, "True"),
    "risk": (TEXT, "'It costs money.'"),
    "composite": (FLAG, "True"),
    "classify_error": (FUNCTION, "a function (exception, context) -> classification"),
    "on_late": (FUNCTION, "a function (result, exception) -> None"),
}
"""Options that are of one kind, with an example. A truthy text as `idempotent` would have calls repeated unasked."""


def check_kinds(told: ToolOptions) -> None:
    """Refuse options of another kind. None stands for what is not given.

    Raises:
        ToolError: One is of another kind.
    """
    owner = f"Tool {told['name']!r}" if told["name"] else "A tool"
    for name, value in told.items():
        if value is not None and name in _KINDS:
            kind, example = _KINDS[name]
            check_argument(owner, name, value, kind, example=example, error=ToolError)


def check_foreign_tool(agent: str, tool: Any) -> None:
    """Refuse a tool of a class that is not ours whose name is not a text, or whose traits are of another kind: `Traits`
    checks nothing.

    Raises:
        ToolError: It is refused.
    """
    name: Any = getattr(tool, "name", None)
    traits = getattr(tool, "traits", None)
    check_argument(f"A tool of agent '{agent}'", "name", name, NAME, example="'search'", error=ToolError)
    if isinstance(traits, Traits):
        check_kinds({"name": name, "idempotent": traits.idempotent, "risk": traits.risk})
        check_timeout(name, traits.timeout)
        check_failure(name, traits.failure)
        check_permissions(name, traits.permissions)
        if traits.schema is not None:
            check_json(f"Tool '{name}'", "schema", traits.schema, example="{'type': 'object'}", error=ToolError)


def foreign_schema(tool: Any) -> dict[str, Any]:
    """The schema of a tool of a class that is not ours.

    Raises:
        ToolError: It is not a mapping, or JSON cannot say it.
    """
    schema: dict[str, Any] = tool.to_schema()
    check_argument(f"Tool '{tool.name}'", "to_schema()", schema, MAPPING, example=_SCHEMA_EXAMPLE, error=ToolError)
    check_json(f"Tool '{tool.name}'", "to_schema()", schema, example=_SCHEMA_EXAMPLE, error=ToolError)
    return schema


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
    for each in permissions:
        check_argument(f"Tool '{name}'", "a permission", each, TEXT, example="'fs.write:notes/*'", error=ToolError)
    return tuple(permissions)


def check_timeout(name: str, timeout: float | None) -> float | None:
    if timeout is not None and not (NUMBER.takes(timeout) and timeout > 0):
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
    if not isinstance(policy, Mapping):
        raise ToolError(f"A tool: retry_policy must be a mapping or a function, got {policy!r}", hint=_RETRY_EXAMPLE)
    for name in policy:
        if name not in RETRY_SETTINGS:
            hint = did_you_mean(str(name), RETRY_SETTINGS, sentence=True)
            raise ToolError(f"A tool: retry_policy has an unknown setting {name!r}", hint=f"{hint}{_RETRY_EXAMPLE}")
    return partial(dict, policy)
