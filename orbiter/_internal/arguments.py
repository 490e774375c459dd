"""Checks of what a declaration or a run is given: of which kind a value must be, and what is said of another one."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple


class ArgumentKind(NamedTuple):
    """A kind of values that an argument takes.

    Attributes:
        takes: Whether a value is of this kind.
        words: The kind in words, as an error says it.
    """

    takes: Callable[[Any], bool]
    words: str


NAME: Final = ArgumentKind(lambda value: isinstance(value, str) and value != "", "a text that is not empty")
TEXT: Final = ArgumentKind(lambda value: isinstance(value, str), "a text")
WHOLE: Final = ArgumentKind(lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number")
COUNT: Final = ArgumentKind(lambda value: WHOLE.takes(value) and value > 0, "a whole number of 1 or more")
NUMBER: Final = ArgumentKind(lambda value: isinstance(value, int | float) and not isinstance(value, bool), "a number")
SERIES: Final = ArgumentKind(lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes), "a list")
FLAG: Final = ArgumentKind(lambda value: isinstance(value, bool), "True or False")
MAPPING: Final = ArgumentKind(lambda value: isinstance(value, Mapping), "a mapping")
FUNCTION: Final = ArgumentKind(callable, "a function")
PROVIDER: Final = ArgumentKind(
    lambda value: hasattr(value, "complete") or hasattr(value, "stream"),
    "an object with 'async complete(messages, *, tools, temperature, max_tokens)'",
)


def check_argument(
    owner: str, name: str, value: object, kind: ArgumentKind, *, example: str, error: type[Exception]
) -> None:
    """Refuse a value of another kind where it is written, and not where a run comes to it.

    Args:
        owner: Whose argument it is, as the error calls it.
        name: The argument's name.
        value: What was given.
        kind: The kind that it must be of.
        example: A right value, as it is written.
        error: The class to raise.

    Raises:
        error: It is of another kind.
    """
    if not kind.takes(value):
        raise error(f"{owner}: {name} must be {kind.words}, such as {example}; got {reprlib.repr(value)}")


def check_error_functions(owner: str, classify_error: object, get_retry_policy: object, error: type[Exception]) -> None:
    """What a declaration says of its failures are functions, where it says anything. Raises `error` as above."""
    for name, value, example in (
        ("classify_error", classify_error, "a function (exception, context) -> classification"),
        ("get_retry_policy", get_retry_policy, "lambda: {'max_attempts': 2}"),
    ):
        if value is not None:
            check_argument(owner, name, value, FUNCTION, example=example, error=error)


def check_json(owner: str, name: str, value: object, *, example: str, error: type[Exception]) -> None:
    """Refuse a value that JSON cannot say, or that is nested too deeply to be recorded. Arguments as above.

    Raises:
        error: It cannot be used.
    """
    from orbiter._internal.output_parser import json_problem

    if why := json_problem(dict(value) if isinstance(value, Mapping) else value):
        raise error(f"{owner}: {name} must be JSON, such as {example}: {why}")
