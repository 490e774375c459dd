"""Docs, docstrings, comments and messages are plain technical English: they name who or what acts.

A message says what a value must be ("must be a date, for example 2026-01-31") or that it "is not a valid date".
`tests/test_docs_names.py` checks that the modules and files that the prose names exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.pages import ROOT
from tests.source_text import docstrings_and_comments

FOLDERS: Final = ("orbiter", "runtime", "screens", "console", "themes", "benchmarks", "examples", "docs")
"""Folders of which every file with prose is checked whole: messages, docstrings, comments and pages."""
FILES: Final = ("README.md", "CONTRIBUTING.md", "pyproject.toml")
"""Not CHANGELOG.md: what an earlier release said is history."""
SUFFIXES: Final = (".py", ".md", ".toml", ".tcss")
VAGUE: Final = re.compile(r"\b(?:nobody|somebody|whoever|anew)\b", re.IGNORECASE)
"""Write instead: an operator, the caller, another process, a console, a reader; again."""
NEGATED: Final = re.compile(
    r"(?P<plain>\b(?:[Tt]here|who)[\s#]+)?\bis[\s#]+(?:none\b|no[\s#]+(?!longer\b|more\b)[a-zA-Z]+)"
)
"""Write instead: `must be a date, for example …`, or `is not a date`. It is plain after `there`, and after
`who`: that is about a person, not about a value.
"""
ALLOWED: Final[dict[str, str]] = {}
"""Files that must hold such a word, each with the reason."""


def _found(text: str) -> list[tuple[int, str]]:
    """Each place of a text that is not plain: the lines before it, and its words."""
    return [
        (text.count("\n", 0, match.end()), " ".join(match.group().replace("#", "").split()))
        for pattern in (VAGUE, NEGATED)
        for match in pattern.finditer(text)
        if not match.groupdict().get("plain")
    ]


def _sources() -> list[Path]:
    inside = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)
    return sorted([*(ROOT / name for name in FILES), *inside])


def _test_modules() -> Iterator[Path]:
    """Without `tests/data`: its files are input, and what older versions of the program wrote."""
    return (path for path in sorted((ROOT / "tests").rglob("*.py")) if "data" not in path.relative_to(ROOT).parts)


def test_code_pages_and_messages_name_who_acts_and_what_a_value_must_be() -> None:
    paths = [path for path in _sources() if str(path.relative_to(ROOT)) not in ALLOWED]
    assert len(paths) > len(FILES) + len(FOLDERS)
    found = [
        f"{path.relative_to(ROOT)}:{1 + lines}: {words}"
        for path in paths
        for lines, words in _found(path.read_text(encoding="utf-8"))
    ]
    assert not found, "say it in plain English: see VAGUE and NEGATED in tests/test_prose.py"


def test_docstrings_and_comments_of_tests_do_so_too() -> None:
    """Strings of a test are input."""
    found = [
        f"{path.relative_to(ROOT)}:{line + lines}: {words}"
        for path in _test_modules()
        if list(_found(path.read_text(encoding="utf-8")))  # to take a module apart costs more
        for line, text in docstrings_and_comments(path)
        for lines, words in _found(text)
    ]
    assert not found, "say it in plain English: see VAGUE and NEGATED in tests/test_prose.py"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Whoever reads it", ["Whoever"]),
        ("left to\nnobody, then begun anew", ["nobody", "anew"]),
        ("'soon' is no date", ["is no date"]),
        ("it\n    # is none of these", ["is none"]),
        ("it is no JSON", ["is no JSON"]),
        ("there is no run 'x', and there\n    is none any more", []),
        ("it is no longer there, and is not a date", []),
        ("an operator who is no developer", []),
    ],
)
def test_what_counts_as_such(text: str, words: list[str]) -> None:
    assert [found for _, found in _found(text)] == words
