"""Keywords that several functions take, written once: as a `TypedDict`, with their defaults in another of its kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from orbiter.parsing.near_names import did_you_mean

O = TypeVar("O", bound=Mapping[str, object])  # noqa: E741 - the options of a function
F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def fill_keywords(function: str, given: O, defaults: O) -> O:
    """The keywords that `function` was given, and the default of each other one.

    Raises:
        TypeError: A keyword that `function` does not have; the text names the one that is spelled most like it.
    """
    filled = {**defaults, **given}
    if len(filled) > len(defaults):
        raise _unknown_keyword(function, next(name for name in given if name not in defaults), list(defaults))
    return cast("O", filled)


def name_nearest_keyword(function: str, *, without: Collection[str] = ()) -> Callable[[F], F]:
    """Refuse a keyword that a constructor does not have, and name the one that is spelled most like it.

    Python's own error says only which keyword is wrong. The signature stays as it is, for type checkers and `help`.
    `function` is what the error calls it. What stands in `without` is not offered.
    """

    def checked(constructor: F) -> F:
        accepted = inspect.signature(constructor).parameters
        known = [name for name in accepted if name != "self" and name not in without]

        @wraps(constructor)
        def construct(*args: object, **keywords: object) -> Any:
            for name in keywords:
                if name not in accepted:
                    raise _unknown_keyword(function, name, known)
            return constructor(*args, **keywords)

        return cast("F", construct)

    return checked


def name_nearest_field(made: C) -> C:
    """As `name_nearest_keyword`, for a dataclass, whose constructor is generated."""
    generated = made.__dict__["__init__"]
    setattr(made, "__init__", name_nearest_keyword(made.__name__)(generated))  # noqa: B010 - mypy refuses to set it
    return made


def _unknown_keyword(function: str, wrong: str, known: Sequence[str]) -> TypeError:
    instead = did_you_mean(wrong, known, sentence=True).rstrip() or f"It takes {', '.join(known)}."
    return TypeError(f"{function}() got an unexpected keyword argument '{wrong}'. {instead}")


def show_keywords(options: type, defaults: Mapping[str, object]) -> Callable[[F], F]:
    """Show the keywords of `options` in a function's signature, in place of ``**options``: `help` and editors read it.

    `__annotations__` stay as they are, for type checkers.
    """

    def shown(function: F) -> F:
        signature = inspect.signature(function)
        named = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        keywords = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults[name],
                annotation=getattr(annotation, "__forward_arg__", annotation),
            )
            for name, annotation in options.__annotations__.items()
        ]
        function.__signature__ = signature.replace(parameters=[*named, *keywords])  # type: ignore[attr-defined]
        return function

    return shown
