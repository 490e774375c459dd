"""Schemas of tools: from signatures and docstrings, in the forms that callers and providers know."""

from __future__ import annotations

import enum
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from orbiter.json_schema import find_problems
from orbiter.schema import Signature, find_misfit, json_schema, result_schema, signature_of
from orbiter.tool import FunctionTool, ToolCallError, _generate_schema


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    """A point."""

    x: int
    y: int = Field(default=0, description="Height")


class Node(BaseModel):
    name: str
    children: list[Node] = []


@dataclass
class Box:
    width: float


class Movie(TypedDict, total=False):
    title: str
    year: int


class Opaque:
    """Nothing that JSON knows."""


POINT = {
    "description": "A point.",
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0, "description": "Height"}},
    "required": ["x"],
}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (list, {"type": "array"}),
        (dict, {"type": "object"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Optional[str], {"type": "string"}),  # noqa: UP045 - both spellings are in use
        (int | None, {"type": "integer"}),
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"type": "string", "const": "a"}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Point, POINT),
        (list[Point], {"type": "array", "items": POINT}),
        (Point | None, POINT),
        (Box, {"type": "object", "properties": {"width": {"type": "number"}}, "required": ["width"]}),
        (date, {"type": "string", "format": "date"}),
        (Opaque, {"type": "string"}),
        (Annotated[int, Field(description="How many", gt=0)], {"type": "integer", "description": "How many"}),
        (Annotated[str, "Who"], {"type": "string", "description": "Who"}),
        (Any, {}),
    ],
    ids=str,
)
def test_a_parameter_of_each_type(annotation: Any, schema: dict[str, Any]) -> None:
    def fn(value: Any) -> None: ...

    fn.__annotations__ = {"value": annotation}
    generated = _generate_schema(fn)
    found = generated["properties"]["value"]
    assert {key: found[key] for key in schema} == schema
    assert generated["required"] == ["value"]
    assert "title" not in str(generated)


@pytest.mark.parametrize("annotation", [Movie, list[Movie], Movie | None, Annotated[Movie, "A film"], dict[str, Movie]])
def test_typed_dicts_of_the_standard_library(annotation: Any) -> None:
    async def fn(value: Any) -> None: ...

    fn.__annotations__ = {"value": annotation}
    assert "'title': {'type': 'string'}" in str(_generate_schema(fn))
    assert "'year': {'type': 'integer'}" in str(_generate_schema(fn))


def test_the_whole_of_a_simple_function() -> None:
    def search(query: str, limit: int = 10, deep: bool = False) -> str:
        """Search the web.

        Takes its time.

        Args:
            query: What to look for,
                in words.
            limit (int): How many results.

        Returns:
            The results.
        """
        return query

    assert _generate_schema(search) == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for, in words."},
            "limit": {"type": "integer", "default": 10, "description": "How many results."},
            "deep": {"type": "boolean", "default": False},
        },
        "required": ["query"],
    }
    assert signature_of(search).summary == "Search the web."


def test_a_function_without_parameters() -> None:
    def ping() -> str:
        return "pong"

    assert _generate_schema(ping) == {"type": "object", "properties": {}}


def test_what_has_no_annotation_is_text_to_a_model() -> None:
    def loose(a, b=None, *rest, **more): ...  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202

    assert _generate_schema(loose) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "required": ["a"],
    }


def numpy_style(query: str) -> None:
    """Find.

    Parameters
    ----------
    query : str
        What to look for.
    """


def sphinx_style(query: str) -> None:
    """Find.

    :param query: What to look for.
    :type query: str
    """


def google_style(query: str) -> None:
    """Find.

    Args:
        query (str): What to look for.
    """


def no_style(query: str) -> None:
    """Find."""


@pytest.mark.parametrize("fn", [numpy_style, sphinx_style, google_style])
def test_docstring_styles(fn: Any) -> None:
    signature = signature_of(fn)
    assert signature.summary == "Find."
    assert signature.schema["properties"]["query"]["description"] == "What to look for."


