"""Agents of other frameworks with the real clients of two vendors, which ask a server on loopback. Each client has the
retries that it comes with.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import agents
from anthropic import AsyncAnthropic
from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.concurrency import ConcurrencyLimitedModel
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from orbiter.guests import guest

URL = os.environ.get("ORBITER_TEST_URL", "http://127.0.0.1:9")
KEY = "key-123456"


def openai(name: str = "gpt-4o") -> OpenAIChatModel:
    return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=AsyncOpenAI(base_url=URL, api_key=KEY)))


def anthropic() -> AnthropicModel:
    client = AsyncAnthropic(base_url=URL, api_key=KEY)
    return AnthropicModel("claude-of-the-test", provider=AnthropicProvider(anthropic_client=client))


pydantic_openai = guest(lambda: Agent(openai()), name="asking")
pydantic_anthropic = guest(lambda: Agent(anthropic()), name="asking")
pydantic_wrapped = guest(
    lambda: Agent(ConcurrencyLimitedModel(openai(), limiter=1), model_settings={"max_retries": 5}), name="asking"
)
pydantic_fallback = guest(lambda: Agent(FallbackModel(openai(), openai("gpt-4o-mini"))), name="asking")


def chat_openai(name: str = "gpt-4o") -> BaseChatModel:
    return init_chat_model(f"openai:{name}", base_url=URL, api_key=KEY)


def chat_anthropic() -> BaseChatModel:
    return init_chat_model("anthropic:claude-of-the-test", base_url=URL, api_key=KEY)


def langchain(model: Any, inside: Sequence[Any] = ()) -> Any:
    def make(middleware: Sequence[Any] = ()) -> Any:
        return create_agent(model(), middleware=[*middleware, *(each() for each in inside)])

    return guest(make, name="asking")


langchain_openai = langchain(chat_openai)
langchain_anthropic = langchain(chat_anthropic)
langchain_bound = langchain(
    lambda: chat_openai().bind(temperature=0).with_fallbacks([chat_openai("gpt-4o-mini").bind(temperature=0)])
)
langchain_inside = langchain(chat_openai, [lambda: ModelFallbackMiddleware(chat_openai("gpt-4o-mini"))])

agents.set_tracing_disabled(True)
openai_agents = guest(
    lambda: agents.Agent(
        "asking", model=agents.OpenAIChatCompletionsModel("gpt-4o", AsyncOpenAI(base_url=URL, api_key=KEY))
    )
)
