"""Styles are parsed once for each theme, and what cannot be parsed takes nothing from what stands."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest
from textual.css.parse import parse as textual_parse
from textual.css.tokenizer import TokenError

from console.terminal import stylesheet_patch
from console.terminal.stylesheet_patch import ParsedOnceStylesheet


@pytest.fixture(autouse=True)
def nothing_parsed() -> None:
    """What other apps of this process have parsed is forgotten."""
    stylesheet_patch._parsed.clear()


@pytest.fixture
def parse() -> Iterator[mock.Mock]:
    """Textual's parser of one sheet, counted."""
    with mock.patch("textual.css.stylesheet.parse", wraps=textual_parse) as counted:
        yield counted


def sheet(ink: str = "red") -> ParsedOnceStylesheet:
    made = ParsedOnceStylesheet(variables={"ink": ink})
    made.add_source("Label { color: $ink; }", read_from=("label", ""))
    made.parse()
    return made


def colours(found: ParsedOnceStylesheet) -> list[str]:
    return [str(rule.styles.color.hex) for rule in found.rules]


def test_what_was_parsed_stands_for_a_new_screen_and_the_same_theme(parse: mock.Mock) -> None:
    found = sheet()
    found.set_variables({"ink": "red"})
    found.reparse()
    found.add_source("Button { color: blue; }", read_from=("button", ""))
    found.reparse()
    assert parse.call_count == 2
    assert colours(found) == ["#FF0000", "#0000FF"]


def test_another_theme_is_parsed(parse: mock.Mock) -> None:
    found = sheet()
    found.set_variables({"ink": "blue"})
    found.reparse()
    assert parse.call_count == 2
    assert colours(found) == ["#0000FF"]


def test_a_theme_that_comes_back_and_another_app_parse_nothing_again(parse: mock.Mock) -> None:
    found = sheet()
    for ink in ("blue", "red", "blue"):
        found.set_variables({"ink": ink})
        found.reparse()
    assert colours(found) == ["#0000FF"]
    assert colours(sheet()) == ["#FF0000"]
    assert parse.call_count == 2


def test_no_more_themes_are_remembered_than_the_limit(parse: mock.Mock) -> None:
    inks = [f"rgb({n},0,0)" for n in range(stylesheet_patch.MAX_THEMES + 1)]
    for ink in [*inks, inks[0]]:
        sheet(ink)
    assert parse.call_count == len(inks) + 1
    assert len(stylesheet_patch._parsed) == stylesheet_patch.MAX_THEMES


def test_a_wrong_sheet_is_refused_each_time_and_the_others_stand() -> None:
    found = sheet()
    before = found.source.copy()
    found.add_source("Button { color: ", read_from=("button", ""))
    for _ in range(2):
        with pytest.raises(TokenError):
            found.reparse()
    found.source = before
    found.reparse()
    assert colours(found) == ["#FF0000"]
