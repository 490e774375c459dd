"""Names of exception classes: those of an exception, and those that stand in words as `Class: text`."""

from __future__ import annotations

import builtins
import re

from runtime.judgement.faults.evidence import MAX_TEXT
from runtime.judgement.faults.kinds import kinds_named

_EXCEPTION_TEXT = re.compile(r"^\s*([A-Za-z_][\w.]{1,120})(?:\((?:['\"])?(.*?)(?:['\"],?)?\)|:\s*(.*)|)\s*$", re.DOTALL)

CLASS_NAME = re.compile(r"(?:[A-Za-z_]\w*\.)*_*[A-Z]\w*(?:Error|Exception|Warning|Timeout|Exit|Interrupt|Group)?$")

_LEADING_STATUS = re.compile(r"^[45]\d\d\s")
_MAX_NAMES = 5
_UNMAPPED = frozenset({"litellm.APIConnectionError", "litellm.exceptions.APIConnectionError"})
"""What LiteLLM raises for every error that it does not know: not only for a broken connection."""
_BUGS = frozenset(
    {
        "AttributeError", "NameError", "TypeError", "ImportError", "SyntaxError", "NotImplementedError",
        "AssertionError", "LookupError", "ArithmeticError",
    }
)  # fmt: skip
"""What Python raises for mistakes in a program. A class below one of them says no more by its name."""


def class_names(exc: BaseException) -> tuple[str, ...]:
    """The names of its class and of the classes above it, own class first, each also with its module."""
    names: list[str] = []
    for cls in type(exc).__mro__[:-1]:
        names += [cls.__name__, f"{cls.__module__}.{cls.__name__}", f"{cls.__module__.split('.')[0]}.{cls.__name__}"]
    return _with_kinds(type(exc).__name__, names)


def _with_kinds(own: str, names: list[str]) -> tuple[str, ...]:
    """`names`, and what the class's own name says."""
    if not _UNMAPPED.isdisjoint(names):
        names = [name for name in names if name in _UNMAPPED or not name.endswith("APIConnectionError")]
        return tuple(dict.fromkeys(names))
    said = kinds_named(own) if _BUGS.isdisjoint(names) else ()
    return tuple(dict.fromkeys([*names, *said]))


def ancestry(name: str) -> tuple[str, ...]:
    """A class known by name only: with its ancestors where it is a builtin of Python."""
    bare = name.rsplit(".", 1)[-1]
    known = getattr(builtins, bare, None)
    if isinstance(known, type) and issubclass(known, BaseException) and name in (bare, f"builtins.{bare}"):
        return _with_kinds(bare, [cls.__name__ for cls in known.__mro__[:-1]])
    top = f"{name.split('.', maxsplit=1)[0]}.{bare}" if "." in name else bare
    return _with_kinds(bare, [bare, name, top])


def split_class_names(spoken: str) -> tuple[list[str], str]:
    """All class names that stand before a text, as LiteLLM strings them together, also after a status."""
    names: list[str] = []
    rest = _LEADING_STATUS.sub("", spoken)
    while len(names) < _MAX_NAMES:
        name, said = split_class_name(rest)
        if not name:
            break
        names.append(name)
        rest = said
    return names, rest


def split_class_name(spoken: str) -> tuple[str, str]:
    """``ClassName: text`` (also ``ClassName('text')`` and a bare ``ClassName``) taken apart."""
    if spoken.lstrip().startswith("Traceback (most recent call last)"):
        spoken = spoken.rstrip().rsplit("\n", 1)[-1]
    found = _EXCEPTION_TEXT.match(spoken[: 2 * MAX_TEXT])
    if found and CLASS_NAME.fullmatch(found[1]):
        return found[1], found[2] or found[3] or ""
    return "", spoken
