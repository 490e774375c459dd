"""The map of keys is that of the bindings: none is left out, and every key has a name that a terminal can send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.binding import Binding

from screens.render.key_names import (
    CONTEXT_NAMES,
    can_clash,
    key_in_words,
    read_key,
)
from screens.shell.key_actions import GRANT_LONGER, actions, bound_classes


def test_every_binding_of_ours_is_in_the_map_once() -> None:
    ids = [action.id for action in actions()]
    assert len(ids) == len(set(ids))
    bindings = [each for owner in bound_classes() for each in owner.__dict__["BINDINGS"]]
    assert all(isinstance(each, Binding) and each.id for each in bindings)
    assert {each.id for each in bindings if isinstance(each, Binding)} == {
        action.id for action in actions() if action.context != "decision"
    }


def test_every_action_says_where_and_what_and_has_a_key() -> None:
    places = list(dict.fromkeys(action.place for action in actions()))
    assert places[:-1] == [place for place in CONTEXT_NAMES.values() if place in places]
    assert all(action.does and all(action.keys) for action in actions())


def test_no_key_means_two_things_in_one_context() -> None:
    """Decisions are left out: not all of them are offered at once."""
    taken = [(action.context, key) for action in actions() if action.context != "decision" for key in action.keys]
    assert len(taken) == len(set(taken))


def test_what_is_bound_to_a_pane_reaches_together_with_its_screen_and_not_with_another() -> None:
    assert can_clash("tree", "run")
    assert can_clash("list", "home")
    assert can_clash("app", "run")
    assert can_clash("decision", "tree")
    assert not can_clash("tree", "home")
    assert not can_clash("home", "run")
    assert not can_clash("help", "app")
    assert not can_clash("decision", "editor")


def test_the_key_of_a_standing_grant_is_the_capital_letter() -> None:
    keys = {action.id: action.keys for action in actions()}
    assert keys[GRANT_LONGER] == (keys["decision.grant"][0].upper(),)


@pytest.mark.parametrize(
    ("key", "words"),
    [("ctrl+s", "ctrl+s"), ("escape", "esc"), ("question_mark", "?"), ("shift+pagedown", "shift+pgdn"),
     ("left_square_bracket", "["), ("plus", "+"), ("G", "G")],
)  # fmt: skip
def test_keys_are_told_in_words(key: str, words: str) -> None:
    assert key_in_words(key) == words
    assert read_key(words) == key


@pytest.mark.parametrize(
    ("text", "key"),
    [("Esc", "escape"), ("Ctrl+S", "ctrl+s"), ("shift+g", "G"), ("F5", "f5"), ("pgup", "pageup"), (" ", "space"),
     ("alt+x", "alt+x"), ("shift+alt+left", "alt+shift+left"), ("question_mark", "question_mark"), ("+", "plus"),
     ("alt++", "alt+plus")],
)  # fmt: skip
def test_keys_are_read_as_people_write_them(text: str, key: str) -> None:
    assert read_key(text) == key


@pytest.mark.parametrize(
    "text",
    ["", "foo", "ctrl", "ctrl+", "ctrl+foo", "ctrl+ctrl+a", "hyper+a", "ab", "f25", "f0", "ctrl+?", "ctrl+i", "ctrl+m",
     "\x1b", "\n", "a,b", "ctrl a", "shift+1", "<none>"],
)  # fmt: skip
def test_what_no_terminal_sends_is_no_key(text: str) -> None:
    with pytest.raises(ValueError, match=r"key|shift|name that"):
        read_key(text)


@given(st.text(st.characters(max_codepoint=0x7F), max_size=12))
def test_whatever_is_read_as_a_key_is_read_the_same_when_it_is_told(text: str) -> None:
    try:
        key = read_key(text)
    except ValueError:
        return
    assert read_key(key_in_words(key)) == key
    assert "," not in key
