"""Parses the text of Python files, one at a time."""

from __future__ import annotations

import ast
import threading

_PARSING = threading.Lock()
"""Held while a file is parsed."""


def parse_module(source: str | bytes) -> ast.Module:
    """The syntax tree of a module.

    Python 3.11 raises SystemError ("AST constructor recursion depth mismatch") where another thread parses at the same
    time (python/cpython issue 106905): so one parses after the other, and after such an error once more, for a thread
    that does not come through here.

    Args:
        source: The text of the module.

    Raises:
        SyntaxError: it is not Python.
        ValueError: it holds a null byte.
        RecursionError: it is nested too deeply.
        MemoryError: it is nested too deeply, on a small stack.
    """
    with _PARSING:
        try:
            return ast.parse(source)
        except SystemError:
            return ast.parse(source)
