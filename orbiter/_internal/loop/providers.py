"""Where the engine gets providers from: `orbiter.runner`.

It is looked up there at each use, because programs replace its functions (seed 000 shows `_resolve_provider`). This is
the only way back from the engine to `run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from orbiter.errors import AgentError


def provider_for(agent: Any, **options: Any) -> Any:
    """See `orbiter.runner.provider_for`."""
    return _runner().provider_for(agent, **options)


@cache
def _runner() -> Any:
    """`orbiter.runner`, which imports this module."""
    from orbiter import runner

    return runner


def provider_for_model(agent_name: str, model: str) -> Any:
    """The provider of a model that the agent `agent_name` asks in place of its own.

    Raises:
        AgentError: None can be built.
    """
    runner, name = _runner(), ModelName(agent_name, model)
    provider = runner._resolve_provider(name)
    if provider is None:
        raise AgentError(
            f"No provider can be built for model '{model}'",
            suggestion="Name a model as 'provider:model', with its key set.",
        ) from runner.why_no_provider(name)
    return provider


@dataclass(slots=True, frozen=True)
class ModelName:
    """What a provider is resolved from: stands in for an agent when a decision names another model."""

    name: str
    model: str

    @property
    def provider_name(self) -> str:
        """The part before the first colon; ``openai`` without a colon."""
        head, colon, _ = self.model.partition(":")
        return head if colon else "openai"

    @property
    def model_name(self) -> str:
        """The part after the first colon."""
        head, colon, rest = self.model.partition(":")
        return rest if colon else head
