"""The hint for a misspelt name: when it names one, and how it is worded."""

from __future__ import annotations

import pytest

from orbiter.parsing.near_names import did_you_mean, near_names
from tests.pages import ROOT

OPTIONS = ("abort", "acknowledge", "retry", "switch_model", "wait_retry")


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("retri", ["retry"]),
        ("RETRY", ["retry"]),
        ("swich-model", ["switch_model"]),
        ("frobnicate", []),
        ("", []),
        (None, []),
        (7, []),
        ("retry" * 1_000, []),
    ],
)
def test_the_name_that_was_probably_meant_is_found(word: object, near: list[str]) -> None:
    assert near_names(word, OPTIONS) == near


def test_a_name_is_given_back_as_it_is_written() -> None:
    assert near_names("writer", ["Writer", "WRITER", "Editor"]) == ["Writer"]


def test_the_most_alike_comes_first() -> None:
    assert near_names("retry", ["wait_retry", "retry"], most=2) == ["retry", "wait_retry"]


def test_the_hint_is_a_sentence_or_part_of_one() -> None:
    assert did_you_mean("retri", OPTIONS) == "did you mean 'retry'? "
    assert did_you_mean("retri", OPTIONS, sentence=True, form="[{}]") == "Did you mean [retry]? "
    assert did_you_mean("frobnicate", OPTIONS) == ""


def test_every_hint_for_a_misspelt_name_is_made_in_one_place() -> None:
    """Names in an error's text, which are compared more strictly, are another matter."""
    packages = ("orbiter", "runtime", "screens", "console", "themes")
    found = {
        str(file.relative_to(ROOT))
        for package in packages
        for file in (ROOT / package).rglob("*.py")
        if "get_close_matches" in file.read_text(encoding="utf-8")
    }
    assert found == {"orbiter/parsing/near_names.py", "runtime/judgement/reports/explanation/step_facts.py"}