def test_a_docstring_that_describes_nothing() -> None:
    assert signature_of(no_style).schema["properties"]["query"] == {"type": "string"}


def test_annotated_goes_before_the_docstring() -> None:
    def fn(a: Annotated[int, Field(description="From the type")], b: Annotated[int, "From the text"], c: int) -> None:
        """Do.

        Args:
            a: From the docstring.
            b: From the docstring.
            c: From the docstring.
        """

    texts = [prop["description"] for prop in _generate_schema(fn)["properties"].values()]
    assert texts == ["From the type", "From the text", "From the docstring."]


def test_a_recursive_model_keeps_its_definition() -> None:
    def fn(root: Node, other: Point) -> None: ...

    schema = _generate_schema(fn)
    assert schema["properties"]["root"] == {"$ref": "#/$defs/Node"}
    assert list(schema["$defs"]) == ["Node"]
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert schema["properties"]["other"]["properties"]["x"] == {"type": "integer"}
    assert FunctionTool(fn).validate({"root": {"name": "a", "children": [{"name": "b"}]}, "other": {"x": 1}})


def test_a_property_called_title_is_no_title() -> None:
    def fn(title: str, movie: Movie) -> None: ...

    assert _generate_schema(fn)["properties"]["title"] == {"type": "string"}
    assert "title" in _generate_schema(fn)["properties"]["movie"]["properties"]


def test_types_of_the_defining_function_are_found() -> None:
    class Local(BaseModel):
        n: int

    @FunctionTool
    def fn(local: Local, missing: NoSuchType) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert fn.parameters["properties"]["local"]["properties"] == {"n": {"type": "integer"}}
    assert fn.parameters["properties"]["missing"] == {"type": "string"}
    assert fn.validate({"local": {"n": 1}, "missing": 3})["local"] == Local(n=1)


def test_the_schema_of_a_type() -> None:
    assert json_schema(Point) == POINT
    assert json_schema(list[int]) == {"type": "array", "items": {"type": "integer"}}


# --- round trip ----------------------------------------------------------------------------------------------------

SIMPLE: dict[Any, Any] = {
    str: st.text(max_size=5),
    int: st.integers(-1000, 1000),
    bool: st.booleans(),
    list[int]: st.lists(st.integers(-9, 9), max_size=3),
    dict[str, int]: st.dictionaries(st.text(max_size=3), st.integers(-9, 9), max_size=3),
    Literal["a", "b"]: st.sampled_from(["a", "b"]),
}
names = st.text(alphabet="abcdexyz_", min_size=1, max_size=6).filter(lambda text: text.isidentifier())
signatures = st.dictionaries(names, st.sampled_from(list(SIMPLE)), max_size=4)


@given(signatures, st.data())
def test_arguments_that_fit_the_schema_arrive_as_given_and_others_do_not(
    parameters: dict[str, Any], data: st.DataObject
) -> None:
    source = f"def fn({', '.join(parameters)}): return locals()"
    space: dict[str, Any] = {}
    exec(source, space)
    fn = space["fn"]
    fn.__annotations__ = parameters
    made = FunctionTool(fn)
    arguments = {name: data.draw(SIMPLE[kind]) for name, kind in parameters.items()}
    assert find_problems(made.parameters, arguments) == []
    assert made.validate(arguments) == arguments
    assert made.parameters.get("required", []) == list(parameters)
    for name in parameters:
        broken = {**arguments, name: object()}
        with pytest.raises(ToolCallError, match=f"'{name}"):
            made.validate(broken)
        assert find_problems(made.parameters, broken)
        fewer = {key: value for key, value in arguments.items() if key != name}
        with pytest.raises(ToolCallError, match=f"'{name}' is required"):
            made.validate(fewer)
        assert find_problems(made.parameters, fewer) == [f"'{name}' is required"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=6), json_values, max_size=4), json_values)
def test_a_schema_of_any_words_never_breaks_the_check(schema: dict[str, Any], value: Any) -> None:
    assert find_problems({"words": schema, "properties": {}}, value) == []


