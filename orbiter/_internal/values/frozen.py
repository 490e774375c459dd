"""The base of all values that pass between models, agents, tools and callers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value. Its validator is built when it is first used, since most programs use few of the kinds there are."""

    model_config = ConfigDict(frozen=True, defer_build=True)


def is_empty(value: object) -> bool:
    """Whether a field that the seeds do not have is left out of a dump."""
    return not value


def is_none(value: object) -> bool:
    """The same for a field of which an empty value means something."""
    return value is None
