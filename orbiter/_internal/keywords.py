"""Keywords that several functions take, written once: as a `TypedDict`, with their defaults in another of its kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar, cast

O = TypeVar("O", bound=Mapping[str, object])  # noqa: E741 - the options of a function
F = TypeVar("F", bound=Callable[..., Any])


def fill_keywords(function: str, given: O, defaults: O) -> O:
    """The keywords that `function` was given, and the default of each other one.

    Raises:
        TypeError: A keyword that `function` does not have; the text names the one that is spelled most like it.
    """
    filled = {**defaults, **given}
    if len(filled) > len(defaults):
        wrong = next(name for name in given if name not in defaults)
        near = get_close_matches(wrong, list(defaults), n=1)
        instead = f"Did you mean '{near[0]}'?" if near else f"It takes {', '.join(defaults)}."
        raise TypeError(f"{function}() got an unexpected keyword argument '{wrong}'. {instead}")
    return cast("O", filled)


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
