"""Tools: what an agent can do in the world (seed 000, "ToolError"; schemas in orbiter.schema)."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, overload

from pydantic import ValidationError as PydanticValidationError

from orbiter._internal.schema.tool_options import (
    Failure,
    RetryPolicy,
    check_failure,
    check_function,
    check_permissions,
    check_retry_policy,
    check_timeout,
)
from orbiter._internal.tool_result import result_content
from orbiter._internal.user_code import make_text_safe
from orbiter._internal.worker_threads import run_in_thread
from orbiter.errors import ToolCallError, ToolError, ToolExecutionError, text_of
from orbiter.schema import Signature, describe_errors, signature_of
from orbiter.steps import NO_TRAITS, Skipped, Traits

__all__ = [
    "FunctionTool",
    "Tool",
    "ToolCallError",
    "ToolContext",
    "ToolError",
    "ToolExecutionError",
    "current_tool_context",
    "result_content",
    "tool",
    "tool_context",
]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know of the call that it serves: annotate a parameter with it, and it is filled in.

    `run_id` and `node_id` are empty under plain `run`. `scope` is the open node (see orbiter.steps).
    """

    agent: str = ""
    tool_name: str = ""
    tool_call_id: str = ""
    run_id: str = ""
    node_id: str = ""
    attempt: int = 1
    scope: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


_NO_CONTEXT = ToolContext()
_NOT_TOOL_FAILURES = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, Skipped)
"""What passes through a call without being its failure: the end of the task, of the process, or of the step."""
_context: ContextVar[ToolContext | Callable[[], ToolContext]] = ContextVar("orbiter_tool_context", default=_NO_CONTEXT)


def current_tool_context() -> ToolContext:
    """The context of the tool call that this code serves; an empty one outside any."""
    found = _context.get()
    # An agent sets what makes the context, since most tools never ask for it.
    return found if isinstance(found, ToolContext) else found()


@contextmanager
def tool_context(context: ToolContext) -> Iterator[None]:
    """Make `context` the one that tools called inside get."""
    token = _context.set(context)
    try:
        yield
    finally:
        _context.reset(token)


