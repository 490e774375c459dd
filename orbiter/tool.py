"""Tools: what an agent can do in the world (seed 000, "ToolError"; schemas in orbiter.schema)."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Generic, Protocol, Unpack, overload

from pydantic import ValidationError as PydanticValidationError
from typing_extensions import ParamSpec, TypeVar

from orbiter._internal.keywords import fill_keywords, show_keywords
from orbiter._internal.tools.tool_context import ToolContext, current_tool_context, tool_context
from orbiter._internal.tools.tool_options import (
    TOOL_DEFAULTS,
    ToolOptions,
    check_failure,
    check_function,
    check_kinds,
    check_permissions,
    check_retry_policy,
    check_timeout,
    tool_signature,
)
from orbiter._internal.tools.tool_result import result_content
from orbiter._internal.user_code import make_text_safe
from orbiter._internal.worker_threads import run_in_thread
from orbiter.errors import PoolExhaustedError, ToolCallError, ToolError, ToolExecutionError, text_of
from orbiter.schema import Signature, describe_errors, signature_of
from orbiter.steps import NO_TRAITS, Skipped, Traits

__all__ = [
    "FunctionTool",
    "Tool",
    "ToolCallError",
    "ToolContext",
    "ToolError",
    "ToolExecutionError",
    "ToolOptions",
    "current_tool_context",
    "result_content",
    "tool",
    "tool_context",
]

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)


_NOT_TOOL_FAILURES = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, Skipped)
"""What passes through a call without being its failure: the end of the task, of the process, or of the step."""


class Tool(ABC):
    """Something an agent can call. Subclasses set `name`, `description` and `parameters` and define `execute`.

    A subclass may define ``classify_error(exc, context)`` and ``get_retry_policy()``, as methods or static
    methods (seed 002).

    Attributes:
        name: What the model calls it by.
        description: What the model is told of it.
        parameters: A JSON schema of the arguments.
        traits: What an operator or a policy must know before it runs: permissions, time limit in seconds, risk.
        composite: It only runs agents, and so has no effect on the world of its own.
        context_parameter: The argument that gets a `ToolContext`; None: none does.
        classify_error: ``(exception, context) -> classification``.
        get_retry_policy: Gives the retry settings of its own.

    Examples:
        >>> from orbiter import Tool
        >>> class Greet(Tool):
        ...     name = "greet"
        ...     description = "Greet a person."
        ...     parameters = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
        ...     async def execute(self, /, **kwargs):
        ...         return f"Hello {kwargs['who']}"
        >>> import asyncio
        >>> asyncio.run(Greet().invoke({"who": "Ada"}))
        'Hello Ada'
    """

    name: str = ""
    description: str = ""
    parameters: dict[str, Any] = {"type": "object", "properties": {}}  # noqa: RUF012 - a default, replaced and never edited
    traits: Traits = NO_TRAITS
    composite: bool = False
    context_parameter: str | None = None
    classify_error: Callable[[Exception, dict[str, Any]], Any] | None = None
    get_retry_policy: Callable[[], Mapping[str, Any]] | None = None

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


class ToolDecorator(Protocol):
    """What ``tool(name=…)`` returns: it makes a tool of a function, which keeps its parameters and its result."""

    def __call__(self, fn: Callable[P, R], /) -> FunctionTool[P, R]:
        """The function as a tool."""
        ...


class FunctionTool(Tool, Generic[P, R]):
    """A function as a tool. Plain functions run in threads of our own, with the context copied.

    It can be called as the function can: type checkers know the function's parameters and what it returns.

    Args:
        fn: The function; its signature and docstring give the schema.
        **options: See `ToolOptions`.

    Raises:
        ToolError: `fn` is not callable, or an option is not one of its words.
        TypeError: An unknown option.

    Examples:
        >>> from orbiter import FunctionTool
        >>> def price(item: str, count: int = 1) -> str:
        ...     "The price of an item."
        ...     return f"{21.53 * count:.2f} EUR"
        >>> made = FunctionTool(price, timeout=10.0)
        >>> made.name, made.description, made("lamp", 3)
        ('price', 'The price of an item.', '64.59 EUR')
    """

    @show_keywords(ToolOptions, TOOL_DEFAULTS)
    def __init__(self, fn: Callable[P, R], **options: Unpack[ToolOptions]) -> None:
        check_function(fn)
        told = fill_keywords("FunctionTool", options, TOOL_DEFAULTS)
        self._fn: Callable[..., Any] = fn
        self._is_async = _is_async(fn)
        self._on_late = told["on_late"]
        self.name = told["name"] or str(getattr(fn, "__name__", type(fn).__name__))
        check_kinds(told)
        self._attribute = self.name
        self.composite = told["composite"]
        self._read_signature()
        self._takes_self = self._signature.names[:1] == (("p0", "self"),) and not inspect.ismethod(fn)
        self.traits = Traits(
            idempotent=told["idempotent"],
            permissions=check_permissions(self.name, told["permissions"]),
            timeout=check_timeout(self.name, told["timeout"]),
            risk=told["risk"],
            failure=check_failure(self.name, told["failure"]),
            classify_error=told["classify_error"],
            retry_policy=check_retry_policy(told["retry_policy"]),
            schema=self.parameters,
            result_type=self._signature.returns,
        )
        self.description = self._signature.summary if told["description"] is None else told["description"]
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, as if it were not decorated."""
        result: R = self._fn(*args, **kwargs)
        return result

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    def __get__(self, instance: Any, owner: type | None = None) -> FunctionTool[..., R]:
        """A decorated method, read from an instance, is a tool of that instance: `self` is not one of its arguments."""
        if instance is None or not self._takes_self:
            return self
        bound = copy(self)
        bound._fn = self._fn.__get__(instance, owner)
        bound._takes_self = False
        bound._read_signature()
        bound.traits = replace(self.traits, schema=bound.parameters, result_type=bound._signature.returns)
        if hasattr(instance, "__dict__"):  # found there next time, before this descriptor
            instance.__dict__[self._attribute] = bound
        return bound

    def _read_signature(self) -> None:
        self._signature: Signature = signature_of(self._fn, context_type=ToolContext, read=tool_signature)
        self.parameters = self._signature.schema
        self.context_parameter = self._signature.context

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
        names = self._signature.positional
        positional = [arguments.pop(name) for name in names if name in arguments] if names else ()
        try:
            if self._is_async:
                return await self._fn(*positional, **arguments)
            result = await self._in_thread(partial(self._fn, *positional, **arguments))
            return await result if inspect.isawaitable(result) else result
        except ToolError as exc:
            if isinstance(exc.__cause__, PoolExhaustedError):
                exc.__cause__.refused = None  # a call inside this one, which had begun
            raise
        except _NOT_TOOL_FAILURES:
            raise
        except BaseException as exc:  # a tool ends its call with whatever it raises, and nothing else
            await make_text_safe(exc)
            said = text_of(exc) or type(exc).__name__
            raise ToolExecutionError(
                f"Tool '{self.name}' failed: {said}", tool_name=self.name, execution_error=said
            ) from exc

    async def _in_thread(self, call: Callable[[], Any]) -> Any:
        try:
            return await run_in_thread(call, on_late=self._on_late)
        except PoolExhaustedError as exc:
            # What `execute` of a subclass did before is not known.
            exc.refused = None if exc.begun or type(self) is not FunctionTool else self
            raise

    def _bound(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Validated arguments, with the context where the function wants it. A model cannot supply a context."""
        name = self.context_parameter
        if name is None:
            return self.validate(kwargs)
        given = kwargs.pop(name) if isinstance(kwargs.get(name), ToolContext) else current_tool_context()
        return {**self.validate(kwargs), name: given}


@overload
def tool(fn: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(fn: None = None, /, **options: Unpack[ToolOptions]) -> ToolDecorator: ...


@show_keywords(ToolOptions, TOOL_DEFAULTS)
def tool(fn: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """A function as a `FunctionTool`: ``@tool``, ``@tool()`` or ``@tool(name=…, …)``.

    Args:
        fn: The function; its signature and docstring give the schema.
        **options: See `ToolOptions`.

    Returns:
        The tool; with options alone, a decorator that makes it.

    Raises:
        ToolError: `fn` is not callable, or an option is not one of its words.
        TypeError: An unknown option.

    Examples:
        >>> from orbiter import tool
        >>> @tool(idempotent=True, timeout=5.0)
        ... def price(item: str) -> str:
        ...     "The price of an item."
        ...     return "21.53 EUR"
        >>> price.parameters["required"]
        ['item']
    """
    if fn is not None:
        return FunctionTool(fn, **options)
    return partial(FunctionTool, **options)


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
