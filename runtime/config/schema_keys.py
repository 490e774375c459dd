"""Questions to the schema of the settings: its sections, its keys, their environment variables, a key it does not have.

Derived from the models of `runtime.config.schema`; a new field needs nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from orbiter.parsing.toml_text import KeyPath
from runtime.config.environment import variable_name
from runtime.config.schema import OWN_FILE, Settings

Shape = Literal["table", "map", "list"]
"""``[section]``, ``[section.NAME]``, ``[[section]]``."""


def nested_model(model: type[BaseModel], key: str) -> tuple[Shape, type[BaseModel]] | None:
    """What stands below a key, where that is not a plain value, and in which form."""
    annotation = model.model_fields[key].annotation
    shapes: tuple[tuple[Shape, Any], ...] = (("table", annotation),)
    if get_origin(annotation) is dict:
        shapes = (("map", get_args(annotation)[1]),)
    elif get_origin(annotation) is tuple:
        shapes = (("list", get_args(annotation)[0]),)
    return next(
        ((shape, each) for shape, each in shapes if isinstance(each, type) and issubclass(each, BaseModel)), None
    )


def sections(model: type[BaseModel] = Settings, path: str = "") -> Iterator[tuple[str, Shape, type[BaseModel]]]:
    """Every section of the file with its name (``errors.provider_settings``), its form and its model."""
    for key in model.model_fields:
        if (below := nested_model(model, key)) is not None:
            name = f"{path}.{key}" if path else key
            yield name, *below
            yield from sections(below[1], name)


@cache
def own_file_keys() -> frozenset[KeyPath]:
    """The settings that count only in the user's own file."""
    return frozenset(
        (*name.split("."), key)
        for name, _, model in sections()
        for key, each in model.model_fields.items()
        if isinstance(each.json_schema_extra, dict) and each.json_schema_extra.get(OWN_FILE)
    )


@cache
def variables() -> Mapping[str, tuple[KeyPath, bool]]:
    """The environment variable of each setting that is one value or a list: its key, and whether it is plain text."""
    found: dict[str, tuple[KeyPath, bool]] = {}
    own = own_file_keys()
    for name, shape, model in sections():
        for key, each in model.model_fields.items():
            path = (*name.split("."), key)
            if path in own:
                continue
            if shape == "table" and nested_model(model, key) is None and get_origin(each.annotation) is not dict:
                found[variable_name(path)] = path, each.annotation in (str, str | None)
    return found


def unknown_key(
    data: Mapping[str, Any], model: type[BaseModel] = Settings, path: KeyPath = ()
) -> tuple[KeyPath, list[str]]:
    """The first key that is not one of ours, with those that are valid there; an empty path where all are known."""
    valid = list(model.model_fields)
    for key, value in data.items():
        if key not in valid:
            return (*path, key), valid
        for inner, each, at in _nested_tables(model, key, value, (*path, key)):
            found = unknown_key(each, inner, at)
            if found[0]:
                return found
    return (), []


def _nested_tables(
    model: type[BaseModel], key: str, value: Any, at: KeyPath
) -> Iterator[tuple[type[BaseModel], Mapping[str, Any], KeyPath]]:
    """The tables that a value holds, each with its model and path."""
    shape, inner = nested_model(model, key) or ("", None)
    if inner is None:
        return
    if shape == "table" and isinstance(value, Mapping):
        yield inner, value, at
    elif shape == "map" and isinstance(value, Mapping):
        yield from ((inner, each, (*at, name)) for name, each in value.items() if isinstance(each, Mapping))
    elif shape == "list" and isinstance(value, list):
        yield from ((inner, each, (*at, number)) for number, each in enumerate(value) if isinstance(each, Mapping))
