"""The base of all values that pass between models, agents, tools and callers."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

F = TypeVar("F", bound=BaseModel)


# What each instance has; set past `__setattr__`, which a frozen class refuses.
_set_values = vars(BaseModel)["__dict__"].__set__
_set_named = vars(BaseModel)["__pydantic_fields_set__"].__set__
_set_extra = vars(BaseModel)["__pydantic_extra__"].__set__
_set_private = vars(BaseModel)["__pydantic_private__"].__set__


class Frozen(BaseModel):
    """A value. Its validator is built when it is first used, since most programs use few of the kinds there are."""

    model_config = ConfigDict(frozen=True, defer_build=True)


def build_checked(kind: type[F], values: dict[str, Any], named: set[str]) -> F:
    """An instance of which `values` are all fields, not validated again: what `model_construct` does, without a look at
    each field, and in less time than it takes to validate.

    Args:
        kind: A frozen class without private attributes.
        values: Of each of its fields; they were checked before. The instance keeps this dict.
        named: The fields that were given: those that are not left out of a dump with `exclude_unset`. The instance
            keeps this set, which may be a constant: of its own it takes 216 bytes. A copy makes its own.
    """
    made = kind.__new__(kind)
    _set_values(made, values)
    _set_named(made, named)
    _set_extra(made, None)
    _set_private(made, None)
    return made


def is_empty(value: object) -> bool:
    """Whether a field that the seeds do not have is left out of a dump."""
    return not value


def is_none(value: object) -> bool:
    """The same for a field of which an empty value means something."""
    return value is None
