"""What is declared of a foreign framework's tool: in the framework's metadata, or in `orbiter.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orbiter.errors import ConfigurationError
from orbiter.steps import Traits


class ToolSettings(BaseModel):
    """The traits of a tool, as its author or an operator declares them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    idempotent: bool = Field(
        default=False, description="calling it a second time does no harm: it is called again after a crash"
    )
    permissions: tuple[str, ...] = Field(
        default=(), description='what a call needs, with its arguments in braces: `"fs.write:{path}"`'
    )
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="seconds for one call")
    risk: str = Field(default="", description="what can go wrong, in words for the operator")
    failure: Literal["", "fail", "degrade", "continue"] = Field(
        default="", description='what a failure means; `"continue"`: the model is told of it'
    )
    composite: bool = Field(default=False, description="the tool only runs agents: it is a node, not a step")

    def traits(self, *more_permissions: str, schema: Mapping[str, Any] | None = None) -> Traits:
        """As the seam has them."""
        return Traits(
            idempotent=self.idempotent,
            permissions=(*self.permissions, *more_permissions),
            timeout=self.timeout,
            risk=self.risk,
            failure=self.failure,
            schema=schema,
        )


def read_tool_settings(tool: str, declared: Any, configured: Mapping[str, Any]) -> ToolSettings:
    """What is declared of `tool` by its author; what an operator configured goes over it, key by key.

    Raises:
        ConfigurationError: A key is unknown or a value is wrong.
    """
    if not declared and not configured:
        return _NOTHING_DECLARED
    if declared and not isinstance(declared, Mapping):
        raise ConfigurationError(
            f"the tool {tool!r} has the metadata {declared!r} for 'orbiter': write a table, as in"
            " metadata={'orbiter': {'idempotent': True}}"
        )
    try:
        return ToolSettings.model_validate({**(declared or {}), **configured})
    except ValidationError as exc:
        problem = exc.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        raise ConfigurationError(
            f"the tool {tool!r} declares {where!r} wrongly: {problem['msg']}; it may declare"
            f" {', '.join(ToolSettings.model_fields)}"
        ) from exc


def approval_of(tool: str) -> str:
    """The permission that a call needs which the framework marks for approval. It names no object, so that an answer
    is to the very call that was shown.
    """
    return f"approval.{re.sub('[^a-z0-9_.-]', '-', tool.lower())}"


_NOTHING_DECLARED = ToolSettings()
