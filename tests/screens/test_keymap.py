"""The map of keys is that of the bindings: none is left out, and the help page says the same."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

import screens
from screens.keymap import BOUND, keymap
from screens.keynames import PLACES, in_words


def test_every_binding_of_ours_is_in_the_map_once() -> None:
    ids = [action.id for action in keymap()]
    assert len(ids) == len(set(ids))
    bound = [each for owner in _owners() for each in owner.__dict__.get("BINDINGS", ())]
    assert bound
    assert {each.id for each in bound if isinstance(each, Binding)} == {
        action_id for action_id in ids if not action_id.startswith("decision.")
    }


def test_everything_with_bindings_is_known() -> None:
    assert {owner for owner in _owners() if owner.__dict__.get("BINDINGS")} == set(BOUND)


def test_every_action_says_where_and_what_and_has_a_key() -> None:
    actions = keymap()
    places = list(dict.fromkeys(action.place for action in actions))
    assert places[:-1] == [place for place in PLACES.values() if place in places]
    assert all(action.does and all(action.keys) for action in actions)


def test_no_key_means_two_things_in_one_place() -> None:
    """Decisions are left out: not all of them are offered at once."""
    taken = [(action.place, key) for action in keymap() if action.id.partition(".")[0] in PLACES for key in action.keys]
    assert len(taken) == len(set(taken))


@pytest.mark.parametrize(
    ("key", "words"),
    [("ctrl+s", "ctrl+s"), ("escape", "esc"), ("question_mark", "?"), ("shift+pagedown", "shift+pgdn")],
)
def test_keys_are_told_in_words(key: str, words: str) -> None:
    assert in_words(key) == words


def _owners() -> Iterator[type[DOMNode]]:
    """Every class of ours that can have bindings."""
    for module in pkgutil.walk_packages(screens.__path__, "screens."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, DOMNode) and value.__module__ == module.name:
                yield value
