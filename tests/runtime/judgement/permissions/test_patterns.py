"""Patterns as sets of states: what a star stops at, and how much work a text costs."""

from __future__ import annotations

import pytest

from runtime.judgement.permissions.patterns import Glob

LONG = 650


@pytest.mark.parametrize(
    ("pattern", "text", "covered"),
    [
        ("*x", "ax", True),
        ("*x", "a;x", False),
        ("*x", "a\0x", False),
        ("*.org", "a.org", True),
        ("*.org", "a..org", False),
        ("*/x", "a/x", True),
        ("*/x", "a//x", False),
        ("*", "a", True),
        ("*", ";a", False),
        ("**x", "a;/x", True),
        ("**x", "a\0x", False),
        ("a/**/b/**/c", "a/b/c", True),
        ("a/**/b/**/c", "a/1/2/b/3/4/c", True),
        ("a/**/b/**/c", "a/1/b/3", False),
    ],
)
def test_a_star_at_any_place_stops_where_it_must(pattern: str, text: str, covered: bool) -> None:
    assert Glob(pattern, ends="/.;\0").matches(text) is covered


@pytest.mark.parametrize(
    ("pattern", "text", "cost"),
    [
        ("go *", "go " + "a" * (LONG - 3), 21),
        ("**", "a" * LONG, 21),
        ("a" * LONG, "a" * LONG, 21),
        ("go * on", "go " + "a" * (LONG - 6) + " on", LONG),
        ("go ** on", "go " + "a" * (LONG - 6) + " on", LONG),
        ("go * on", "a" * LONG, 21),
        ("go *", "", 1),
    ],
)
def test_a_text_costs_a_step_for_each_character_only_where_the_states_are_stepped_through(
    pattern: str, text: str, cost: int
) -> None:
    """Else it is compared as a whole: 32 characters count as one step."""
    assert Glob(pattern, ends="\0").match_cost(text) == cost
