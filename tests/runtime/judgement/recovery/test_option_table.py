"""The table of options: what decides whether an answer acts, for whom, and after which keys.

`python -m tests.option_mutants` changes one entry of the table after the other: one of these tests must notice it.
"""

from __future__ import annotations

from typing import Final

import pytest

from runtime.judgement.recovery.option_spec import Confirmation
from runtime.judgement.recovery.option_table import (
    LIFETIMES,
    NEVER_BY_AGENTS,
    OPTIONS,
    STANDING_LIFETIMES,
    agent_options,
    consequence_text,
    effect_of,
    option_keys,
)

ENDING = {"deny", "skip", "accept", "acknowledge", "abort"}
SECOND_KEY: Final[dict[str, tuple[Confirmation, ...]]] = {
    "retry": ("in doubt", "breakpoint"),
    "grant": ("overwrites",),
    "skip": ("always",),
    "accept": ("always",),
    "reset": ("shared",),
    "acknowledge": ("always",),
    "abort": ("always",),
}
REACHES = {
    "switch_model": ("attempt", "agent", "run"),
    "skip": ("attempt", "agent"),
    "acknowledge": ("attempt", "agent"),
    "abort": ("attempt", "agent", "run"),
}
TOLD_APART = {
    "retry": {"agent", "any", "breakpoint", "group", "in doubt", "misfit", "model", "run", "tool"},
    "edit": {"any", "permission"},
    "input": {"any", "correction", "question"},
    "grant": {"any", "lasting", "not the last"},
    "deny": {"any", "breakpoint", "permission"},
    "result": {"any", "breakpoint", "in doubt", "model", "permission", "tool"},
    "skip": {"any", "breakpoint", "in doubt", "model", "permission", "question", "tool"},
    "acknowledge": {"any", "no progress"},
}
"""Kinds of incident for which an option has a sentence of its own; of the others ``any`` is told."""
PARAMS: dict[str, list[tuple[str, str, bool, str, str]]] = {
    "wait_retry": [("seconds", "duration", False, "", "everywhere")],
    "switch_model": [("model", "model", True, "", "everywhere")],
    "edit": [("arguments", "json", True, "arguments", "everywhere")],
    "input": [("value", "text", True, "answer", "everywhere")],
    "grant": [
        ("for", "choice", False, "", "everywhere"),
        ("subject", "word", False, "", "lines"),
        ("pattern", "word", False, "", "lines"),
        ("until", "date", False, "", "lines"),
    ],
    "deny": [("message", "text", False, "", "everywhere")],
    "result": [("value", "text", True, "result", "everywhere")],
    "skip": [("value", "text", False, "answer", "lines")],
    "extend": [("amount", "number", False, "", "everywhere")],
    "acknowledge": [("value", "text", False, "", "never")],
    "abort": [("value", "text", False, "", "lines")],
}
"""Name, kind, whether it must be given, the schema that it must fit, who asks for it."""


def test_an_option_is_found_under_its_id_and_does_what_its_id_says() -> None:
    assert [(name, spec.id, spec.effect) for name, spec in OPTIONS.items()] == [(name,) * 3 for name in OPTIONS]
    assert {name: effect_of(name) for name in OPTIONS} == {name: name for name in OPTIONS}
    assert effect_of("of a newer program") is None


def test_each_option_has_a_key_of_its_own() -> None:
    keys = option_keys()
    assert keys == {name: spec.key for name, spec in OPTIONS.items()}
    assert len(set(keys.values())) == len(OPTIONS)
    assert "".join(keys.values()) == "rumeigdvscxtoa"


def test_what_ends_something_or_gives_a_right_is_never_for_agents() -> None:
    assert {name for name, spec in OPTIONS.items() if spec.ends} == ENDING
    assert {"grant", "result", "accept"} == NEVER_BY_AGENTS
    assert agent_options() == ("retry", "wait_retry", "switch_model", "edit", "input", "extend", "reset")


def test_what_cannot_be_undone_takes_a_second_key_and_says_what_it_will_do() -> None:
    assert {name: tuple(spec.confirm) for name, spec in OPTIONS.items() if spec.confirm} == SECOND_KEY
    assert all(consequence_text(name, case) for name, cases in SECOND_KEY.items() for case in cases)
    assert consequence_text("of a newer program", "always") == consequence_text("retry", "always") == ""


@pytest.mark.parametrize("option", ["skip", "abort"])
def test_a_consequence_names_the_way_back(option: str) -> None:
    assert "R " in consequence_text(option, "always")
    assert "orbiter-console rewind" in consequence_text(option, "always", "orbiter-console rewind")
    assert "{" not in consequence_text(option, "always")


def test_what_does_a_call_again_is_known_to() -> None:
    assert {name for name, spec in OPTIONS.items() if spec.repeats} == {"retry", "wait_retry", "edit"}


def test_an_answer_reaches_no_further_than_its_option_may() -> None:
    assert {name: spec.reaches for name, spec in OPTIONS.items() if spec.reaches != ("attempt",)} == REACHES
    assert {name: spec.reach for name, spec in OPTIONS.items() if spec.reach != "attempt"} == {"abort": "run"}


def test_what_an_option_takes_and_what_it_must_fit() -> None:
    found = {
        name: [(each.name, each.kind, each.required, each.schema, each.asked) for each in spec.params]
        for name, spec in OPTIONS.items()
        if spec.params
    }
    assert found == PARAMS


def test_a_grant_is_for_once_where_nothing_is_said() -> None:
    lifetime = OPTIONS["grant"].param("for")
    assert lifetime is not None
    assert lifetime.default == "once"
    assert lifetime.choices == LIFETIMES
    assert [(each.value, each.key) for each in LIFETIMES] == [
        ("once", ""),
        ("run", "r"),
        ("swarm", "s"),
        ("always", "a"),
    ]
    assert STANDING_LIFETIMES == ("run", "swarm", "always")
    set_by_table = [
        (name, each.name) for name, spec in OPTIONS.items() for each in spec.params if each.default is not None
    ]
    assert set_by_table == [("grant", "for")]


def test_every_option_says_what_it_is_and_what_leaving_a_parameter_out_means() -> None:
    for spec in OPTIONS.values():
        assert spec.label[0].isupper()
        assert spec.does
        assert not spec.does.endswith(".")
        for param in spec.params:
            assert param.label
            assert param.required or param.unset or param.default is not None, f"{spec.id}: {param.name}"


def test_what_a_key_does_first_follows_from_what_is_asked_and_confirmed() -> None:
    marked = {name: spec.pressed_label.removeprefix(spec.label) for name, spec in OPTIONS.items()}
    assert {name for name, mark in marked.items() if mark == " (then y)"} == {"skip", "accept", "acknowledge", "abort"}
    opening = {"wait_retry", "switch_model", "edit", "input", "deny", "result", "extend"}
    assert {name for name, mark in marked.items() if mark == "…"} == opening
    assert {name for name, mark in marked.items() if not mark} == {"retry", "grant", "reset"}


@pytest.mark.parametrize("name", OPTIONS)
def test_what_an_option_will_do_is_told_for_each_kind_of_incident(name: str) -> None:
    told = OPTIONS[name].outcomes
    assert set(told) == TOLD_APART.get(name, {"any"})
    assert all(sentence for alternatives in told.values() for sentence in alternatives)