# -- return types ----------------------------------------------------------------------------------------------------


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("an even number is wanted")
    return number


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (int, 4, "four"),
        (bool, True, "perhaps"),
        (str, "", ["a"]),
        (list[str], ["a"], [1]),
        (Literal["up", "down"], "up", "left"),
        (int | None, None, "x"),
        (list[int | None], [1, None], ["x"]),
        (Colour, "red", "green"),
        (Point, {"x": 1}, {"y": 1}),
        (Box, {"width": 1.5}, {"width": "wide"}),
        (Movie, {"title": "M"}, {"year": "M"}),
        (Node, {"name": "a", "children": [{"name": "b"}]}, {"name": "a", "children": [{}]}),
        (Node | None, None, "x"),
        (dict[str, int], {"a": 1}, {"a": "b"}),
        (tuple[int, str], [1, "a"], [1]),
        (Annotated[int, Field(ge=0)], 0, -1),
        (Awaitable[int], 4, "four"),
    ],
)
def test_a_result_is_checked_for_every_return_type_that_json_can_say(kind: Any, good: Any, bad: Any) -> None:
    def given() -> Any: ...

    given.__annotations__["return"] = kind
    returns = signature_of(given).returns
    schema = result_schema(returns)
    assert schema is not None
    assert find_problems(schema, good) == []
    assert find_misfit(returns, good) == ""
    assert find_problems(schema, bad)
    assert find_misfit(returns, bad)


@pytest.mark.parametrize("kind", [None, Any, object, "NoSuchName"])
def test_a_return_type_that_says_nothing_asks_nothing(kind: Any) -> None:
    def given() -> Any: ...

    given.__annotations__["return"] = kind
    assert signature_of(given).returns is None
    assert signature_of(lambda: 1).returns is None
    assert find_misfit(None, "anything") == ""


def test_a_type_that_json_does_not_know_is_not_checked_and_one_that_knows_more_than_its_schema_is() -> None:
    assert result_schema(Opaque) is None
    assert find_misfit(Opaque, "anything") == ""
    even = Annotated[int, AfterValidator(_even)]
    assert find_problems(result_schema(even) or {}, 3) == []
    assert find_misfit(even, 3) == "value error, an even number is wanted (got 3)"
    assert find_misfit(date, "tomorrow").startswith("input should be a valid date")


def test_tools_that_take_the_same_share_a_model_and_those_that_only_seem_to_do_not() -> None:
    """Equal keys are not enough: ``int | str`` equals ``str | int``, and 1 equals True."""

    def make(annotation: Any, default: Any) -> Signature:
        def take(value: Any = default) -> str:
            return str(value)

        take.__annotations__["value"] = annotation
        return signature_of(take)

    assert make(int, 1).arguments is make(int, 1).arguments
    assert make(Literal[1], 1).arguments is make(Literal[1], 1).arguments
    assert make(Literal[True], 1).schema["properties"]["value"]["const"] is True
    assert make(int | str, 1).schema["properties"]["value"]["anyOf"][0] == {"type": "integer"}
    assert make(str | int, 1).schema["properties"]["value"]["anyOf"][0] == {"type": "string"}
    assert make(int, 1).schema["properties"]["value"]["default"] == 1
    assert make(int, True).schema["properties"]["value"]["default"] is True
    made = make(int, 1)
    made.schema["properties"]["value"]["default"] = 7  # a caller's own
    assert make(int, 1).schema["properties"]["value"]["default"] == 1


def test_a_name_of_a_built_in_type_means_what_the_module_says() -> None:
    space: dict[str, Any] = {"str": int}
    exec("def look(word: 'str', count: 'int') -> 'bool': ...", space)
    assert signature_of(space["look"]).schema["properties"] == {
        "word": {"type": "integer"},
        "count": {"type": "integer"},
    }
    assert signature_of(space["look"]).returns is bool


def test_each_tool_has_a_schema_of_its_own() -> None:
    def look(word: str) -> str:
        return word

    first, second = FunctionTool(look), FunctionTool(look)
    first.parameters["properties"]["word"]["description"] = "what to look for"
    assert second.parameters["properties"] == {"word": {"type": "string"}}
