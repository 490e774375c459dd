"""Settings as pydantic models that refuse an unknown field with the nearest one and an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from orbiter.parsing.near_names import did_you_mean


class CheckedModel(BaseModel):
    """Settings that cannot be changed and have no other fields than its own.

    A subclass that allows further fields (``extra``) has them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    _example: ClassVar[str]
    """How one is written, for the error of an unknown field."""

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and cls.model_config.get("extra") == "forbid":
            known = cls._input_names()
            unknown = [key for key in data if key not in known]
            if unknown:
                found = [cls._unknown_field(str(key), data[key]) for key in unknown]
                raise ValidationError.from_exception_data(cls.__name__, found)
        return data

    @classmethod
    def _input_names(cls) -> set[str]:
        """Each name under which a field may be given."""
        fields = cls.model_fields
        aliases = (name for field in fields.values() for name in (field.alias, field.validation_alias))
        return {*fields, *(name for name in aliases if isinstance(name, str))}

    @classmethod
    def _unknown_field(cls, name: str, value: object) -> InitErrorDetails:
        context = {
            "name": name,
            "instead": did_you_mean(name, cls.model_fields).rstrip() or f"valid are: {', '.join(cls.model_fields)}.",
            "example": cls._example,
        }
        said = PydanticCustomError("unknown_field", "unknown field '{name}': {instead} For example {example}", context)
        return InitErrorDetails(type=said, loc=(name,), input=value)
