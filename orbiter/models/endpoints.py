"""The table of providers: base URL, key variables and peculiarities; an OpenAI-compatible one needs a row and no code.

One row per provider, each with the page that its values come from. A provider that speaks OpenAI's Chat Completions
needs a row and no code.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from orbiter.models.types import ModelError


@dataclass(slots=True, frozen=True)
class Endpoint:
    """A provider by name. URLs without a trailing slash."""

    name: str
    base_url: str
    key_variables: tuple[str, ...]
    """Environment variables that may hold the key; the first that is set counts. Empty: no key exists."""
    source: str
    key_required: bool = True
    url_variables: tuple[str, ...] = ()
    """Environment variables that may hold another base URL."""
    url_suffix: str = ""
    """What is appended to a URL from the environment (or from a caller) that is only a host."""
    max_tokens_field: str = "max_tokens"
    stream_usage: bool = True
    """Whether `stream_options` may be sent; without it the provider sends usage anyway."""
    json_schema: bool = True
    """Whether `response_format` takes a JSON schema; else the schema is put into the instructions (`json_object`)."""
    default_temperature: float | None = None
    """The documented default where sending it would be refused by some models: then it is left out."""
    models_url: str = ""
    """Where a person finds the names of models."""

    def key(self, given: str | None, environment: Mapping[str, str] | None = None) -> str | None:
        """The key in use: the one given, else the environment's; None if neither is set."""
        env = os.environ if environment is None else environment
        return given or next((env[name] for name in self.key_variables if env.get(name)), None)

    def url(self, given: str | None, environment: Mapping[str, str] | None = None) -> str:
        """The base URL in use: the one given, else the environment's, else the provider's own; empty without any."""
        env = os.environ if environment is None else environment
        found = given or next((env[name] for name in self.url_variables if env.get(name)), "")
        if not found:
            return self.base_url
        found = found.rstrip("/")
        if "://" not in found:
            found = f"http://{found}"
        is_host_only = found.count("/") == 2
        return f"{found}{self.url_suffix}" if is_host_only else found

    def require(self, given_key: str | None, given_url: str | None, model: str) -> None:
        """Say what is missing before anything goes over the network.

        Raises:
            ModelError: No model (code `missing_model`); no key (`missing_api_key`) or no base URL
                (`missing_base_url`), naming the variable.
        """
        if not model:
            where = f" from {self.models_url}" if self.models_url else ""
            hint = f"Write '{self.name}:' and a model's name{where}."
            raise self._missing("missing_model", f"The model string '{self.name}:' names no model", hint)
        if self.key_required and not self.key(given_key):
            names = " or ".join(self.key_variables)
            said = f"No API key for provider '{self.name}': the environment variable {names} is not set"
            hint = f"Set {self.key_variables[0]} in the environment or env_file, or pass api_key= to get_provider()."
            raise self._missing("missing_api_key", said, hint, type="authentication_error")
        if not self.url(given_url):
            names = " or ".join(self.url_variables)
            said = f"No base URL for provider '{self.name}': the environment variable {names} is not set"
            hint = f"Set {self.url_variables[0]} to your own endpoint, or pass base_url= to get_provider()."
            raise self._missing("missing_base_url", said, hint)

    def _missing(self, code: str, said: str, hint: str, type: str = "configuration_error") -> ModelError:  # noqa: A002
        return ModelError(said, provider=self.name, code=code, type=type, where="client", hint=hint)


_ROWS = (
    Endpoint(
        "anthropic",
        "https://api.anthropic.com",
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        source="https://docs.anthropic.com/en/api/overview",
        url_variables=("ANTHROPIC_BASE_URL",),
        default_temperature=1.0,
        models_url="https://docs.anthropic.com/en/docs/about-claude/models",
    ),
    Endpoint(
        "openai",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        source="https://platform.openai.com/docs/api-reference/chat/create",
        url_variables=("OPENAI_BASE_URL",),
        max_tokens_field="max_completion_tokens",
        default_temperature=1.0,
        models_url="https://platform.openai.com/docs/models",
    ),
    Endpoint(
        "azure",
        "",
        ("AZURE_OPENAI_API_KEY",),
        source="https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
        url_variables=("AZURE_OPENAI_ENDPOINT",),
        url_suffix="/openai/v1",
        max_tokens_field="max_completion_tokens",
        default_temperature=1.0,
    ),
    Endpoint(
        "openrouter",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        source="https://openrouter.ai/docs/api-reference/overview",
        url_variables=("OPENROUTER_BASE_URL",),
        models_url="https://openrouter.ai/models",
    ),
    Endpoint(
        "google",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        source="https://ai.google.dev/gemini-api/docs/openai",
        url_variables=("GEMINI_BASE_URL",),
        models_url="https://ai.google.dev/gemini-api/docs/models",
    ),
    Endpoint(
        "xai",
        "https://api.x.ai/v1",
        ("XAI_API_KEY",),
        source="https://docs.x.ai/docs/api-reference",
        url_variables=("XAI_BASE_URL",),
        models_url="https://docs.x.ai/docs/models",
    ),
    Endpoint(
        "groq",
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        source="https://console.groq.com/docs/openai",
        url_variables=("GROQ_BASE_URL",),
        models_url="https://console.groq.com/docs/models",
    ),
    Endpoint(
        "mistral",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        source="https://docs.mistral.ai/api",
        url_variables=("MISTRAL_BASE_URL",),
        stream_usage=False,
        models_url="https://docs.mistral.ai/getting-started/models",
    ),
    Endpoint(
        "deepseek",
        "https://api.deepseek.com",
        ("DEEPSEEK_API_KEY",),
        source="https://api-docs.deepseek.com",
        url_variables=("DEEPSEEK_BASE_URL",),
        json_schema=False,
        models_url="https://api-docs.deepseek.com/quick_start/pricing",
    ),
    Endpoint(
        "ollama",
        "http://localhost:11434/v1",
        ("OLLAMA_API_KEY",),
        source="https://docs.ollama.com/openai",
        key_required=False,
        url_variables=("OLLAMA_BASE_URL", "OLLAMA_HOST"),
        url_suffix="/v1",
        models_url="https://ollama.com/library",
    ),
    Endpoint(
        "vllm",
        "http://localhost:8000/v1",
        ("VLLM_API_KEY",),
        source="https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
        key_required=False,
        url_variables=("VLLM_BASE_URL",),
        url_suffix="/v1",
    ),
)

ENDPOINTS: Mapping[str, Endpoint] = {row.name: row for row in _ROWS}
ALIASES: Mapping[str, str] = {"gemini": "google"}
"""Other names under which people look for a provider."""


def endpoint(name: str) -> Endpoint:
    """The row of a provider, by name or alias.

    Raises:
        KeyError: No such row; a provider that a user registered has none.
    """
    return ENDPOINTS[ALIASES.get(name, name)]
