"""What a user means who types a few letters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from screens.render.layout import plain_text
from screens.views.lists.commands import (
    MAX_SHOWN_COMMANDS,
    Command,
    command_rows,
    matching_commands,
    nearest_command,
)


def command(name: str, does: str = "", *also: str, why_not: str = "") -> Command:
    return Command(name, does, lambda: None, also=also, why_not=why_not)


ALL = [
    command("zoom", "Give one pane all the room"),
    command("swarms", "Go to Swarms", "runs"),
    command("log", "Go to Log"),
    command("theme orbiter-dark", "Use it, and keep it"),
    command("theme orbiter-light", "Use it, and keep it"),
    command("run weekly digest run-1", "Go to it: waiting", "run-1"),
    command("abort weekly digest run-1", "End it now; asks first"),
    command("quit", "Close the console", "q"),
]


def names(typed: str) -> list[str]:
    return [each.name for each in matching_commands(ALL, typed)]


def test_nothing_typed_is_everything_in_its_order() -> None:
    assert names("") == names(" : ") == [each.name for each in ALL]


def test_a_name_comes_before_what_only_begins_so() -> None:
    assert names("log")[0] == "log"
    assert names(":q")[0] == "quit"
    assert names("runs")[0] == "swarms"
    assert names("run-1")[0] == "run weekly digest run-1"
    assert names("theme light") == ["theme orbiter-light"]
    assert names("RUN week")[0] == "run weekly digest run-1"


def test_letters_scattered_over_a_name_do_where_nothing_else_fits() -> None:
    assert names("swms") == ["swarms"]
    assert names("xyz") == []


def test_an_unknown_word_has_a_nearest_one() -> None:
    assert nearest_command(ALL, "swrams") == "swarms"
    assert nearest_command(ALL, ":thmee orbiter").startswith("theme")
    assert nearest_command(ALL, "%%%%") == ""


def test_what_cannot_be_done_says_why_and_rows_are_capped() -> None:
    (row,) = command_rows([command("revive", "Bring it back", why_not="it is there")])
    assert plain_text(row.cells[-1]) == "it is there"
    assert len(command_rows(ALL * 100)) == MAX_SHOWN_COMMANDS


@given(st.text(max_size=20))
def test_whatever_is_typed_no_command_comes_twice(typed: str) -> None:
    found = matching_commands(ALL, typed)
    assert len({each.name for each in found}) == len(found)
    nearest_command(ALL, typed)


@given(st.sampled_from([each.name for each in ALL]), st.integers(1, 10))
def test_the_beginning_of_a_name_finds_it(name: str, length: int) -> None:
    assert name in names(name[:length])
