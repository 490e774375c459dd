"""One limit of nesting for what people and programs wrote, whatever the interpreter's own limit is."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orbiter.parsing.nesting import MAX_NESTING, NestedTooDeeply, check_json, check_toml, check_value
from orbiter.parsing.toml_text import InvalidToml, parse_toml
from orbiter.parsing.yaml_nodes import NodeLoader

LEVELS = st.sampled_from([1, 2, MAX_NESTING - 1, MAX_NESTING, MAX_NESTING + 1, 5_000])
TRAPS = st.text(st.sampled_from("[]{}\"\\'#\n:x,é"), max_size=12)
"""Texts that look like structure."""


def wrapped(levels: int, text: str, *, lists: bool) -> str:
    """JSON of so many levels around a text, which is a key as well."""
    said = json.dumps(text)
    if lists:
        return f"[{said}," * levels + said + "]" * levels
    return f"{{{said}:" * levels + said + "}" * levels


@contextmanager
def limit_of_recursion(limit: int) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def refused(check: Callable[[Any], None], value: Any) -> bool:
    try:
        check(value)
    except NestedTooDeeply:
        return True
    return False


@given(levels=LEVELS, text=TRAPS, lists=st.booleans(), cut=st.booleans())
def test_levels_of_json_are_counted_outside_of_strings(levels: int, text: str, lists: bool, cut: bool) -> None:
    found = wrapped(levels, text, lists=lists)
    if cut:
        found = found.rstrip("]}")
    assert refused(check_json, found) is (levels > MAX_NESTING)
    assert refused(check_json, found.encode()) is (levels > MAX_NESTING)


@given(levels=LEVELS, text=TRAPS, quotes=st.sampled_from(['"', '"""', "'", "'''"]))
def test_levels_of_toml_are_counted_outside_of_strings_and_comments(levels: int, text: str, quotes: str) -> None:
    if quotes[0] == "'":
        text = text.replace("'", "").replace("\n", "" if len(quotes) == 1 else "\n")
        said = f"{quotes}{text}{quotes}"
    else:
        said = json.dumps(text, ensure_ascii=False)
        said = f"{quotes}{said[1:-1]}{quotes}"
    # Several statements, so that a string that was misread would hide or show brackets of the next.
    found = f"a = {said} # [[[ {{ ' \" \nb = " + f"[{said}, # ]]\n" * levels + "]" * levels + f"\n[[c]]\nd = {said}\n"
    assert refused(check_toml, found) is (levels > MAX_NESTING)
    if levels <= MAX_NESTING // 2:
        assert tomllib.loads(found)


@given(
    st.lists(
        st.tuples(st.sampled_from([*"[]{}\"\\'#\n:,=ax", '"""', "'''", "- ", "? ", "a: ", "&a ", "*a ", "a."]), LEVELS),
        max_size=8,
    )
)
def test_no_text_brings_a_parser_to_the_interpreters_limit(pieces: list[tuple[str, int]]) -> None:
    text = "".join(piece * times for piece, times in pieces)
    with suppress(ValueError):  # a RecursionError is not one
        check_json(text)
        json.loads(text)
    with suppress(InvalidToml):
        check_value(parse_toml(text)[0])
    with suppress(NestedTooDeeply, yaml.YAMLError):
        NodeLoader(text).get_single_node()


@pytest.mark.parametrize("limit", [700, 10_000])
def test_the_interpreters_limit_does_not_matter(limit: int) -> None:
    ends = ((MAX_NESTING, False), (MAX_NESTING + 1, True))
    with limit_of_recursion(limit):
        assert [(n, refused(check_json, "[" * n + "]" * n)) for n, _ in ends] == list(ends)


@pytest.mark.parametrize("text", ["[" * 201, "a = " + "[" * 201 + "]" * 201, ".".join("a" * 202) + " = 1"])
def test_toml_that_is_too_deep_is_not_read(text: str) -> None:
    with pytest.raises(InvalidToml, match="nested too deeply to be read: 200 levels are the limit"):
        parse_toml(text)


def test_dotted_keys_are_levels() -> None:
    found, lines = parse_toml(".".join("a" * MAX_NESTING) + " = 1")
    assert found
    assert list(lines.values()) == [1]


def test_a_number_that_is_too_long_is_refused_too() -> None:
    with pytest.raises(InvalidToml, match="digits"):
        parse_toml("a = " + "1" * 5_000)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("[" * 200 + "]" * 200, True),
        ("[" * 201 + "]" * 201, False),
        ("\n".join("  " * n + "a:" for n in range(200)), True),
        ("\n".join("  " * n + "a:" for n in range(201)), False),
        ("- " * 201 + "x", False),
        ("a: &a " + "[" * 100 + "]" * 100 + "\nb: " + "[" * 99 + "*a" + "]" * 99, True),
        ("a: &a " + "[" * 100 + "]" * 100 + "\nb: " + "[" * 100 + "*a" + "]" * 100, False),
    ],
    ids=["flow", "deep flow", "blocks", "deep blocks", "deep list", "alias", "deep alias"],
)
def test_levels_of_yaml_are_counted_through_aliases(text: str, fits: bool) -> None:
    loader = NodeLoader(text)
    if fits:
        assert loader.get_single_node() is not None
    else:
        with pytest.raises(NestedTooDeeply):
            loader.get_single_node()


@given(st.recursive(st.integers() | st.text(max_size=3), lambda inner: st.lists(inner) | st.dictionaries(TRAPS, inner)))
def test_json_that_was_written_can_be_read(value: object) -> None:
    check_json(json.dumps(value))
    check_value(value)
