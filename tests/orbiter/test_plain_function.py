"""What is read of a tool's function once, for all functions that are written so."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

import pytest

from orbiter import tool
from orbiter._internal.schema.plain_function import PlainFunction
from orbiter.schema import signature_of

SOURCE = '''
def look(text: str, count: int = 1, *, exact: bool = False) -> "str":
    """Look for a text.

    Args:
        text: What to look for.
    """
    return text
'''


def _made(source: str = SOURCE) -> ModuleType:
    module = ModuleType("made")
    exec(compile(source, "made.py", "exec", dont_inherit=True), vars(module))
    return module


def _defaulting(default: Any) -> Callable[..., Any]:
    def take(value: int = default) -> None: ...

    return take


def test_functions_that_are_written_alike_are_read_once_and_share_no_schema() -> None:
    one, other = tool(_made().look), tool(_made().look)
    assert one._signature.arguments is other._signature.arguments
    assert one.parameters == other.parameters
    assert one.parameters is not other.parameters
    one.parameters["properties"]["text"]["description"] = "edited"
    assert tool(_made().look).parameters["properties"]["text"]["description"] == "What to look for."
    assert (one.description, one._signature.returns) == ("Look for a text.", str)


@pytest.mark.parametrize("value", [1, True, None, "1", 2])
def test_what_differs_in_a_default_alone_is_not_the_same(value: Any) -> None:
    for other in (1, True, None, "1", 2):
        signature_of(_defaulting(other))
    assert signature_of(_defaulting(value)).schema["properties"]["value"].get("default") is value


def test_a_docstring_that_was_replaced_is_read() -> None:
    module = _made()
    signature_of(module.look)
    module.look.__doc__ = "Another."
    assert signature_of(module.look).summary == "Another."


def test_the_module_of_a_function_is_not_kept() -> None:
    module = _made()
    tool(module.look)
    gone = weakref.ref(module.look)
    del module
    gc.collect()
    assert gone() is None


def test_what_may_mean_something_else_is_read_as_it_is() -> None:
    shadowed = _made("from __future__ import annotations\nint = float\ndef take(value: int) -> None: ...")
    assert PlainFunction.of(shadowed.take) is None
    assert signature_of(shadowed.take).schema["properties"] == {"value": {"type": "number"}}
    inner = _made().look

    @wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    assert PlainFunction.of(outer) is None
    assert list(signature_of(outer).schema["properties"]) == ["text", "count", "exact"]
    assert PlainFunction.of(len) is None
    assert PlainFunction.of(_defaulting(object())) is None


def test_a_function_with_variables_of_its_own_is_read() -> None:
    held = "x"

    def take(value: str) -> str:
        return value + held

    plain = PlainFunction.of(take)
    assert plain is not None
    assert isinstance(plain.function(), FunctionType)
    assert signature_of(take).schema["properties"] == {"value": {"type": "string"}}
