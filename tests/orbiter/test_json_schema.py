"""Foreign JSON Schemas: every keyword of theirs counts, and none of them can fetch, hang or break the check."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry

from orbiter.json_schema import MAX_PROBLEMS, find_problems
from orbiter.tool import Tool, ToolCallError

OBJECT = {"type": "object"}
CHOICE = {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}
TREE = {"properties": {"c": {"items": {"$ref": "#"}}}, "required": ["n"]}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False}, {"xa": 1}, {"xa": "1"}),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"xa": 1}, {"ya": 1}),
        ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, 3, 7),
        ({"not": {"required": ["both"]}}, {"one": 1}, {"both": 1}),
        ({"not": {"type": "string"}}, 1, "a"),
        (CHOICE, {"a": 1, "b": 1}, {"a": 1}),
        (CHOICE, {"c": 1}, {"d": 1}),
        ({"format": "ipv4"}, "127.0.0.1", "127.0.0.256"),
        ({"format": "date"}, "2026-11-21", "2026-13-21"),
        ({"format": "date-time"}, "2026-11-21T04:05:06Z", "tomorrow"),
        ({"format": "email"}, "a@b.example", "nobody"),
        ({"format": "uuid"}, "123e4567-e89b-12d3-a456-426614174000", "123"),
        ({"multipleOf": 3}, 9, 10),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, 1, "1"),
        ({"$ref": "#n", "$defs": {"n": {"$anchor": "n", "type": "integer"}}}, 1, "1"),
        (TREE, {"n": 1, "c": [{"n": 2}]}, {"n": 1, "c": [{}]}),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 1}, {"a": 1}),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1, "b": 1}, {"a": 1}),
        ({"propertyNames": {"pattern": "^[a-z]+$"}}, {"abc": 1}, {"ABC": 1}),
        ({"prefixItems": [{"type": "string"}], "items": False}, ["a"], ["a", 1]),
        ({"contains": {"const": 1}, "minContains": 2}, [1, 1], [1, 2]),
        ({"minProperties": 1, "maxProperties": 2}, {"a": 1}, {}),
        ({"uniqueItems": True}, [1, True, "1", [1], {"a": 1}], [{"a": 1, "b": [1]}, {"b": [1.0], "a": 1}]),
        ({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"properties": {"a": False}}, {"b": 1}, {"a": 1}),
        ({"exclusiveMinimum": 1}, 1.5, 1),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"$schema": DRAFT_7, "definitions": {"a": {"type": "null"}}, "$ref": "#/definitions/a"}, None, 1),
        ({"type": ["integer", "null"]}, None, "x"),
        ({"const": 1}, 1.0, True),
        ({"enum": [[1], {"a": None}]}, {"a": None}, {"a": 1}),
        ({"pattern": r"^(a+)+$"}, "aaa", "aab"),
        ({"pattern": r"^\u0041+$"}, "AAA", "B"),
        ({"type": "integer"}, 4.0, 4.5),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None, 1),
    ],
)  # fmt: skip
def test_every_keyword_counts(schema: dict[str, Any], good: Any, bad: Any) -> None:
    assert find_problems(schema, good) == []
    found = find_problems(schema, bad)
    assert found
    assert all(text and "\n" not in text for text in found)


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"properties": {"a": {"items": {"type": "null"}}}}, {"a": [None, 1]}, "'a[1]': should be of type null, got 1"),
        ({"required": ["query"]}, {}, "'query' is required"),
        ({"properties": {"o": {"required": ["a"]}}}, {"o": {}}, "'o.a' is required"),
        (
            {"properties": {"query": {}}, "additionalProperties": False},
            {"qurey": 1},
            "'qurey' is not a parameter: did you mean 'query'?",
        ),
        ({"enum": ["red", "blue"]}, "rad", "should be one of 'red', 'blue', got 'rad': did you mean 'red'?"),
        ({"enum": ["north", "south"]}, "nort", "should be one of 'north', 'south', got 'nort': did you mean 'north'?"),
        ({"not": {"type": "string"}}, "a", "should not fit {'type': 'string'}, got 'a'"),
        ({"oneOf": [{}, {}]}, 1, "fits more than one of the 2 forms allowed, and should fit exactly one, got 1"),
        ({"oneOf": [False, False]}, 1, "fits none of the 2 forms allowed, got 1"),
        ({"type": "string", "enum": ["a"], "minLength": 3}, 5, "should be of type string, got 5"),
        ({"properties": {"a": False}}, {"a": 1}, "'a': nothing is allowed here, got 1"),
        ({"format": "ipv4"}, "x", "should be of the format ipv4, got 'x'"),
    ],
)  # fmt: skip
def test_a_problem_says_where_what_is_wanted_and_what_is(schema: dict[str, Any], value: Any, said: str) -> None:
    assert find_problems(schema, value) == [said]


class Listening:
    """A port that counts who comes."""

    def __enter__(self) -> Self:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        with pytest.raises(BlockingIOError):
            self.socket.accept()
        self.socket.close()


def test_a_reference_is_never_fetched_and_refuses_nothing() -> None:
    with Listening() as there:
        for word in ("$ref", "$dynamicRef", "$schema", "$id"):
            schema = {word: f"{there.address}/s.json", "properties": {"a": {"$ref": f"{there.address}/t.json"}}}
            assert find_problems(schema, {"a": 1}) == []
            assert find_problems({"not": schema}, {"a": 1}) == [] or word in ("$schema", "$id")
    assert find_problems({"$ref": "file:///etc/passwd"}, 1) == []
    assert find_problems({"$ref": "#/nowhere", "type": "string"}, 1) == ["should be of type string, got 1"]


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


DOUBLING = {f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(60)}
HOSTILE: dict[str, tuple[dict[str, Any], Any]] = {
    "a circle": ({"$ref": "#"}, 1),
    "a circle of two": ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, 1),
    "a circle in anyOf": ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1),
    "a circle in unevaluated": ({"allOf": [{"$ref": "#"}], "unevaluatedProperties": False}, {"a": 1}),
    "doubling": ({"$ref": "#/$defs/s0", "$defs": {**DOUBLING, "s60": {"type": "integer"}}}, 1),
    "deep schema": (deep(5_000), nested(10)),
    "deep value": ({"items": {"$ref": "#"}, "type": "array"}, nested(900)),
    "wide schema": ({"properties": {f"p{n}": {} for n in range(50_000)}}, {"p1": 1}),
    "wide enum": ({"items": {"enum": list(range(15_000))}}, ["x"] * 15_000),
    "nested quantifiers": ({"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}, "a" * 100_000),
    "polynomial": ({"pattern": r"\s*\s*\s*\s*\s*x$"}, " " * 50_000),
    "long pattern": ({"pattern": "a?" * 50_000}, "a" * 1_000),
    "large repeat": ({"pattern": "((a{1,1000}){1,1000}){1,1000}"}, "a" * 1_000),
    "pattern names": ({"patternProperties": {"(a*)*b": False}, "additionalProperties": False}, {"a" * 5_000: 1}),
    "pattern and unevaluated": (
        {"patternProperties": {"(a*)*$": {}}, "unevaluatedProperties": False}, {"a" * 5_000 + "!": 1},
    ),
    "unique": ({"uniqueItems": True}, [{"a": n, "b": [n]} for n in range(50_000)]),
    "look-ahead": ({"pattern": "(?=a)b"}, "x"),
    "back reference": ({"pattern": r"(a)\1"}, "x"),
}  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_takes_bounded_work(name: str) -> None:
    # The test's own time limit is what fails where a limit is missing.
    schema, value = HOSTILE[name]
    assert isinstance(find_problems(schema, value), list)
    assert isinstance(find_problems({"not": schema}, value), list)


def test_many_problems_are_cut_and_small_ones_of_a_large_value_found() -> None:
    assert len(find_problems({"items": {"type": "string"}}, list(range(10_000)))) == MAX_PROBLEMS
    assert find_problems({"items": {"type": "integer"}}, [*range(100_000), "x"]) == [
        "'[100000]': should be of type integer, got 'x'"
    ]


_WORDS = st.sampled_from(
    ["type", "properties", "items", "required", "enum", "pattern", "$ref", "not", "oneOf", "minimum", "format", "if",
     "patternProperties", "additionalProperties", "uniqueItems", "const", "contains", "$anchor", "$dynamicRef", "$id"]
)  # fmt: skip
_ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["string", "a", "#", "(", "#/properties/a", "\ud83d"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS | st.just("a"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_WORDS, _ANY, max_size=4), _ANY)
def test_a_malformed_schema_never_breaks_the_check(schema: dict[str, Any], value: Any) -> None:
    assert all(isinstance(text, str) for text in find_problems(schema, value))


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "bb", 0.5, 1.0]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abx"), inner, max_size=3),
    max_leaves=6,
)
_SCHEMAS = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"]),
            "enum": st.lists(_VALUES, min_size=1, max_size=3),
            "const": _VALUES,
            "minimum": st.integers(-2, 2),
            "minLength": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "b$", "."]),
            "required": st.lists(st.sampled_from("abx"), max_size=2, unique=True),
            "uniqueItems": st.booleans(),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abx"), inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "x", "[ab]"]), inner, max_size=2),
            "additionalProperties": inner,
            "items": inner,
            "contains": inner,
            "not": inner,
            "oneOf": st.lists(inner, min_size=1, max_size=3),
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "if": inner,
            "then": inner,
            "else": inner,
            "propertyNames": inner,
        },
    ),
    max_leaves=8,
)


@given(_SCHEMAS.filter(lambda schema: isinstance(schema, dict)), _VALUES)
def test_a_well_formed_schema_refuses_what_the_standard_refuses(schema: Any, value: Any) -> None:
    assert (find_problems(schema, value) == []) == Draft202012Validator(schema, registry=Registry()).is_valid(value)


def test_a_tool_with_a_foreign_schema_takes_what_the_schema_allows() -> None:
    class Foreign(Tool):
        name = "foreign"
        parameters = {**OBJECT, "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": False}  # noqa: RUF012

        async def execute(self, /, **kwargs: Any) -> str:
            return "done"

    assert Foreign().validate({"xa": "1"}) == {"xa": "1"}
    with pytest.raises(ToolCallError, match="'xa': should be of type string"):
        Foreign().validate({"xa": 1})


def test_the_libraries_are_loaded_with_the_first_check() -> None:
    code = (
        "import sys, orbiter, orbiter.json_schema, runtime.judgement.recovery.input_validation\n"
        "print({'jsonschema', 're2'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
