"""Errors that wrap others without hiding them.

`run()` raises `CallRunnerError` (seed 000, "Call Runner Wraps All Exceptions"), and the same seed's sample catches
`AgentError` from it. Both hold because the error raised is of both classes: `join_with_cause` makes it so.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar, cast

from orbiter.errors import OrbiterError

W = TypeVar("W", bound=OrbiterError)

# Python gives these a meaning of their own where they pass a generator or coroutine; a group's message is computed.
_UNJOINABLE = (StopIteration, StopAsyncIteration, BaseExceptionGroup)
_OWN = frozenset({"message", "error_code", "context", "suggestion", "timestamp", "recoverable", "__notes__"})


def _joined_class(wrapper: type[W], cause: type[Exception]) -> type[W]:
    made: Any = _made_class
    return cast("type[W]", made(wrapper, cause))


@lru_cache(maxsize=512)
def _made_class(wrapper: Any, cause: Any) -> Any:
    if issubclass(wrapper, cause) or issubclass(cause, _UNJOINABLE):
        return wrapper
    bases = (cause,) if issubclass(cause, wrapper) else (wrapper, cause)
    body = {
        "__module__": wrapper.__module__,
        "__qualname__": wrapper.__qualname__,
        "__doc__": wrapper.__doc__,
        # The cause's class may compute its text or its pickle from arguments that this error does not have.
        "__init__": OrbiterError.__init__,
        "__str__": Exception.__str__,
        "__repr__": Exception.__repr__,
        "__reduce__": _reduce,
        "_parts": (wrapper, cause),
    }
    try:
        made: Any = type(wrapper.__name__, bases, body)
        made("probe")
    except Exception:  # a final class, another metaclass, a clash of layouts, a demanding __new__
        return wrapper
    return made


def _recipe(kind: Any) -> Any:
    """A class as something that can be pickled: itself, or the pair of which it was made."""
    parts = vars(kind).get("_parts")
    return kind if parts is None else tuple(_recipe(part) for part in parts)


def _kind(recipe: Any) -> Any:
    return _made_class(*map(_kind, recipe)) if isinstance(recipe, tuple) else recipe


def _rebuild(recipe: Any, message: object) -> Any:
    return _kind(recipe)(message)


def _reduce(self: Any) -> tuple[Any, ...]:
    return _rebuild, (_recipe(type(self)), self.args[0]), self.__dict__


def join_with_cause(wrapper: type[W], message: str, cause: Exception) -> W:
    """An error of class `wrapper` that is also of `cause`'s class, chained from `cause`.

    `str()` is `message`, the printed class name is the wrapper's. The cause's attributes (``status``, ``errno``,
    ``response``, …) can be read from the new error, and its context, suggestion and recoverability are taken over.
    Where Python does not allow the combination (final classes, exception groups), it is a plain `wrapper`.
    """
    error = _joined_class(wrapper, type(cause))(message)
    if isinstance(cause, OrbiterError):
        error.context.update(cause.context)
        error.suggestion = cause.suggestion
        error.recoverable = cause.recoverable
        if cause.error_code != type(cause).__name__:
            error.error_code = cause.error_code
    if isinstance(error, type(cause)):
        for name, value in vars(cause).items():
            if name not in _OWN:
                setattr(error, name, value)
        if isinstance(cause, OSError):
            for name in ("errno", "strerror", "filename"):
                setattr(error, name, getattr(cause, name))
    error.__cause__ = cause
    return error


def unwrap_single_group(exc: BaseException) -> BaseException:
    """What a group of one holds, however deep; anything else as it is. Task groups wrap even a single failure."""
    while isinstance(exc, BaseExceptionGroup) and len(exc.exceptions) == 1:
        exc = exc.exceptions[0]
    return exc
