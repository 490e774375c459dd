"""The docstrings and comments of a module, as text with lines."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

from runtime.swarms.python_source import parse_module


def docstrings_and_comments(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings, attribute docstrings and comments of a module, each with its line."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(parse_module(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
