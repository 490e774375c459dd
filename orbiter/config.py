"""Configuration models, and how a model string is read. An unknown field is refused with the nearest one."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from orbiter._internal.declarations.checked_model import CheckedModel

__all__ = ["AgentConfig", "ModelConfig", "RunConfig", "TaskConfig", "parse_model_string"]


def parse_model_string(model: str) -> tuple[str, str]:
    """``provider:name`` as a pair, split at the first colon; without a colon the provider is ``openai``.

    Args:
        model: The model string.

    Returns:
        Provider and model name.

    Examples:
        >>> from orbiter.config import parse_model_string
        >>> parse_model_string("anthropic:claude-sonnet-4-5"), parse_model_string("gpt-4o")
        (('anthropic', 'claude-sonnet-4-5'), ('openai', 'gpt-4o'))
    """
    provider, colon, name = model.partition(":")
    return (provider, name) if colon else ("openai", model)


class ModelConfig(CheckedModel):
    """How to reach a model. `timeout` in seconds, above 0; a key is never part of the text form.

    Attributes:
        provider: The provider's name.
        model_name: The model's name, as the provider knows it.
        api_key: The key; None: the environment's. It is not part of `repr`.
        base_url: The endpoint; None: the environment's, else the vendor's.
        max_retries: Kept for the seeds' programs; the framework counts attempts itself.
        timeout: Seconds for each deadline.
    """

    _example: ClassVar[str] = "ModelConfig(timeout=60.0)"

    provider: str = "openai"
    model_name: str = "gpt-4o"
    api_key: str | None = Field(default=None, repr=False)
    base_url: str | None = None
    max_retries: int = Field(default=3, ge=0)
    timeout: float = Field(default=30.0, gt=0)


class AgentConfig(CheckedModel):
    """An agent's settings as data. `temperature` is from 0 to 2, `max_steps` at least 1.

    Attributes:
        name: The agent's name.
        model: Its model string.
        instructions: Its system message.
        temperature: From 0 to 2.
        max_tokens: Of a reply; None: the model's own limit.
        max_steps: Model calls before it stops with what it has.
    """

    _example: ClassVar[str] = "AgentConfig(name='clerk')"

    name: str
    model: str = "openai:gpt-4o"
    instructions: str = ""
    temperature: float = Field(default=1.0, ge=0.0, le=2.0)
    max_tokens: int | None = None
    max_steps: int = Field(default=10, ge=1)


class TaskConfig(CheckedModel):
    """A task in words.

    Attributes:
        name: The task's name.
        description: The task in words.
    """

    _example: ClassVar[str] = "TaskConfig(name='survey')"

    name: str
    description: str = ""


class RunConfig(CheckedModel):
    """Settings of one run. `timeout` in seconds; None: no limit.

    Attributes:
        max_steps: Model calls of an agent.
        timeout: Seconds; None: no limit.
        stream: Whether events are wanted.
        verbose: Whether every event is.
    """

    _example: ClassVar[str] = "RunConfig(max_steps=20)"

    max_steps: int = Field(default=10, ge=1)
    timeout: float | None = None
    stream: bool = False
    verbose: bool = False
