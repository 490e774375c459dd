"""From a foreign JSON schema to the fields of a form, also for schemas that mean harm."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from runtime.judgement.forms.fields import UNSET, FormField
from runtime.judgement.forms.schema_form import MAX_CHOICES, MAX_DESCRIPTION, MAX_FIELDS, MAX_TITLE, form_of
from runtime.judgement.forms.wanted import example_of, wanted_words

ELICITATION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Full name", "description": "As in the passport", "minLength": 2},
        "mail": {"type": "string", "format": "email"},
        "born": {"type": "string", "format": "date"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2},
        "weight": {"type": "number"},
        "vegan": {"type": "boolean", "default": False},
        "class": {"type": "string", "enum": ["e", "b"], "enumNames": ["Economy", "Business"], "default": "e"},
        "meal": {"type": "string", "oneOf": [{"const": "f", "title": "Fish"}, {"const": "r", "title": "Rice"}]},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["wifi", "bag"]}, "maxItems": 2},
        "stops": {"type": "array", "items": {"anyOf": [{"const": "A", "title": "Aba"}, {"const": "B"}]}},
        "code": {"type": "string", "format": "password"},
    },
    "required": ["name", "seats"],
}


def kinds(schema: dict[str, Any]) -> dict[str, str]:
    return {field.name: field.kind for field in form_of(schema).all_fields}


def only(schema: dict[str, Any]) -> FormField:
    """The field of the one member ``x``."""
    (field,) = form_of({"type": "object", "properties": {"x": schema}, "$defs": DEFS}).fields
    return field


DEFS: dict[str, Any] = {
    "address": {
        "type": "object",
        "title": "Address",
        "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}},
        "required": ["city"],
    },
    "colour": {"enum": ["red", "green"], "title": "Colour"},
    "loop": {"$ref": "#/$defs/loop"},
    "union_loop": {"anyOf": [{"$ref": "#/$defs/union_loop"}, {"type": "null"}]},
    "secret": {"type": "string", "writeOnly": True},
}


def test_the_subset_of_elicitation_is_a_form_of_typed_fields() -> None:
    form = form_of(ELICITATION)
    assert form.rest is None
    assert kinds(ELICITATION) == {
        "name": "text", "mail": "text", "born": "text", "seats": "integer", "weight": "number", "vegan": "boolean",
        "class": "choice", "meal": "choice", "extras": "several", "stops": "several", "code": "text",
    }  # fmt: skip
    named = {field.name: field for field in form.fields}
    assert (named["name"].title, named["name"].description) == ("Full name", "As in the passport")
    assert [name for name, field in named.items() if field.required] == ["name", "seats"]
    assert [name for name, field in named.items() if field.secret] == ["code"]
    assert {name: field.default for name, field in named.items() if field.default is not UNSET} == {
        "seats": 2, "vegan": False, "class": "e",
    }  # fmt: skip
    assert [(each.value, each.title) for each in named["class"].choices] == [("e", "Economy"), ("b", "Business")]
    assert [(each.value, each.title) for each in named["meal"].choices] == [("f", "Fish"), ("r", "Rice")]
    assert [(each.value, each.title) for each in named["stops"].choices] == [("A", "Aba"), ("B", "B")]


def test_words_for_what_is_wanted_and_an_example_of_it() -> None:
    told = {field.name: (wanted_words(field), example_of(field)) for field in form_of(ELICITATION).fields}
    assert told["name"] == ("text, 2 characters or more", "text")
    assert told["mail"] == ("an email address", "name@example.com")
    assert told["born"] == ("a date", "2027-01-31")
    assert told["seats"] == ("a whole number, 1 to 5", "2")
    assert told["vegan"] == ("yes or no", "no")
    assert told["meal"] == ("one of the choices", "f")
    assert told["extras"] == ("any of the choices, at most 2 of them", "wifi")


@pytest.mark.parametrize(
    ("schema", "kind", "nullable"),
    [
        ({"type": ["string", "null"]}, "text", True),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer", True),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "json", False),
        ({"type": ["string", "integer"]}, "json", False),
        ({"anyOf": [{"$ref": "#/$defs/colour"}, {"type": "null"}]}, "choice", True),
        ({"$ref": "#/$defs/colour"}, "choice", False),
        ({"allOf": [{"$ref": "#/$defs/colour"}], "default": "red"}, "choice", False),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "json", False),
        ({"enum": [1, "1", None]}, "choice", True),
        ({"const": 3}, "choice", False),
        ({"type": "array", "items": {"$ref": "#/$defs/colour"}}, "several", False),
        ({"type": "array", "items": {"type": "integer"}}, "list", False),
        ({"type": "array", "items": {"$ref": "#/$defs/address"}}, "json", False),
        ({"type": "array", "prefixItems": [{"type": "integer"}]}, "json", False),
        ({"type": "object"}, "json", False),
        ({"$ref": "#/$defs/loop"}, "json", False),
        ({"$ref": "#/$defs/union_loop"}, "json", False),
        ({"$ref": "#/nowhere"}, "json", False),
        ({"$ref": "https://example.com/schema.json"}, "json", False),
        ({"$dynamicRef": "#node"}, "json", False),
        ({}, "json", False),
    ],
)
def test_each_schema_has_its_kind_of_field(schema: dict[str, Any], kind: str, nullable: bool) -> None:
    field = only(schema)
    assert (field.kind, field.nullable) == (kind, nullable)


def test_members_of_inner_objects_are_fields_of_the_form() -> None:
    form = form_of({"properties": {"home": {"$ref": "#/$defs/address"}, "a.b": {"type": "string"}}, "$defs": DEFS})
    assert [field.name for field in form.fields] == ["home.city", "home.zip", "a\\.b"]
    assert form.titles_above(form.fields[0]) == ("Address",)


def test_the_default_of_an_inner_object_fills_its_fields() -> None:
    home = {"allOf": [{"$ref": "#/$defs/address"}], "default": {"city": "Lund", "zip": "odd"}}
    form = form_of({"properties": {"home": home}, "$defs": DEFS})
    assert [field.default for field in form.fields] == ["Lund", UNSET]


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "text"),
        ({"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]}, "choice"),
        ({"type": "array", "items": {"enum": ["a"]}}, "several"),
        ({"oneOf": [{"type": "object"}, {"type": "string"}]}, "json"),
        ({}, "json"),
    ],
)
def test_what_is_not_an_object_is_one_field_for_the_whole(schema: dict[str, Any], kind: str) -> None:
    found = form_of(schema).single
    assert found is not None
    assert (found.path, found.kind, found.required) == ((), kind, True)


@pytest.mark.parametrize(
    "more",
    [
        {"additionalProperties": {"type": "integer"}},
        {"additionalProperties": True},
        {"patternProperties": {"^x-": {}}},
        {"required": ["unknown"]},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"type": ["object", "null"]},
    ],
)
def test_members_that_no_property_tells_of_are_typed_as_json(more: dict[str, Any]) -> None:
    form = form_of({"type": "object", "properties": {"a": {"type": "string"}}, **more})
    assert [field.name for field in form.fields] == ["a"]
    assert form.rest is not None
    assert form.rest.kind == "json"


def test_a_closed_object_has_no_field_for_the_rest() -> None:
    assert form_of({"properties": {"a": {}}, "additionalProperties": False}).rest is None


def test_a_default_that_does_not_fit_or_is_a_secret_is_not_filled_in() -> None:
    assert only({"type": "integer", "default": "x"}).default is UNSET
    assert only({"type": "string", "format": "password", "default": "hunter22"}).default is UNSET
    assert only({"type": ["string", "null"], "default": None}).default is None


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/secret"},
        {"type": "string", "allOf": [{"$ref": "#/$defs/secret"}]},
        {"type": "array", "items": {"$ref": "#/$defs/secret"}},
        {"oneOf": [{"type": "object", "properties": {"p": {"$ref": "#/$defs/secret"}}}, {"type": "integer"}]},
    ],
)
def test_a_secret_behind_a_reference_is_a_secret(schema: dict[str, Any]) -> None:
    assert only(schema).secret


# --- schemas that mean harm -------------------------------------------------------------------------------------------


def test_more_members_than_a_form_has_room_for_are_typed_as_json() -> None:
    many = {f"m{number}": {"type": "string"} for number in range(5 * MAX_FIELDS)}
    form = form_of({"properties": many})
    assert len(form.fields) == MAX_FIELDS
    assert form.rest is not None


def test_a_secret_among_the_members_without_a_field_is_masked() -> None:
    many: dict[str, Any] = {f"m{number}": {"type": "string"} for number in range(MAX_FIELDS)}
    form = form_of({"properties": {**many, "last": {"type": "string", "format": "password"}}})
    assert form.rest is not None
    assert form.rest.secret
    assert not form.fields[0].secret


def test_objects_inside_one_another_end_somewhere() -> None:
    tree = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "n": {"type": "integer"}}}
    form = form_of(tree)
    assert 0 < len(form.fields) <= MAX_FIELDS
    assert {field.kind for field in form.fields} == {"integer", "json"}
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        deep = {"type": "object", "properties": {"x": deep}}
    found = form_of(deep)
    assert (found.fields, found.rest is not None) == ((), True)


def test_a_schema_of_many_parts_is_asked_for_as_json_at_once() -> None:
    form = form_of({"properties": {str(number): {} for number in range(100_000)}})
    assert form.single is not None
    assert form.single.kind == "json"


def test_references_to_elsewhere_fetch_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket, "socket", refuse)
    schema = {"$id": "http://127.0.0.1:9/a", "properties": {"a": {"$ref": "http://127.0.0.1:9/b", "default": 1}}}
    assert kinds(schema) == {"a": "json"}


def test_allof_that_doubles_at_every_level_ends() -> None:
    defs: dict[str, Any] = {"d0": {"type": "object"}}
    for number in range(1, 40):
        defs[f"d{number}"] = {"allOf": [{"$ref": f"#/$defs/d{number - 1}"}] * 2}
    assert form_of({"$ref": "#/$defs/d39", "$defs": defs}).single is not None


def test_texts_and_choices_are_cut_to_a_length() -> None:
    field = only({"type": "string", "title": "t" * 9_999, "description": "d" * 9_999, "enum": ["c" * 9_999, "e"]})
    assert (len(field.title), len(field.description), len(field.choices[0].title)) == (
        MAX_TITLE, MAX_DESCRIPTION, MAX_TITLE,
    )  # fmt: skip
    assert only({"type": "string", "enum": [str(number) for number in range(MAX_CHOICES + 1)]}).kind == "text"


def test_a_pattern_that_takes_forever_is_never_run_by_a_backtracking_engine() -> None:
    field = only({"type": "string", "pattern": "^(a+)+$", "default": "a" * 5_000 + "b"})
    assert field.default is UNSET


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": None},
        {"properties": {"x": 7, "y": None, "z": [], 3: {}}},
        {"type": 7, "properties": {"x": {"type": {}}}},
        {
            "type": "object",
            "properties": {"x": {"enum": "abc", "title": 7, "description": [], "default": {}}},
        },
        {"required": 7, "properties": {"x": {"anyOf": 3, "items": 4, "oneOf": []}}},
        {"allOf": 1, "$ref": 2},
        {"properties": {"": {"type": "string"}, "\x1b[2J": {"type": "string"}}},
    ],
)
def test_a_malformed_schema_has_a_form_all_the_same(schema: dict[str, Any]) -> None:
    form = form_of(schema)
    assert form.all_fields
    assert [(wanted_words(field), example_of(field)) for field in form.all_fields]
