"""Parameters of tools as the APIs take them: a plain object, whatever a tool's own schema is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.models.tool_schemas import object_schema, with_object_parameters
from tests.orbiter.models.contract import HELLO, ask, provider, reply
from tests.orbiter.models.loopback import Loopback, Says

REFUSED = {"anyOf", "oneOf", "allOf", "not", "enum", "$ref"}
EITHER = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
    "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
    "description": "Which customer.",
}
A = {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind", "x"]}
B = {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}


def tool(parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "find", "description": "Find.", "parameters": parameters}}


def test_plain_objects_are_left_as_they_are() -> None:
    tools = [tool({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}})]
    assert with_object_parameters(tools) is tools
    assert with_object_parameters(None) is None


@pytest.mark.parametrize(
    ("schema", "properties", "required", "said"),
    [
        (EITHER, EITHER["properties"], [], "Which customer. Required: id; or name."),
        (
            {"oneOf": [A, B]},
            {"kind": {"anyOf": [{"const": "a"}, {"const": "b"}]}, "x": {"type": "integer"}},
            ["kind"],
            "Required: kind, x; or kind.",
        ),
        ({"allOf": [A, {"required": ["y"]}]}, A["properties"], ["kind", "x", "y"], None),
        ({"$ref": "#/$defs/A", "$defs": {"A": A}}, A["properties"], ["kind", "x"], None),
        ({"$ref": "#/$defs/a~1b/anyOf/0", "$defs": {"a/b": {"anyOf": [A]}}}, A["properties"], ["kind", "x"], None),
        (
            {"allOf": [A, B]},
            {"kind": {"allOf": [{"const": "a"}, {"const": "b"}]}, "x": {"type": "integer"}},
            ["kind", "x"],
            None,
        ),
        (
            {"type": "object", "if": {"required": ["z"]}, "then": A, "else": B, "properties": {"z": {}}},
            {"z": {}, "x": {"type": "integer"}, "kind": {"anyOf": [{"const": "a"}, {"const": "b"}]}},
            [],
            None,
        ),
        ({"properties": {"x": {"type": "integer"}}}, {"x": {"type": "integer"}}, [], None),
        ({"type": "object", "enum": [{}], "not": {"required": ["z"]}}, {}, [], None),
    ],
)
def test_alternatives_are_one_object_with_all_their_properties(
    schema: dict[str, Any], properties: dict[str, Any], required: list[str], said: str | None
) -> None:
    found = object_schema(schema)
    assert (found["type"], found["properties"], found["required"]) == ("object", properties, required)
    assert found.get("description") == said
    assert not found.keys() & REFUSED


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["object", "a", "#/$defs/X", "#/$defs/Y"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["$ref", "$defs", "X", "Y", "anyOf", "oneOf", "allOf", "properties", "required", "type", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["$ref", "$defs", "anyOf", "oneOf", "allOf", "properties", "required"]), JSON))
def test_whatever_a_server_sends_is_an_object(schema: dict[str, Any]) -> None:
    found = object_schema(schema)
    assert found["type"] == "object"
    assert isinstance(found["properties"], dict)
    assert all(isinstance(each, str) for each in found["required"])
    assert not found.keys() & REFUSED


def test_references_that_lead_to_themselves_end() -> None:
    looping = {"anyOf": [{"$ref": "#/$defs/X"}, {"$ref": "#/$defs/X"}, {"required": ["a"]}]}
    assert object_schema({**looping, "$defs": {"X": looping}})["required"] == []
    deep: dict[str, Any] = {"properties": {"a": {}}}
    for _ in range(500):
        deep = {"allOf": [deep]}
    assert object_schema(deep)["type"] == "object"


async def test_both_apis_are_sent_an_object(says: Says, server: Loopback) -> None:
    server.answers = [reply(says, "complete", "Done")]
    await ask(provider(says, server), "complete", HELLO, tools=[tool(EITHER)])
    (sent,) = server.asked[0].body["tools"]
    parameters = sent["input_schema"] if says.name == "anthropic" else sent["function"]["parameters"]
    assert (parameters["type"], parameters["properties"]) == ("object", EITHER["properties"])
    assert not parameters.keys() & REFUSED