class Tool(ABC):
    """Something an agent can call. Subclasses set `name`, `description` and `parameters` and define `execute`.

    `parameters` is a JSON schema of the arguments; `traits` is what an operator or a policy must know before it runs;
    `composite` says that the tool only runs agents, and so has no effect on the world of its own.
    """

    name: str = ""
    description: str = ""
    parameters: dict[str, Any] = {"type": "object", "properties": {}}  # noqa: RUF012 - a default, replaced and never edited
    traits: Traits = NO_TRAITS
    composite: bool = False
    context_parameter: str | None = None

    @abstractmethod
    async def execute(self, /, **kwargs: Any) -> Any:
        """Do it. Returns text, or something that `result_content` can write as JSON."""

    def validate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Check arguments against `parameters` before the tool runs.

        Raises:
            ToolCallError: They do not fit; the text tells a model what to correct.
        """
        from orbiter.json_schema import find_problems

        found = find_problems(self.parameters, arguments)
        if found:
            raise _invalid_arguments_error(self.name, "; ".join(found))
        return arguments

    async def invoke(self, arguments: dict[str, Any]) -> Any:
        """Validate and execute: what an agent does with a model's call."""
        return await self.execute(**self.validate(arguments))

    def to_schema(self) -> dict[str, Any]:
        """The tool in OpenAI's function-calling form."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


class FunctionTool(Tool):
    """A function as a tool. Plain functions run in threads of our own, with the context copied.

    Args:
        fn: The function; its signature and docstring give the schema.
        name: Instead of the function's name.
        description: Instead of the docstring's first line.
        permissions: What an operator must have granted before it runs.
        idempotent: Whether running it twice is as good as once.
        timeout: Seconds for one attempt.
        risk: What can go wrong, in words, for the operator who is asked.
        failure: What its failure means: ``fail``, ``degrade`` or ``continue`` (the default: the model is told).
        composite: It only runs agents.
        classify_error: ``(exception, context) -> classification``, as in seed 002.
        retry_policy: Gives the retry settings of its own: ``max_attempts``, ``delay_seconds``, ``backoff_factor``.
        on_late: Gets result or exception of a plain function that ended after its call was abandoned.

    Raises:
        ToolError: `fn` is not callable, or a setting is not one of its words.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        permissions: Sequence[str] = (),
        idempotent: bool = False,
        timeout: float | None = None,
        risk: str = "",
        failure: Failure = "",
        composite: bool = False,
        classify_error: Callable[[Exception, dict[str, Any]], Any] | None = None,
        retry_policy: RetryPolicy | None = None,
        on_late: Callable[[Any, BaseException | None], None] | None = None,
    ) -> None:
        check_function(fn)
        self._fn = fn
        self._is_async = _is_async(fn)
        self._on_late = on_late
        self.name = name or str(getattr(fn, "__name__", type(fn).__name__))
        self._takes_self = next(iter(inspect.signature(fn).parameters), "") == "self" and not inspect.ismethod(fn)
        self._attribute = self.name
        self.composite = composite
        self.traits = Traits(
            idempotent=idempotent,
            permissions=check_permissions(self.name, permissions),
            timeout=check_timeout(self.name, timeout),
            risk=risk,
            failure=check_failure(self.name, failure),
            classify_error=classify_error,
            retry_policy=check_retry_policy(retry_policy),
        )
        self._read_signature()
        self.description = self._signature.summary if description is None else description
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it were not decorated."""
        return self._fn(*args, **kwargs)

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    def __get__(self, instance: Any, owner: type | None = None) -> FunctionTool:
        """A decorated method, read from an instance, is a tool of that instance: `self` is not one of its arguments."""
        if instance is None or not self._takes_self:
            return self
        bound = copy(self)
        bound._fn = self._fn.__get__(instance, owner)
        bound._takes_self = False
        bound._read_signature()
        if hasattr(instance, "__dict__"):  # found there next time, before this descriptor
            instance.__dict__[self._attribute] = bound
        return bound

    def _read_signature(self) -> None:
        self._signature: Signature = signature_of(self._fn, context_type=ToolContext)
        self.parameters = self._signature.schema
        self.context_parameter = self._signature.context
        self.traits = replace(self.traits, schema=self.parameters, result_type=self._signature.returns)

    def validate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them: nested models built, numbers read from text.

        Raises:
            ToolCallError: They do not fit; the text tells a model what to correct.
        """
        try:
            return self._signature.validate(arguments)
        except PydanticValidationError as exc:
            raise _invalid_arguments_error(self.name, describe_errors(exc)) from exc

    async def invoke(self, arguments: dict[str, Any]) -> Any:
        """As `execute`, which validates by itself."""
        return await self.execute(**arguments)

    async def execute(self, /, **kwargs: Any) -> Any:
        """Validate the arguments and call the function.

        Raises:
            ToolError: The function's own, unchanged; any other exception as ``Tool '{name}' failed: {exc}``.
        """
        arguments = self._bound(kwargs)
        positional = [arguments.pop(name) for name in self._signature.positional if name in arguments]
        try:
            if self._is_async:
                return await self._fn(*positional, **arguments)
            result = await run_in_thread(partial(self._fn, *positional, **arguments), on_late=self._on_late)
            return await result if inspect.isawaitable(result) else result
        except (ToolError, *_NOT_TOOL_FAILURES):
            raise
        except BaseException as exc:  # a tool ends its call with whatever it raises, and nothing else
            await make_text_safe(exc)
            said = text_of(exc)
            raise ToolExecutionError(
                f"Tool '{self.name}' failed: {said}", tool_name=self.name, execution_error=said
            ) from exc

    def _bound(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Validated arguments, with the context where the function wants it. A model cannot supply a context."""
        name = self.context_parameter
        if name is None:
            return self.validate(kwargs)
        given = kwargs.pop(name) if isinstance(kwargs.get(name), ToolContext) else current_tool_context()
        return {**self.validate(kwargs), name: given}


@overload
def tool(fn: Callable[..., Any], /) -> FunctionTool: ...


@overload
def tool(
    fn: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    permissions: Sequence[str] = (),
    idempotent: bool = False,
    timeout: float | None = None,
    risk: str = "",
    failure: Failure = "",
    composite: bool = False,
    classify_error: Callable[[Exception, dict[str, Any]], Any] | None = None,
    retry_policy: RetryPolicy | None = None,
    on_late: Callable[[Any, BaseException | None], None] | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(fn: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """A function as a `FunctionTool`: ``@tool``, ``@tool()`` or ``@tool(name=…, …)`` with `FunctionTool`'s settings."""
    if fn is not None:
        return FunctionTool(fn, **settings)
    return partial(FunctionTool, **settings)


def _generate_schema(fn: Callable[..., Any]) -> dict[str, Any]:
    """The JSON schema of `fn`'s parameters."""
    return signature_of(fn, context_type=ToolContext).schema


def _is_async(fn: Callable[..., Any]) -> bool:
    target = fn.func if isinstance(fn, partial) else fn
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(getattr(target, "__call__", None))  # noqa: B004


def _invalid_arguments_error(name: str, text: str) -> ToolCallError:
    return ToolCallError(
        f"Tool '{name}' failed: invalid arguments: {text}",
        tool_name=name,
        hint="Call the tool again with arguments that fit its schema",
    )
