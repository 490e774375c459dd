"""Agents that deal with failures of their models themselves. Their tool `wait` is out of reach, once: a run stops there
and is continued by another process.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
from agents import Agent as OpenAIAgent
from agents import Model, RunContextWrapper, function_tool
from agents import ModelResponse as SdkResponse
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware, ModelRequest, ModelRetryMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability, Hooks, ModelFallback, WrapModelRequestHandler
from pydantic_ai.exceptions import ModelHTTPError, ModelRateLimitError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.data.scripted_chat import Reply, ScriptedChat
from tests.data.swarms import openai_guests
from tests.data.swarms.guest_shapes import there
from tests.data.swarms.guests import effect, results


def asked(what: str) -> int:
    """Say that it is asked; how often it was by now, in all processes."""
    effect(what)
    return Path(os.environ["ORBITER_TEST_EFFECTS"]).read_text().splitlines().count(what)


WAIT = ToolCallPart("wait", {"text": "x"}, tool_call_id="w")


def wait(text: str) -> str:
    """Wait for a service, which answers the second time."""
    effect(f"note wait {text}")
    there()
    return f"waited for {text}"


# -- pydantic-ai --------------------------------------------------------------------------------------------------


def limited() -> ModelHTTPError:
    """What a provider says that is asked too often."""
    return ModelHTTPError.for_category(
        ModelRateLimitError,
        status_code=429,
        model_name="first",
        body={"error": {"code": "slow_down"}},
        headers={"Retry-After": "0"},
    )


def said_of(error: Exception) -> str:
    """What code of an agent reads in a provider's error."""
    assert isinstance(error, ModelHTTPError)
    assert isinstance(error, ModelRateLimitError)
    assert isinstance(error.body, dict)
    headers = error.headers or {}
    return f"{error.status_code} {error.body['error']['code']} {headers.get('retry-after')} {error.retry_after}"


def failing(name: str, times: int, error: Callable[[], Exception] | None = None) -> FunctionModel:
    """A model whose first requests fail: as often in each process, or with an `error` of its own so often in all."""
    left = [times]

    def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        count = asked(f"ask {name} {len(messages)}")
        if len(messages) == 1:
            if error is not None and count <= times:
                raise error()
            if error is None and left[0] > 0:
                left[0] -= 1
                raise limited()
            return ModelResponse(parts=[WAIT])
        return ModelResponse(parts=[TextPart(f"{name}: {results(messages)}")])

    return FunctionModel(say, model_name=name)


hooks: Hooks[object] = Hooks()


@hooks.on.model_request_error
async def hooked(ctx: RunContext[object], *, request_context: ModelRequestContext, error: Exception) -> ModelResponse:
    """Deal with it."""
    return ModelResponse(parts=[ToolCallPart("wait", {"text": said_of(error)}, tool_call_id="h")])


letting: Hooks[object] = Hooks()


@letting.on.model_request_error
async def logged(ctx: RunContext[object], *, request_context: ModelRequestContext, error: Exception) -> ModelResponse:
    """Look at it only."""
    effect(f"note saw {type(error).__name__}")
    raise error


