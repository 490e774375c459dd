"""Values of a form: from fields to JSON and back, and problems named by field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbiter.json_schema import find_problems
from runtime.judgement.forms.form_values import InvalidForm, Typed, build_value, default_values, split_value
from runtime.judgement.forms.schema_form import form_of
from runtime.judgement.forms.typed_text import WrongKind, field_text, read_text

TRIP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "seats": {"type": "integer", "minimum": 1, "default": 2},
        "vegan": {"type": "boolean"},
        "class": {"oneOf": [{"const": "e", "title": "Economy"}, {"const": "b", "title": "Business"}]},
        "extras": {"type": "array", "items": {"enum": ["wifi", "bag"]}, "maxItems": 1},
        "days": {"type": "array", "items": {"type": "integer"}},
        "home": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "more": {"type": "object"},
    },
    "required": ["name"],
}


def typed(**texts: str) -> dict[tuple[str, ...], Any]:
    return {tuple(name.split("__")): Typed(text) for name, text in texts.items()}


def test_what_is_typed_becomes_the_value_that_the_schema_wants() -> None:
    form = form_of(TRIP)
    filled = typed(
        name="Ada", seats=" 3 ", vegan="Yes", extras="bag", days="1, 2", home__city="Lund", more='{"a": [1]}'
    )
    assert build_value(form, {**default_values(form), **filled, ("class",): Typed("Economy")}) == {
        "name": "Ada", "seats": 3, "vegan": True, "class": "e", "extras": ["bag"], "days": [1, 2],
        "home": {"city": "Lund"}, "more": {"a": [1]},
    }  # fmt: skip
    assert build_value(form, {**default_values(form), **typed(name="Ada", vegan="", more=" ")}) == {
        "name": "Ada",
        "seats": 2,
    }


@pytest.mark.parametrize(
    ("filled", "where", "said"),
    [
        ({}, "name", "is required, for example text"),
        ({("name",): "A"}, "name", "at least 2 characters"),
        (typed(name="Ada", seats="many"), "seats", "should be a whole number, for example 2"),
        (typed(name="Ada", seats="0"), "seats", "should be at least 1, got 0, for example 2"),
        (typed(name="Ada", vegan="perhaps"), "vegan", "should be yes or no, for example yes"),
        ({("name",): "Ada", ("class",): Typed("first")}, "class", "should be one of: Economy, Business, for example e"),
        (typed(name="Ada", extras="bag, wifi"), "extras", "at most 1 items"),
        (typed(name="Ada", days="1, x"), "days", "should be a whole number, for example 1, 2"),
        (typed(name="Ada", more="{"), "more", "should be JSON"),
        (typed(name="Ada", more="[1]"), "more", "should be of type object"),
        ({("name",): "Ada", ("home",): {}}, "home.city", "is required"),
    ],
)
def test_a_problem_names_its_field_and_an_example(filled: dict[Any, Any], where: str, said: str) -> None:
    with pytest.raises(InvalidForm, match=said) as caught:
        build_value(form_of(TRIP), filled)
    (problem,) = caught.value.problems
    assert problem.where == where
    assert problem.field is not None
    assert problem.field.name == where
    assert str(problem).startswith(f"'{where}'")


def test_all_problems_are_told_at_once_each_once() -> None:
    with pytest.raises(InvalidForm) as caught:
        build_value(form_of(TRIP), typed(seats="x", vegan="y", home__city="L"))
    assert sorted(problem.where for problem in caught.value.problems) == ["name", "seats"]


def test_an_inner_object_that_is_optional_is_there_if_one_of_its_fields_is() -> None:
    form = form_of({**TRIP, "required": ["name", "home"]})
    with pytest.raises(InvalidForm, match=r"'home\.city' is required"):
        build_value(form, typed(name="Ada"))
    assert "home" not in build_value(form_of(TRIP), typed(name="Ada"))


def test_the_rest_gives_members_without_a_field_and_no_others() -> None:
    form = form_of({**TRIP, "additionalProperties": True})
    assert build_value(form, {("name",): "Ada", (): Typed('{"x": 1}')}) == {"name": "Ada", "x": 1}
    with pytest.raises(InvalidForm, match="'name' has a field of its own"):
        build_value(form, {("name",): "Ada", (): Typed('{"name": "Bob"}')})
    with pytest.raises(InvalidForm, match="should be a JSON object"):
        build_value(form, {("name",): "Ada", (): Typed("[1]")})


def test_null_is_given_where_it_is_allowed() -> None:
    schema = {"properties": {"n": {"type": ["integer", "null"]}}, "required": ["n"]}
    for text in ("", "null"):
        assert build_value(form_of(schema), typed(n=text)) == {"n": None}
    with pytest.raises(InvalidForm, match="'n': should be a whole number"):
        build_value(form_of(schema), typed(n="none"))


def test_a_secret_field_is_named_without_its_example() -> None:
    form = form_of({"properties": {"pin": {"type": "integer", "writeOnly": True, "examples": [1234]}}})
    with pytest.raises(InvalidForm) as caught:
        build_value(form, typed(pin="x"))
    assert "1234" not in str(caught.value)


@pytest.mark.parametrize("text", ["NaN", "1e999", "9" * 5_000, "١٢x", "0x10", "1,5", "--1", "1 2"])
def test_what_is_not_a_number_of_json_is_refused(text: str) -> None:
    (field,) = form_of({"properties": {"n": {"type": "number"}}}).fields
    with pytest.raises(WrongKind):
        read_text(field, text)


def test_json_that_is_too_deep_is_refused() -> None:
    (field,) = form_of({"properties": {"x": {}}}).fields
    with pytest.raises(WrongKind, match="nested too deeply"):
        read_text(field, "[" * 100_000)


# --- round trips ------------------------------------------------------------------------------------------------------

NAMES = st.text("ab.\\=é ", max_size=4)
TEXTS = st.text(max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20)
CONSTANTS = st.none() | st.booleans() | st.integers(-3, 3) | st.text("a1,[ ", max_size=3)
JSON = st.recursive(CONSTANTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))

Drawn = tuple[dict[str, Any], st.SearchStrategy[Any]]
"""A schema, and values that fit it."""


def _choices(values: list[Any], style: int) -> Drawn:
    united: list[dict[str, Any]] = [{"const": value, "title": f"The {value}"} for value in values]
    schema: dict[str, Any] = [{"enum": values}, {"oneOf": united}, {"anyOf": united}][style]
    return schema, st.sampled_from(values)


def _several(drawn: Drawn) -> Drawn:
    schema, values = drawn
    return {"type": "array", "items": schema}, st.lists(values, max_size=3)


def _nullable(drawn: Drawn, *, union: bool) -> Drawn:
    schema, values = drawn
    if union or not isinstance(schema.get("type"), str):
        return {"anyOf": [schema, {"type": "null"}]}, st.none() | values
    return {**schema, "type": [schema["type"], "null"]}, st.none() | values


def _object(members: dict[str, tuple[Drawn, bool]]) -> Drawn:
    schema = {
        "type": "object",
        "properties": {name: drawn[0] for name, (drawn, _) in members.items()},
        "required": [name for name, (_, needed) in members.items() if needed],
    }
    given_ = {name: drawn[1] for name, (drawn, needed) in members.items() if needed}
    optional = {name: drawn[1] for name, (drawn, needed) in members.items() if not needed}
    return schema, st.fixed_dictionaries(given_, optional=optional)


UNIQUE = st.lists(CONSTANTS, min_size=1, max_size=4, unique_by=json.dumps)
SCALARS: st.SearchStrategy[Drawn] = st.one_of(
    st.just(({"type": "string"}, TEXTS)),
    st.just(({"type": "number"}, NUMBERS)),
    st.just(({"type": "integer"}, st.integers(-(10**20), 10**20))),
    st.just(({"type": "boolean"}, st.booleans())),
    st.just(({}, JSON)),
    st.builds(_choices, UNIQUE, st.integers(0, 2)),
)
PARTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(_several, inner),
        st.builds(_nullable, inner, union=st.booleans()),
        st.builds(_object, st.dictionaries(NAMES, st.tuples(inner, st.booleans()), max_size=4)),
    ),
    max_leaves=8,
)
OBJECTS = st.builds(_object, st.dictionaries(NAMES, st.tuples(PARTS, st.booleans()), max_size=4))


@settings(max_examples=150)
@given(st.data(), OBJECTS | PARTS)
def test_a_value_taken_apart_and_put_together_is_the_same(data: st.DataObject, drawn: Drawn) -> None:
    schema, values = drawn
    value = data.draw(values)
    form = form_of(schema)
    assert find_problems(schema, value) == []
    built = build_value(form, split_value(form, value))
    assert json.dumps(built, sort_keys=True) == json.dumps(value, sort_keys=True)


@settings(max_examples=150)
@given(st.data(), OBJECTS | PARTS)
def test_the_text_of_a_field_reads_as_its_value(data: st.DataObject, drawn: Drawn) -> None:
    schema, values = drawn
    form = form_of(schema)
    fields = {field.path: field for field in form.all_fields}
    for path, value in split_value(form, data.draw(values)).items():
        field = fields.get(path)
        if field is None or (value == "" and field.nullable):
            continue
        read = read_text(field, field_text(field, value))
        assert json.dumps(read, sort_keys=True) == json.dumps(value, sort_keys=True)


@settings(max_examples=100)
@given(OBJECTS | PARTS, JSON)
def test_any_value_is_kept_or_refused_with_a_reason(drawn: Drawn, value: Any) -> None:
    form = form_of(drawn[0])
    try:
        built = build_value(form, split_value(form, value))
    except InvalidForm as exc:
        problems, built = exc.problems, None
    else:
        problems = ()
    assert problems or find_problems(drawn[0], built) == []
