"""Models whose clients ask again by themselves: they are copied without that; some cannot be copied so."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain.chat_models import init_chat_model
from langchain_core.language_models import FakeListChatModel
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.messages import ModelRequest as PydanticAIRequest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel

from orbiter.guests.langgraph.client_retries import single_attempt_request, single_attempts, warning
from orbiter.guests.pydantic_ai.client_retries import single_attempts as pydantic_ai_single_attempts


class Keeping(FunctionModel):
    """A model whose client keeps its retries, as that of Bedrock does."""

    unsupported_settings = frozenset({"max_retries"})


class KeepingChat(FakeListChatModel):
    """The same of LangChain."""

    max_retries: int = 5


async def test_pydantic_ai_asks_once_whatever_the_agents_settings_are() -> None:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(str(info.model_settings))])

    once = pydantic_ai_single_attempts(WrapperModel(FunctionModel(reply)), lambda text: None)
    assert once is not None
    asked: list[ModelMessage] = [PydanticAIRequest.user_text_prompt("go")]
    said = await once.request(asked, {"max_retries": 5, "temperature": 1}, ModelRequestParameters())
    assert said.text == "{'max_retries': 0, 'temperature': 1}"


def test_a_model_of_pydantic_ai_that_cannot_be_asked_once_is_named() -> None:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise NotImplementedError

    warned: list[str] = []
    keeping = Keeping(reply, model_name="keeping")
    assert pydantic_ai_single_attempts(WrapperModel(keeping), warned.append) is None
    assert pydantic_ai_single_attempts(FallbackModel(FunctionModel(reply), keeping), warned.append) is not None
    assert [each[: each.index(" may")] for each in warned] == ["the client of the model function:keeping"] * 2


def test_a_copy_of_a_langchain_model_shares_its_connections_and_the_model_stays_as_it_is() -> None:
    asked: Any = init_chat_model("openai:gpt-4o", api_key="key-123456")
    claude: Any = init_chat_model("anthropic:claude-of-the-test", api_key="key-123456")
    assert claude._async_client.max_retries == 2  # used before
    once = single_attempts(asked)
    assert (once.root_async_client.max_retries, once.async_client._client.max_retries) == (0, 0)
    assert once.root_async_client._client is asked.root_async_client._client
    assert (asked.root_async_client.max_retries, asked.async_client._client.max_retries) == (2, 2)
    assert (single_attempts(claude)._async_client.max_retries, claude._async_client.max_retries) == (0, 2)
    assert single_attempts(once) is once
    plain = FakeListChatModel(responses=["Hi."])
    assert single_attempts(plain) is plain


def test_a_model_of_langchain_that_cannot_be_asked_once_is_named_also_in_the_place_of_another() -> None:
    def request(model: Any) -> ModelRequest[Any]:
        return ModelRequest(model=model, messages=[])

    warned: list[str] = []
    keeping, quiet = KeepingChat(responses=["Hi."]), KeepingChat(responses=["Hi."], max_retries=0)
    with warning(warned.append):
        first = single_attempt_request(request(quiet))
        assert warned == []
        assert first.override(model=keeping).model is keeping
    # A run is told once of what is said again.
    assert {each[: each.index(" may")] for each in warned} == {"the client of KeepingChat"}
