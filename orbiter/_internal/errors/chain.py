"""Any exception, ours or not: its text, and what it came from."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

MAX_CAUSES = 1000
"""How many exceptions `causes` returns at most."""


def text_of(exc: BaseException) -> str:
    """`str(exc)`, whatever it takes: some exceptions raise from ``__str__``, even what would end the process.

    Args:
        exc: Any exception.

    Returns:
        Its text; the texts of its arguments where ``__str__`` raises, less those that raise too.
    """
    try:
        return str(exc)
    except BaseException as problem:
        if isinstance(problem, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise  # Ctrl-C arrives there, and nowhere else
        return " ".join(filter(None, map(_text_of_argument, arguments_of(exc))))


def arguments_of(exc: BaseException) -> tuple[Any, ...]:
    """What it was raised with, also where its class has another attribute of the name ``args``."""
    found: tuple[Any, ...] = vars(BaseException)["args"].__get__(exc)
    return found


def _text_of_argument(argument: object) -> str:
    try:
        return str(argument)
    except BaseException:  # it does not speak either
        return ""


def causes(exc: BaseException) -> Iterator[BaseException]:
    """An exception and everything it came from: itself first, then inwards, each once, at most `MAX_CAUSES`.

    The members of an exception group follow the group, each with its own causes, before the cause of the group. What
    ``raise … from None`` cut off is left out. It is the order, and the choice, of Python's own traceback.

    Args:
        exc: Any exception.

    Returns:
        The exceptions, one at a time.
    """
    waiting = [exc]
    seen: set[int] = set()
    while waiting and len(seen) < MAX_CAUSES:
        link = waiting.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if (inner := cause_of(link)) is not None:
            waiting.append(inner)
        if isinstance(link, BaseExceptionGroup):
            # Read past the class: one of a user may answer `exceptions` with anything.
            waiting.extend(reversed(BaseExceptionGroup.exceptions.__get__(link)))


def cause_of(exc: BaseException) -> BaseException | None:
    """What an exception came from: its cause, else the exception it was raised during; None after ``from None``.

    Args:
        exc: Any exception.

    Returns:
        The exception that it came from, or None.

    Examples:
        >>> from orbiter.errors import cause_of
        >>> try:
        ...     try:
        ...         int("many")
        ...     except ValueError as error:
        ...         raise LookupError("not a number") from error
        ... except LookupError as error:
        ...     print(type(cause_of(error)).__name__)
        ValueError
    """
    if exc.__cause__ is not None:
        return exc.__cause__
    return None if exc.__suppress_context__ else exc.__context__
