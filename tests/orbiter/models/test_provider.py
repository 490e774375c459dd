from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from orbiter.config import ModelConfig
from orbiter.models import ModelProvider, ModelResponse, StreamChunk, get_provider, model_registry
from orbiter.models.endpoints import ALIASES, ENDPOINTS, endpoint
from orbiter.models.types import ModelError
from orbiter.types import Message, UserMessage

NAMES = ["openai", "anthropic", "scripted", "openrouter", "google", "gemini", "xai", "groq", "mistral", "deepseek",
         "ollama", "vllm", "azure"]  # fmt: skip


class Echo(ModelProvider):
    """A provider of a user's own, with the documented signature and nothing else."""

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ModelResponse:
        return ModelResponse(content=f"{self.config.model_name}: {messages[-1].content}")

    async def stream(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[StreamChunk]:
        yield StreamChunk(delta=str(messages[-1].content), finish_reason="stop")


@pytest.fixture
def registered() -> Any:
    model_registry.register("echo", Echo)
    yield
    del model_registry._items["echo"]


def test_all_names_are_registered() -> None:
    assert set(NAMES) <= set(model_registry.list_all())


@pytest.mark.usefixtures("registered")
async def test_a_provider_of_one_s_own() -> None:
    provider = get_provider("echo:loud", api_key="k", base_url="http://x", timeout=3)
    provider.check()
    assert (await provider.complete([UserMessage(content="hi")])).content == "loud: hi"
    assert (provider.config.api_key, provider.config.base_url, provider.config.timeout) == ("k", "http://x", 3.0)
    assert not provider.streams
    await provider.aclose()


def test_a_name_with_colons_is_split_at_the_first() -> None:
    assert get_provider("ollama:llama3:8b").config.model_name == "llama3:8b"


def test_without_a_colon_it_is_openai_s() -> None:
    assert get_provider("gpt-4o").config == ModelConfig(provider="openai", model_name="gpt-4o")


def test_an_unknown_provider_names_those_that_exist() -> None:
    with pytest.raises(ModelError) as caught:
        get_provider("antropic:claude")
    assert str(caught.value).startswith(
        "[antropic:claude] Provider 'antropic' not registered. Available: ['anthropic', "
    )
    assert "Did you mean 'anthropic:claude'?" in str(caught.value.hint)


@pytest.mark.parametrize(
    "name", ["openai", "anthropic", "openrouter", "google", "xai", "groq", "mistral", "deepseek", "azure"]
)
async def test_a_missing_key_is_said_by_its_variable_before_any_call(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ENDPOINTS[name]
    for variable in row.key_variables:
        monkeypatch.delenv(variable, raising=False)
    # A call would be noticed: nothing answers there, and the error would be another one.
    provider = get_provider(f"{name}:some-model", base_url="http://127.0.0.1:9")
    with pytest.raises(ModelError) as caught:
        provider.check()
    assert row.key_variables[0] in str(caught.value)
    assert (caught.value.code, caught.value.status) == ("missing_api_key", None)
    assert row.key_variables[0] in str(caught.value.hint)
    with pytest.raises(ModelError, match=row.key_variables[0]):
        await provider.complete([UserMessage(content="x")])
    with pytest.raises(ModelError, match=row.key_variables[0]):
        await anext(aiter(provider.stream([UserMessage(content="x")])))
    monkeypatch.setenv(row.key_variables[-1], "secret-key")
    provider.check()


def test_local_servers_need_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ollama", "vllm"):
        for variable in ENDPOINTS[name].key_variables:
            monkeypatch.delenv(variable, raising=False)
        get_provider(f"{name}:m").check()


def test_azure_needs_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    provider = get_provider("azure:my-deployment", api_key="key")
    with pytest.raises(ModelError, match="AZURE_OPENAI_ENDPOINT"):
        provider.check()
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")
    provider.check()
    assert ENDPOINTS["azure"].url(None) == "https://mine.openai.azure.com/openai/v1"


def test_where_a_url_comes_from() -> None:
    row = ENDPOINTS["ollama"]
    assert row.url(None, {}) == "http://localhost:11434/v1"
    assert row.url(None, {"OLLAMA_HOST": "gpu:11434"}) == "http://gpu:11434/v1"
    assert row.url(None, {"OLLAMA_HOST": "gpu:1", "OLLAMA_BASE_URL": "https://b/api/v1/"}) == "https://b/api/v1"
    assert row.url("http://given/v2", {"OLLAMA_HOST": "gpu:1"}) == "http://given/v2"
    assert ENDPOINTS["openai"].url("http://host", {}) == "http://host"


def test_which_key_counts() -> None:
    row = ENDPOINTS["google"]
    assert row.key(None, {"GOOGLE_API_KEY": "b", "GEMINI_API_KEY": "a"}) == "a"
    assert row.key(None, {"GOOGLE_API_KEY": "b", "GEMINI_API_KEY": ""}) == "b"
    assert row.key("given", {"GEMINI_API_KEY": "a"}) == "given"
    assert row.key(None, {}) is None


def test_every_row_says_where_it_comes_from() -> None:
    for row in ENDPOINTS.values():
        assert row.source.startswith("https://")
        assert not row.base_url.endswith("/")
    assert endpoint("gemini") is ENDPOINTS["google"]
    assert set(ALIASES.values()) <= set(ENDPOINTS)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_deadlines_must_be_above_zero(name: str) -> None:
    with pytest.raises(ValueError, match="silence_timeout must be a number of seconds above 0"):
        get_provider(f"{name}:m", silence_timeout=-1)


def test_api_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="'chat' or 'responses', not 'assistants'"):
        get_provider("openai:m", api="assistants")


def test_importing_and_scripting_load_no_sdk() -> None:
    code = """
import json, sys
import orbiter.models
from orbiter.models import get_provider
get_provider("scripted:x")
sdks = ("anthropic", "openai", "httpx", "httpx2", "yaml", "textual")
print(json.dumps([name for name in sdks if name in sys.modules]))
"""
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert json.loads(found.stdout) == []
