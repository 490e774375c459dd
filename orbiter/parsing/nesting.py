"""How deep a document may be nested, the same on every Python: what is deeper is refused before it is parsed.

Parsers go down by recursion, and how far they come depends on the interpreter. Here brackets are counted instead. Text
that is not valid may be counted as deeper than it is, never as less deep up to where its parser stops.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final

MAX_NESTING: Final = 200
"""Levels of lists and objects. What is read back from a journal may have no more (pydantic)."""

_BRACKETS = b"[{]}"
_STEPS = bytes.maketrans(_BRACKETS, bytes([1, 1, 255, 255]))  # 255 is -1 as a signed byte
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_NOT_STRUCTURE = bytes(set(_NOT_BRACKETS) - set(b'"'))
_TOML_TEXTS = r'''(?s)"""(?:[^\\]|\\.)*?"{3,5}+|\'\'\'.*?\'{3,5}+|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|#[^\n]*+'''


class NestedTooDeeply(ValueError):
    """A document has more than `MAX_NESTING` levels. The message reads on from the document's name."""

    def __init__(self) -> None:
        super().__init__(f"is nested too deeply to be read: {MAX_NESTING} levels are the limit")


def check_json(text: str | bytes) -> None:
    """Refuse JSON (bytes: in UTF-8) that is nested too deeply, also where it is cut off.

    Raises:
        NestedTooDeeply: it is.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if _opened(data) > MAX_NESTING:
        # Escapes stand in strings only. Without them every quote begins or ends a string: each second part is outside.
        # Where two quotes have no bracket between them, it is the same without both: few parts are left.
        if b"\\" in data:
            data = data.replace(rb"\\", b"").replace(rb"\"", b"")
        structure = data.translate(None, _NOT_STRUCTURE)
        if 2 * structure.count(b'""') < structure.count(b'"'):  # a bracket stands in a string
            structure = b"".join(structure.replace(b'""', b"").split(b'"')[::2])
        _check_brackets(structure)


def check_toml(text: str) -> None:
    """Refuse TOML whose lists and inline tables are nested too deeply; for dotted keys see `check_value`.

    Raises:
        NestedTooDeeply: they are.
    """
    data = text.encode("utf-8", "surrogatepass")
    if _opened(data) > MAX_NESTING:
        _check_brackets(re.sub(_TOML_TEXTS, "", text).encode("utf-8", "surrogatepass"))


def check_value(value: Any) -> None:
    """Refuse a parsed document whose lists and mappings are nested too deeply.

    Raises:
        NestedTooDeeply: they are.
    """
    level = [value]
    for _ in range(MAX_NESTING + 1):
        level = [each for each in level if isinstance(each, Mapping | list | tuple)]
        if not level:
            return
        level = [child for each in level for child in (each.values() if isinstance(each, Mapping) else each)]
    raise NestedTooDeeply


def is_deeper(value: Any, levels: int) -> bool:
    """Whether anything stands inside of so many lists and objects of a parsed document."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not levels or any(is_deeper(each, levels - 1) for each in inner)


def _opened(data: bytes) -> int:
    return data.count(b"[") + data.count(b"{")


def _check_brackets(outside: bytes) -> None:
    """Refuse text without strings in which more than `MAX_NESTING` brackets are open at once."""
    steps = outside.translate(_STEPS, _NOT_BRACKETS)
    if steps and max(accumulate(memoryview(steps).cast("b"))) > MAX_NESTING:
        raise NestedTooDeeply
