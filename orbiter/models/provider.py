"""What a model provider is, and how a model string becomes one."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from functools import lru_cache
from importlib import import_module
from typing import Any, ClassVar

from orbiter._internal.arguments import PROVIDER
from orbiter.config import ModelConfig, parse_model_string
from orbiter.models.endpoints import ALIASES, ENDPOINTS, Endpoint
from orbiter.models.types import ModelError, ModelResponse, StreamChunk
from orbiter.parsing.near_names import did_you_mean
from orbiter.registry import model_registry
from orbiter.types import Message

__all__ = ["LazyProvider", "ModelProvider", "get_provider", "model_registry"]


class ModelProvider(ABC):
    """Calls one model of one provider.

    Subclass it and register the class under a name of your own: ``model_registry.register("mine", Mine)`` makes
    ``mine:any-model`` a model string.

    Args:
        config: Which model, and how it is reached.

    Attributes:
        streams: Whether `stream` hands out pieces while the model speaks.
        structured: Whether `complete` and `stream` take the keyword `output_type`.

    Examples:
        >>> from orbiter import Agent, ModelProvider, run
        >>> from orbiter.models.types import ModelResponse
        >>> from orbiter.registry import model_registry
        >>> class Parrot(ModelProvider):
        ...     async def complete(self, messages, *, tools=None, temperature=None, max_tokens=None):
        ...         return ModelResponse(content=str(messages[-1].content))
        ...     async def stream(self, messages, *, tools=None, temperature=None, max_tokens=None):
        ...         raise NotImplementedError
        ...         yield
        >>> _ = model_registry.register("parrot", Parrot)
        >>> run.sync(Agent(name="echo", model="parrot:grey"), "Polly?").output
        'Polly?'
    """

    streams: ClassVar[bool] = False
    """Whether `stream` hands out pieces while the model speaks. A runtime streams only where this says so."""
    structured: ClassVar[bool] = False
    """Whether `complete` and `stream` take the keyword `output_type`, a pydantic model that the reply must fit."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config

    def check(self) -> None:  # noqa: B027 - most providers know nothing offline
        """Raise an error for what can be known offline and would make every call fail, above all a missing key.

        `run()` calls it before the first call of the model; the providers of this package also check at each call.

        Raises:
            ModelError: Naming the environment variable, with a hint.
        """

    @abstractmethod
    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ModelResponse:
        """One reply, whole. `tools` are schemas in OpenAI's function form.

        Raises:
            ModelError: Whatever failed, with the provider's own facts, chained from its cause.
        """

    @abstractmethod
    def stream(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[StreamChunk]:
        """One reply, in pieces. The last piece says why the model stopped.

        Raises:
            ModelError: While iterating; `code` is ``truncated`` where the stream ends without a stop reason.
        """

    async def aclose(self) -> None:  # noqa: B027 - not every provider holds connections
        """Let go of connections. A later call opens new ones."""


class LazyProvider:
    """A provider's class by name: its module, and with it a vendor's SDK, is loaded when one is built."""

    __slots__ = ("attribute", "endpoint", "module")

    def __init__(self, module: str, attribute: str, endpoint: Endpoint | None = None) -> None:
        self.module = module
        self.attribute = attribute
        self.endpoint = endpoint

    def __call__(self, config: ModelConfig, **options: Any) -> ModelProvider:
        build: Callable[..., ModelProvider] = getattr(import_module(self.module), self.attribute)
        if self.endpoint is not None:
            return build(config, endpoint=self.endpoint, **options)
        return build(config, **options)

    def __repr__(self) -> str:
        return f"LazyProvider({self.module}.{self.attribute})"


def _register_known() -> None:
    """Items of `model_registry` are classes, or anything called with a `ModelConfig` that returns a provider."""
    for name, row in (*ENDPOINTS.items(), *((alias, ENDPOINTS[name]) for alias, name in ALIASES.items())):
        if name == "anthropic":
            item = LazyProvider("orbiter.models.anthropic.provider", "AnthropicProvider", row)
        else:
            item = LazyProvider("orbiter.models.openai.provider", "OpenAIProvider", row)
        model_registry.register(name, item)
    model_registry.register("scripted", LazyProvider("orbiter.models.scripted.provider", "ScriptedProvider"))


_register_known()


@lru_cache(maxsize=256)
def _plain_config(model: str) -> ModelConfig:
    """Frozen, hence the same one for every run of a model: each run of each agent builds a provider.

    Raises:
        ModelError: No provider of that name is registered.
    """
    provider, name = parse_model_string(model)
    if provider in model_registry:
        return ModelConfig(provider=provider, model_name=name)
    known = sorted(model_registry.list_all())
    hint = did_you_mean(provider, known, form=f"'{{}}:{name}'", sentence=True)
    raise ModelError(
        f"Provider '{provider}' not registered. Available: {known}",
        model=model,
        provider=provider,
        code="unknown_provider",
        type="configuration_error",
        where="client",
        hint=f"{hint}A model string is 'provider:model'; register one of your own with model_registry.register().",
    )


def get_provider(
    model: str, *, api_key: str | None = None, base_url: str | None = None, **options: Any
) -> ModelProvider:
    """The provider of a model string such as ``openai:gpt-4o``; without a colon it is OpenAI's.

    Builds only: no key is asked for and nothing goes over the network. `api_key` and `base_url` go before the
    environment's. Options that `ModelConfig` knows (`timeout`, …) go there; others to the provider, whose page in the
    documentation lists them.

    Args:
        model: The model string.
        api_key: The key; None: the environment's.
        base_url: The endpoint; None: the environment's, else the vendor's.
        **options: Settings of `ModelConfig`, deadlines in seconds, and what is copied into each request.

    Returns:
        The provider.

    Raises:
        ModelError: No provider of that name is registered, or what is registered makes none.

    Examples:
        >>> from orbiter.models import get_provider
        >>> get_provider("openai:gpt-4o", base_url="http://127.0.0.1:8080/v1", api_key="anything").config.model_name
        'gpt-4o'
    """
    config = _plain_config(model)
    if options or api_key is not None or base_url is not None:
        fields = {key: options.pop(key) for key in list(options) if key in ModelConfig.model_fields}
        config = ModelConfig(
            provider=config.provider, model_name=config.model_name, api_key=api_key, base_url=base_url, **fields
        )
    built: ModelProvider = model_registry.get(config.provider)(config, **options)
    if not PROVIDER.takes(built):
        raise ModelError(
            f"What is registered as provider '{config.provider}' made {reprlib.repr(built)}, which has no complete()",
            model=model,
            provider=config.provider,
            code="configuration_error",
            where="client",
            hint="Register a class derived from orbiter.models.ModelProvider.",
        )
    return built
