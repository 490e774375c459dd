"""Guards around user code: what it raises ends the call that it was raised in, and nothing else.

Two kinds of exception would do more. `KeyboardInterrupt`, `SystemExit` and other exceptions that are not an `Exception`
pass every handler and stop the event loop, with every run on it. An exception whose own ``__str__`` raises, hangs or
returns something else breaks the code that reports it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from types import TracebackType
from typing import Any

from orbiter import steps
from orbiter._internal.errors.chain import arguments_of
from orbiter._internal.worker_threads import ThreadPool
from orbiter.errors import ExecutionError, causes, text_of

TEXT_TIMEOUT_S = 1.0
"""How long, in seconds, an exception may take to say what it is."""

_HARMLESS = (Exception, asyncio.CancelledError, steps.Skipped)
_MAX_TEXTS = 20
_MAX_INT_BITS = 1024
_texts = ThreadPool(limit=4)


class UserCodeError(ExecutionError):
    """User code raised something that is not an `Exception`, such as `KeyboardInterrupt`. That is its cause."""

    def __init__(self, what: str, raised: BaseException) -> None:
        said = text_with_timeout(raised)
        super().__init__(
            f"{what} raised {type(raised).__name__}{f': {said}' if said else ''}",
            hint="Raise a subclass of Exception: a tool, hook or provider cannot end the process that runs it.",
        )


class guard_user_code:  # noqa: N801 - used like a function, as contextlib's
    """``with contained("hook"): …`` makes a `UserCodeError` of what is raised inside and is not an `Exception`.

    Under plain `run` everything passes as it is: there Ctrl-C and ``sys.exit()`` belong to the program that called.
    """

    __slots__ = ("_task", "_what")

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        self._task = _current_task()

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if exc is None or isinstance(exc, _HARMLESS) or steps.current() is steps.DIRECT:
            return
        if isinstance(exc, GeneratorExit) and (self._task is None or _current_task() is not self._task):
            return  # the coroutine is being closed, after its task has gone
        raise UserCodeError(self._what, exc) from exc


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None


async def make_text_safe(exc: BaseException) -> None:
    """See to it that `str()` and `repr()` of an exception, and of what it came from, return a text at once.

    Those whose text may fail are asked in a thread, within `TEXT_TIMEOUT_S`: classes with a text of their own, and any
    with other objects among its arguments, whose ``__repr__`` is part of the text. One that fails keeps its class for
    ``except`` and ``isinstance``, and says only what its arguments say.
    """
    for link in list(islice(causes(exc), _MAX_TEXTS)):
        if _may_fail_to_speak(link):
            await _make_one_safe(link)


def text_with_timeout(exc: BaseException) -> str:
    """What `text_of` returns, for code that cannot await: a class with a text of its own has `TEXT_TIMEOUT_S`."""
    if not _may_fail_to_speak(exc):
        return text_of(exc)
    said: list[str] = []
    asking = threading.Thread(target=lambda: said.append(text_of(exc)), name="orbiter-text", daemon=True)
    asking.start()
    asking.join(TEXT_TIMEOUT_S)
    return said[0] if said else "its text cannot be read"


def _may_fail_to_speak(exc: BaseException) -> bool:
    return _has_own_text(type(exc)) or not all(map(_is_plain, arguments_of(exc)))


def _is_plain(argument: object) -> bool:
    """Whether it is written at once and without fail; a number of thousands of digits is refused by Python."""
    if type(argument) is int:
        return argument.bit_length() <= _MAX_INT_BITS
    return argument is None or type(argument) in (str, bytes, float, bool)


def _has_own_text(kind: type) -> bool:
    return any(name in vars(each) for each in _own_classes(kind) for name in ("__str__", "__repr__"))


def _own_classes(kind: type) -> Iterator[type]:
    """The classes of an exception that were written in Python, and not by us."""
    return (
        each for each in kind.__mro__ if each.__module__ != "builtins" and not each.__module__.startswith("orbiter.")
    )


async def _make_one_safe(exc: BaseException) -> None:
    asked = threading.Event()
    try:
        async with asyncio.timeout(TEXT_TIMEOUT_S):
            if await _texts.run(lambda: _text_works(exc)):
                return
    except TimeoutError:
        asked.set()
    text = "" if asked.is_set() else _text_of_arguments(exc)
    _pin(exc, text or f"{type(exc).__name__} (its text cannot be read)")


def _text_works(exc: BaseException) -> bool:
    try:
        str(exc), repr(exc)
    except BaseException:  # whatever it raises, it does not speak
        return False
    return True


def _text_of_arguments(exc: BaseException) -> str:
    """Texts and numbers among its arguments; other objects may not speak either."""
    return " ".join(str(each) for each in arguments_of(exc) if _is_plain(each))


def _pin(exc: BaseException, text: str) -> None:
    kind = type(exc)
    body = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__str__": lambda _: text,
        "__repr__": lambda _: f"{kind.__name__}({text!r})",
    }
    try:
        metaclass: Any = type(kind)
        made = metaclass(kind.__name__, (kind,), body)
        exc.__class__ = made
    except BaseException:  # a class of Python's own, a final one: it says what its arguments say
        with suppress(BaseException):
            exc.args = (text,)
