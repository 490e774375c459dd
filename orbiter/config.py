"""Configuration models, and how a model string is read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["AgentConfig", "ModelConfig", "RunConfig", "TaskConfig", "parse_model_string"]


def parse_model_string(model: str) -> tuple[str, str]:
    """``provider:name`` as a pair, split at the first colon; without a colon the provider is ``openai``."""
    provider, colon, name = model.partition(":")
    return (provider, name) if colon else ("openai", model)


class ModelConfig(BaseModel):
    """How to reach a model. `timeout` in seconds, above 0; a key is never part of the text form."""

    model_config = ConfigDict(frozen=True)

    provider: str = "openai"
    model_name: str = "gpt-4o"
    api_key: str | None = Field(default=None, repr=False)
    base_url: str | None = None
    max_retries: int = Field(default=3, ge=0)
    timeout: float = Field(default=30.0, gt=0)


class AgentConfig(BaseModel):
    """An agent's settings as data. `temperature` is from 0 to 2, `max_steps` at least 1."""

    model_config = ConfigDict(frozen=True)

    name: str
    model: str = "openai:gpt-4o"
    instructions: str = ""
    temperature: float = Field(default=1.0, ge=0.0, le=2.0)
    max_tokens: int | None = None
    max_steps: int = Field(default=10, ge=1)


class TaskConfig(BaseModel):
    """A task in words."""

    model_config = ConfigDict(frozen=True)

    name: str
    description: str = ""


class RunConfig(BaseModel):
    """Settings of one run. `timeout` in seconds; None: no limit."""

    model_config = ConfigDict(frozen=True)

    max_steps: int = Field(default=10, ge=1)
    timeout: float | None = None
    stream: bool = False
    verbose: bool = False
