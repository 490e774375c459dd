"""Presets, and keys out of `orbiter.toml`: what is taken, what is refused, and that it is said where and what to do."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import console.preferences.keymap
from console.preferences.keymap import (
    PRESETS,
    InvalidKeys,
    Keymap,
    build_keymap,
)
from screens.render.key_names import can_clash, key_in_words
from screens.shell.key_actions import GRANT_LONGER, actions

ACTIONS = actions()
CONTEXT = {action.id: action.context for action in ACTIONS}
DEFAULT = {action.id: action.keys for action in ACTIONS}


def made(given_: dict[str, Any], **options: Any) -> Keymap:
    return build_keymap(ACTIONS, given_, **options)


def refusal(given_: dict[str, Any], **options: Any) -> str:
    with pytest.raises(InvalidKeys) as raised:
        made(given_, **options)
    return str(raised.value)


def overlaps(found: dict[str, tuple[str, ...]]) -> set[frozenset[str]]:
    """Pairs of actions that one key does at the same time."""
    return {
        frozenset((one, other))
        for one in found
        for other in found
        if one < other and set(found[one]) & set(found[other]) and can_clash(CONTEXT[one], CONTEXT[other])
    }


def test_without_anything_configured_the_bindings_stand_as_they_are() -> None:
    found = made({})
    assert found.keys == DEFAULT
    assert found.for_textual() == {}


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_name_actions_that_are_there_and_bring_no_clash(preset: str) -> None:
    assert set(PRESETS[preset]) <= set(DEFAULT)
    found = made({"preset": preset})
    assert overlaps(dict(found.keys)) <= overlaps(DEFAULT)
    assert found.keys == made({}, preset=preset).keys


def test_an_action_is_moved_by_context_or_by_its_whole_id() -> None:
    assert made({"run": {"zoom": ["Z", "f9"]}}).keys["run.zoom"] == ("Z", "f9")
    assert made({"run": {"run.zoom": "Z"}}).keys["run.zoom"] == ("Z",)
    assert made({"run.zoom": "Z"}).keys["run.zoom"] == ("Z",)
    assert made({"everywhere": {"help": ["f1"]}}).keys["app.help"] == ("f1",)


def test_an_empty_list_takes_the_key_away_and_another_action_may_have_it() -> None:
    found = made({"run": {"zoom": []}, "app": {"help": ["z"]}})
    assert found.keys["run.zoom"] == ()
    assert found.for_textual()["run.zoom"] == "<none>"
    assert found.for_textual()["app.help"] == "z"


def test_two_actions_may_change_places() -> None:
    one, other = DEFAULT["run.zoom"], DEFAULT["app.next_decision"]
    found = made({"run.zoom": [key_in_words(other[0])], "app.next_decision": [key_in_words(one[0])]})
    assert (found.keys["run.zoom"], found.keys["app.next_decision"]) == (other, one)


def test_to_quit_there_is_always_a_key() -> None:
    assert made({"app": {"quit": []}}).keys["app.quit"] == ("ctrl+q",)
    assert "ctrl+q always quits" in refusal({"run": {"zoom": ["ctrl+q"]}})


def test_a_clash_names_file_and_key_and_both_actions_and_what_to_do() -> None:
    said = refusal({"run": {"zoom": ["n"]}}, sources={("keys", "run", "zoom"): "/etc/orbiter.toml:7"})
    assert said.startswith("/etc/orbiter.toml:7: keys.run.zoom: 'n' also does app.next_decision")
    assert "another key, or []" in said


def test_the_letters_of_decisions_take_part_in_the_check() -> None:
    zoom = key_in_words(DEFAULT["run.zoom"][0])
    assert "also does run.zoom" in refusal({"decision": {"retry": zoom}})
    assert "also does decision.retry" in refusal({"run": {"zoom": DEFAULT["decision.retry"][0]}})
    found = made({"decision": {"retry": "Z"}})
    assert found.letters()["retry"] == "Z"
    assert found.for_textual() == {}, "decisions are no bindings"


def test_a_standing_grant_is_always_the_capital_letter_of_the_grant() -> None:
    found = made({"decision": {"grant": "p"}, "run": {"freeze": "Z"}})
    assert (found.letters()["grant"], found.keys[GRANT_LONGER]) == ("p", ("P",))
    for wrong in (["G"], [""], ["enter"], []):
        assert "decision.grant" in refusal({"decision": {"grant": wrong}})
    assert "capital letter" in refusal({"decision": {"grant_longer": "P"}})


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"run": {"zom": "Z"}}, ["keys.run.zom", "unknown action 'run.zom'", "did you mean 'run.zoom'?"]),
        ({"rnu": {"zoom": "Z"}}, ["keys.rnu", "unknown context 'rnu'", "did you mean 'run'?"]),
        ({"preset": "vmi"}, ["keys.preset", "unknown preset 'vmi'", "did you mean 'vim'?"]),
        ({"preset": 3}, ["keys.preset", "unknown preset 3"]),
        ({"run": {"zoom": "ctrl+wat"}}, ["keys.run.zoom", "'ctrl+wat' is not a key", "ctrl+, alt+"]),
        ({"run": {"zoom": 3}}, ["keys.run.zoom", "a list of keys"]),
        ({"run": {"zoom": ["Z", 3]}}, ["keys.run.zoom", "a list of keys"]),
        ({"run": {"app.help": "Z"}}, ['keys.run."app.help"', "put it into [keys.app]"]),
        ({"editor": {"send": "x"}}, ["keys.editor.send", "'x' types itself there"]),
        ({"decision": {"retry": ["R", "Z"]}}, ["keys.decision.retry", "one key"]),
        ({"decision": {"retry": "f5"}}, ["keys.decision.retry", "one character"]),
    ],
)
def test_what_cannot_be_is_named_with_what_to_do(given_: dict[str, Any], words: list[str]) -> None:
    said = refusal(given_)
    assert [word for word in words if word not in said] == [], said


def test_all_mistakes_are_said_at_once() -> None:
    assert len(refusal({"preset": "x", "run": {"zom": "Z", "zoom": "foo"}, "nowhere": {}}).splitlines()) == 4


def test_an_unknown_preset_on_the_command_line_is_refused() -> None:
    assert "did you mean 'vim'?" in refusal({}, preset="vi")


IDS = st.sampled_from([action.id for action in ACTIONS])
KEYS = st.sampled_from([*"abcnqyzGZ/?", "f5", "enter", "esc", "ctrl+q", "ctrl+s", "foo", "ctrl+i", "space", "tab"])


@given(st.dictionaries(IDS, st.lists(KEYS, max_size=3), max_size=6), st.sampled_from([*PRESETS]))
def test_what_is_taken_has_no_clash_and_a_key_to_quit(given_: dict[str, list[str]], preset: str) -> None:
    try:
        found = made({**given_, "preset": preset})
    except InvalidKeys:
        return
    assert overlaps(dict(found.keys)) <= overlaps(DEFAULT)
    assert "ctrl+q" in found.keys["app.quit"]
    assert all(max(Counter(keys).values(), default=1) == 1 for keys in found.keys.values())
    assert found.keys[GRANT_LONGER][0].isupper()


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["preset", "run", "app", "decision", "x", "run.zoom"]), JUNK, max_size=4))
def test_any_table_is_taken_or_refused_with_a_sentence_for_each_mistake(given_: dict[str, Any]) -> None:
    try:
        found = made(given_)
    except InvalidKeys as exc:
        refused = str(exc).splitlines()
        assert refused
        assert all(line.startswith("keys.") and ": " in line for line in refused)
    else:
        assert set(found.keys) == {action.id for action in ACTIONS}
        assert found.keys["app.quit"]


def documented() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every example of `[keys]` in the pages and in our modules' own words: where it stands, and its table."""
    root = Path(__file__).parents[3]
    for path in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        for block in re.findall(r"```toml\n(.*?)```", path.read_text(), re.DOTALL):
            if "keys" in (table := tomllib.loads(block)):
                yield path.name, table["keys"]
    assert console.preferences.keymap.__doc__
    example = console.preferences.keymap.__doc__.partition("[keys]")
    yield "console/preferences/keymap.py", tomllib.loads(inspect.cleandoc("    [keys]" + example[2]))["keys"]


@pytest.mark.parametrize(("where", "example"), documented())
def test_every_documented_example_is_taken(where: str, example: dict[str, Any]) -> None:
    assert made(example).changed, where
