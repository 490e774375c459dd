"""Functions that make agents. One that takes `middleware`, as LangChain's `create_agent` does, is given ours."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

_PARAMETER = "middleware"


def takes_middleware(factory: Any) -> bool:
    """Whether a function takes `middleware`, and needs nothing else."""
    if not callable(factory):
        return False
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return False
    return _PARAMETER in parameters and all(
        each.default is not each.empty or each.kind in {each.VAR_POSITIONAL, each.VAR_KEYWORD} or name == _PARAMETER
        for name, each in parameters.items()
    )


def complete_factory(factory: Callable[..., Any]) -> Callable[[], Any]:
    """The function as one without parameters. Ours stands before the middleware that a `partial` has bound."""
    if not takes_middleware(factory):
        return factory
    bound = factory.keywords.get(_PARAMETER, ()) if isinstance(factory, functools.partial) else ()
    ours = import_module("orbiter.guests.langgraph").durable_middleware()
    return functools.partial(factory, middleware=[ours, *bound])