class Catching(AbstractCapability[object]):
    """Deals with a failure around the whole request."""

    async def wrap_model_request(
        self, ctx: RunContext[object], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        """Ask the model."""
        try:
            return await handler(request_context)
        except ModelHTTPError as exc:
            return ModelResponse(parts=[ToolCallPart("wait", {"text": said_of(exc)}, tool_call_id="h")])


def hook() -> Any:
    """A hook replies in place of the model."""
    return Agent(failing("first", 1), tools=[wait], capabilities=[hooks])


def around() -> Any:
    """A capability around the request replies in place of the model."""
    return Agent(failing("first", 1), tools=[wait], capabilities=[Catching()])


def go_on(text: str) -> str:
    """As `wait`, for a service that answers."""
    effect(f"note wait {text}")
    return f"waited for {text}"


def hook_once() -> Any:
    """As `hook`, with a service that answers."""
    return Agent(failing("first", 1), tools=[Tool(go_on, name="wait")], capabilities=[hooks])


def fallback() -> Any:
    """Another model is asked."""
    return Agent(failing("first", 1), tools=[wait], capabilities=[ModelFallback(failing("second", 0))])


def fallback_model() -> Any:
    """As `fallback`, by a model of models: it is part of the request's one step."""
    return Agent(FallbackModel(failing("first", 1), failing("second", 0)), tools=[wait])


def no_key() -> ModelHTTPError:
    """What a provider says of a wrong key."""
    return ModelHTTPError(401, "first", {"error": "no such key"})


def hook_raises() -> Any:
    """Its hook lets the failure out."""
    return Agent(failing("first", 1, no_key), tools=[wait], capabilities=[letting])


def fallback_raises() -> Any:
    """No model answers."""
    second = failing("second", 1, no_key)
    return Agent(failing("first", 1, no_key), tools=[wait], capabilities=[ModelFallback(second)])


# -- LangChain ----------------------------------------------------------------------------------------------------

wait_tool = tool(wait)


class Busy(Exception):
    """A model's provider is busy."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"status {response.status_code}")
        self.response = response


def busy() -> Exception:
    """What the client of a provider raises."""
    request = httpx.Request("POST", "http://model.example/v1", headers={"authorization": "Bearer key"})
    return Busy(httpx.Response(429, headers={"retry-after": "7"}, json={"code": "slow_down"}, request=request))


def chat(name: str, times: int, error: Callable[[], Exception] | None = None) -> ScriptedChat:
    """As `failing`, for LangChain."""
    left = [times]

    def say(messages: list[BaseMessage]) -> Reply:
        count = asked(f"ask {name} {len(messages)}")
        if len(messages) == 1:
            if error is not None and count <= times:
                raise error()
            if error is None and left[0] > 0:
                left[0] -= 1
                raise busy()
            return [("wait", "w", {"text": "x"})]
        return f"{name}: {messages[-1].text}"

    return ScriptedChat(reply=say, model=name)


class Deals(AgentMiddleware[Any, Any, Any]):
    """Replies in place of a busy model."""

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Ask the model."""
        try:
            return await handler(request)
        except Busy as exc:
            found = exc.response
            said = f"{found.status_code} {found.json()['code']} {found.headers['retry-after']} {found.request.url}"
            return AIMessage("", tool_calls=[{"name": "wait", "args": {"text": said}, "id": "h"}])


def denied() -> Exception:
    """A failure of which the agent's middleware knows nothing."""
    return PermissionError("no such key")


def _agent(model: Any, middleware: Sequence[Any]) -> Any:
    return create_agent(model, [wait_tool], middleware=middleware)


def inner(middleware: Sequence[Any]) -> Any:
    """Another model is asked, by middleware inside of ours."""
    return _agent(chat("first", 1), [*middleware, ModelFallbackMiddleware(chat("second", 0))])


def outer(middleware: Sequence[Any]) -> Any:
    """Middleware outside of ours replies."""
    return _agent(chat("first", 1), [Deals(), *middleware])


def outer_once(middleware: Sequence[Any]) -> Any:
    """As `outer`, with a service that answers."""
    return create_agent(chat("first", 1), [tool("wait")(go_on)], middleware=[Deals(), *middleware])


def outer_fallback(middleware: Sequence[Any]) -> Any:
    """Another model is asked, by middleware outside of ours."""
    return _agent(chat("first", 1), [ModelFallbackMiddleware(chat("second", 0)), *middleware])


def outer_raises(middleware: Sequence[Any]) -> Any:
    """Middleware outside of ours lets the failure out."""
    return _agent(chat("first", 1, denied), [Deals(), *middleware])


def retrying(middleware: Sequence[Any]) -> Any:
    """Middleware asks three times in all, inside of ours. The fourth request would be answered."""
    retry = ModelRetryMiddleware(max_retries=2, on_failure="error", initial_delay=0.0, jitter=False)
    return _agent(chat("first", 3, lambda: ConnectionError("reset")), [*middleware, retry])


# -- OpenAI Agents ------------------------------------------------------------------------------------------------


def sdk_error() -> openai.AuthenticationError:
    """What the SDK's client raises."""
    request = httpx2.Request("POST", "http://model.example/v1", headers={"authorization": "Bearer key"})
    response = httpx2.Response(401, headers={"x-request-id": "r1"}, json={"code": "no_key"}, request=request)
    return openai.AuthenticationError("no such key", response=response, body={"code": "no_key"})


def explain(ctx: RunContextWrapper[Any], error: Exception) -> str:
    """What the calling agent is told."""
    assert isinstance(error, openai.AuthenticationError)
    return f"{error.status_code} {error.code} {error.response.json()['code']} {error.request_id}"


class Wrapped(Model):
    """A model of the user's own, which asks another one where the first fails."""

    def __init__(self, *models: Model) -> None:
        self.models = models
        self.model = "wrapped"

    async def get_response(self, *args: Any, **kwargs: Any) -> SdkResponse:
        """The first reply there is."""
        for each in self.models[:-1]:
            try:
                return await each.get_response(*args, **kwargs)
            except openai.APIStatusError:
                continue
        return await self.models[-1].get_response(*args, **kwargs)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        """It does not stream."""
        raise NotImplementedError


_waiting = openai_guests.call("wait", "m.1.0", text="x")
_wait = function_tool(wait, failure_error_function=None)


def _calling(**options: Any) -> Any:
    helper = OpenAIAgent("helper", model=openai_guests.Scripted("h", _fail_once))
    helps = helper.as_tool("helps", "Ask a helper.", **options)
    model = openai_guests.Scripted(
        "m", [openai_guests.call("helps", "m.0.0", input="q")], lambda items: [_waiting], openai_guests.results
    )
    return OpenAIAgent("calling", model=model, tools=[helps, _wait])


def _fail_once(items: list[Any]) -> Any:
    return sdk_error() if asked("ask helper") == 1 else "helped"


def as_tool() -> Any:
    """The author of the tool wrote what the calling agent is told."""
    return _calling(failure_error_function=explain)


def as_tool_raises() -> Any:
    """The SDK's own text would be told: a person is asked first."""
    return _calling()


def wrapper() -> Any:
    """A model of its own deals with failures."""
    first = openai_guests.Scripted("f", lambda items: sdk_error() if len(items) == 1 else openai_guests.results(items))
    second = openai_guests.Scripted("m", [openai_guests.call("wait", "m.0.0", text="x")], openai_guests.results)
    return OpenAIAgent("wrapper", model=Wrapped(first, second), tools=[_wait])
