"""One plain word for each thing: what an operator reads has none of the words that were given up for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.pages import ROOT

GIVEN_UP: Final = {
    r"proved right": "worked",
    r"\d+ (?:more )?like this|others? like it": "17 alike",
    r"did you look": "Did it happen?",
    r"[Tt]hey may have happened": "Each may have happened",
    r"one key decides": "press a key",
    r"takes keys in a moment": "keys count in a moment",
    r"not yet confirmed": "sent, waits for the runtime",
    r"settled elsewhere": "NAME answered first, or: answered elsewhere first",
    r"to be resumed": "paused, goes on later",
    r"turn(?:ed)? (?:it )?back\b|being turned": "start again from",
    r"\bown way\b": "another run from here",
    r"\bempties\b": "clears",
    r"turns it round": "leaves them out",
    r"\bcall is probing|next call probes": "test call",
    r"a model's words, not checked|it would choose": "MODEL says, not checked; Would choose",
    r"runtime to take it up": "queued: no runtime yet",
    r"what was known last": "shown as last known",
    r"(?:is|still) in flight": "no call is out",
    r"\btries again in\b": "next test call in",
    r"get an empty value": "gets an empty text",
    r"whoever asked": "ASKER is told",
    r"\b\d+ lives\b|\blives of\b|, life \d": "restarted 3 times",
    r"breakers and budgets": "limits",
}
"""A pattern of words that were given up, and what is said instead."""
SHOWN: Final = ("screens", "console", "runtime/judgement/reports", "runtime/judgement/recovery")
"""Folders whose texts reach an operator; messages of other folders say what a file or a value must be."""
PATTERN: Final = re.compile("|".join(f"(?:{each})" for each in GIVEN_UP))


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def test_no_text_of_the_program_uses_a_word_that_was_given_up() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match.group()}"
        for folder in SHOWN
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in _texts(path)
        if (match := PATTERN.search(text))
    ]
    assert found == []


def test_no_picture_shows_one() -> None:
    pictures = sorted((ROOT / "tests" / "screens" / "__snapshots__").rglob("*.svg"))
    assert len(pictures) > 100
    shown = {path.name: path.read_text("utf-8").replace("&#160;", " ") for path in pictures}
    assert {name: match.group() for name, text in shown.items() if (match := PATTERN.search(text))} == {}


@pytest.mark.parametrize("text", ["retry proved right", "17 like this", "2 lives", "nothing is in flight, p thaws"])
def test_such_a_word_is_found(text: str) -> None:
    assert PATTERN.search(text)
