"""The middleware that makes each model and tool call of an agent a step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, ToolCallRequest
from langchain.agents.middleware.types import ExtendedModelResponse, PrivateStateAttr
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from orbiter.guests.handled_failures import HandledCall, first_attempt, handled_call, made_or_settled
from orbiter.guests.langgraph.life import Life, current_life
from orbiter.guests.langgraph.model_call import MODEL_CALL, ModelAsk, ask_model, command_of, model_name
from orbiter.guests.langgraph.step_tool import declared_of, step_tool
from orbiter.guests.langgraph.structured_output import load_structured
from orbiter.guests.model_request_codec import error_of_request
from orbiter.steps import Step, Traits
from orbiter.types import Message, content_text

DURABLE_CHANNEL = "orbiter_durable"
"""A channel that is never written: by it a compiled graph is known to have the middleware."""


class DurableState(AgentState[Any]):
    """The agent's state, with the mark of the middleware."""

    orbiter_durable: NotRequired[Annotated[bool, PrivateStateAttr]]


class DurableMiddleware(AgentMiddleware[Any, Any, Any]):
    """Makes model and tool calls steps of the run that is under way. Outside of a run it does nothing."""

    state_schema = DurableState

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Agents that are called without `await` run as the framework alone."""
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]:
        """The reply, as recorded or as the model gives it now."""
        life = current_life()
        if life is None or not life.fine:
            return await handler(request)
        call = handled_call(life)
        if call is None or call.settled is None:
            said: list[Message] = []
            await life.scope.turn(life.turn, said)
            life.told += [HumanMessage(content_text(each.content)) for each in said]
        if life.told:
            request = request.override(messages=[*request.messages, *life.told])
        make = partial(_model_step, life, request, handler)
        ask, result = await made_or_settled(call, make, error_of_request)
        life.turn, life.sent = ask.turn, len(request.messages)
        told, life.told = life.told, []
        structured = load_structured(result["structured"], request.response_format)
        response = ModelResponse(result=[*told, *result["messages"]], structured_response=structured)
        command = command_of(result)
        return response if command is None else ExtendedModelResponse(response, command)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Agents that are called without `await` run as the framework alone."""
        return handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """What the tool did, as recorded or as it does now."""
        life = current_life()
        tool = request.tool
        if life is None or not life.fine or tool is None or declared_of(tool) is False:
            return await handler(request)
        return await handler(request.override(tool=step_tool(tool, _asked_for(request.state))))


async def _model_step(
    life: Life,
    request: ModelRequest[Any],
    handler: Callable[..., Awaitable[Any]],
    call: HandledCall | None,
    failed: Exception | None,
) -> tuple[ModelAsk, dict[str, Any]]:
    """Ask a model as a step; `failed`: middleware outside of ours let this out of a request that failed."""
    model = model_name(request.model)
    before = call.places if call is not None else []
    if not before:
        life.new_from = life.sent if life.sent < len(request.messages) else 0
    place = life.begin_turn()
    handled = call is not None and failed is None
    warn = life.scope.warn
    ask = ModelAsk(request, handler, model, life.models, warn, life.new_from, turn=life.turn, handled=handled)
    before.append(place)
    traits = Traits(retry_policy=ask.requests.retry_policy)
    first = first_attempt(failed)
    step = Step("llm", model, life.agent, place, ask, ask_model, MODEL_CALL, traits, handled=handled, failed=first)
    return ask, await life.scope.step(step)


def _asked_for(state: Any) -> Sequence[str]:
    """The ids of the calls for which the latest reply asks."""
    messages = state.get("messages", ()) if isinstance(state, dict) else getattr(state, "messages", ())
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return list(dict.fromkeys(call["id"] or "" for call in message.tool_calls))
    return ()


def durable_middleware() -> DurableMiddleware:
    """Make each model and tool call of an agent a step: recorded, recalled after a crash, decided by an operator.

    It stands first, so that other middleware that asks models again, or asks others, stays inside of one step:
    ``create_agent(model, tools, middleware=[durable_middleware(), …])``.

    Returns:
        The middleware. Outside of a run it changes nothing.
    """
    return DurableMiddleware()
