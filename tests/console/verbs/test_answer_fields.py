"""`answer --field NAME=VALUE`: fields of a form on the command line, and the same answer as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from console.verbs.base import BadInput
from console.verbs.decisions.answer_fields import value_of_fields
from runtime.judgement.recovery.input_validation import InvalidInput, parse_input
from tests.console.linear.test_prompts import asked_of

TRIP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "seats": {"type": "integer", "minimum": 1, "default": 2},
        "extras": {"type": "array", "items": {"enum": ["wifi", "bag"]}},
        "home": {"type": "object", "properties": {"city": {"type": "string"}}},
        "a=b": {"type": "string"},
    },
    "required": ["name"],
}


def value(*given: str, schema: Any = TRIP) -> Any:
    return value_of_fields(asked_of(answer_schema=schema, question="?"), "input", given)


def test_fields_by_name_make_the_value_with_the_defaults_of_the_others() -> None:
    assert value("name=Ada", "home.city=Lund", "extras=wifi", "extras=bag", "a=b=c=d") == {
        "name": "Ada", "seats": 2, "extras": ["wifi", "bag"], "home": {"city": "Lund"}, "a=b": "c=d",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["seats=3"], "'name' is required, for example text"),
        (["name=Ada", "seats=0"], "'seats': should be at least 1, got 0, for example 2"),
        (["name=Ada", "seats=many"], "'seats': should be a whole number, for example 2"),
        (["nam=Ada"], "unknown field: did you mean 'name'"),
        (["name"], "must be NAME=VALUE, for example --field 'name=text'"),
        (["name=Ada", "extras=sauna"], "'extras': should be one of: wifi, bag, for example extras=wifi"),
    ],
)
def test_what_does_not_fit_names_the_field_and_an_example(given: list[str], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        value(*given)
    assert said in str(caught.value)


def test_an_answer_of_one_value_takes_no_fields() -> None:
    with pytest.raises(BadInput, match="give --value, for example --value"):
        value("x=1", schema={"type": "integer"})


def test_json_that_does_not_fit_names_the_field_and_an_example() -> None:
    with pytest.raises(InvalidInput, match="'seats': should be of type integer, got 'x', for example 2"):
        parse_input(TRIP, '{"name": "Ada", "seats": "x"}')
