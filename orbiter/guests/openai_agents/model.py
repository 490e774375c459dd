"""Models and the model provider that stand in for those of a run: each call is a step."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from agents import Model, ModelProvider
from agents.items import ItemHelpers, ModelResponse, TResponseStreamEvent

from orbiter.guests.model_request_codec import error_of_request
from orbiter.guests.openai_agents import sdk
from orbiter.guests.openai_agents.life import Life, current_life
from orbiter.guests.openai_agents.messages import call_ids, first_calls, to_theirs
from orbiter.guests.openai_agents.model_request import (
    MODEL_REQUEST,
    ModelAsk,
    ModelRequest,
    ask_model,
    stream_model,
)
from orbiter.steps import Step, Traits
from orbiter.types import Message


class StepModel(Model):
    """A model whose calls are steps of the run that is under way.

    Args:
        model: The model; None where a provider gives it by its name.
        name: As it is asked of the provider; None for the SDK's default.
        provider: Gives models by name.
    """

    def __init__(self, model: Model | None, name: str | None, provider: ModelProvider) -> None:
        self.model = model
        self.name = name
        self.provider = provider

    async def get_response(self, *positional: Any, **keywords: Any) -> ModelResponse:
        """The reply: asked for, or recalled."""
        life = current_life()
        if life is None:
            return await self._own().get_response(*positional, **keywords)
        return await self._ask(life, _request(*positional, **keywords))

    async def stream_response(self, *positional: Any, **keywords: Any) -> AsyncIterator[TResponseStreamEvent]:
        """The reply as a stream of complete items: what stands in it is recorded once it is complete."""
        life = current_life()
        if life is None:
            async for event in self._own().stream_response(*positional, **keywords):
                yield event
            return
        response = await self._ask(life, _request(*positional, **keywords))
        for event in sdk.events_of_response(response, sdk.name_of(self.model, self.name)):
            yield event

    def _own(self) -> Model:
        return self.model if self.model is not None else self.provider.get_model(self.name)

    async def _ask(self, life: Life, request: ModelRequest) -> ModelResponse:
        await _take_up(life, request.input)
        name = sdk.name_of(self.model, self.name)
        new_from = life.sent if life.sent < len(request.input) else 0
        ask = ModelAsk(request, name, self._find(life, name), new_from, handled=life.told)
        life.sent = len(request.input)
        traits = Traits(timeout=life.model_timeout)
        place = life.begin_turn()
        step = Step("llm", name, life.agent, place, ask, ask_model, MODEL_REQUEST, traits, stream=stream_model)
        result = await life.scope.step(step)
        if (error := error_of_request((ask, result))) is not None:
            raise error
        response = sdk.load_response(result)
        life.take_reply(call_ids(response.output))
        life.calls = first_calls(response.output)
        return response

    def _find(self, life: Life, name: str) -> Callable[[str], Model]:
        def find(wanted: str) -> Model:
            if wanted == name:
                return self._own()
            registered = life.options.models.get(wanted)
            return registered if registered is not None else self.provider.get_model(wanted.removeprefix("openai:"))

        return find


def _request(*positional: Any, **keywords: Any) -> ModelRequest:
    request = ModelRequest(*positional, **keywords)
    return replace(request, input=list(ItemHelpers.input_to_new_input_list(request.input)))


async def _take_up(life: Life, items: list[Any]) -> None:
    """A new turn begins: it may wait at a breakpoint. What an operator said to the agent stands in this request and in
    those after it, where it stood first.
    """
    for index, item in life.injected:
        items.insert(min(index, len(items)), item)
    said: list[Message] = []
    await life.scope.turn(life.turn, said)
    for item in to_theirs(said):
        life.injected.append((len(items), item))
        items.append(item)


class StepProvider(ModelProvider):
    """Gives models whose calls are steps, in place of those of another provider."""

    def __init__(self, provider: ModelProvider) -> None:
        self.provider = provider

    def get_model(self, model_name: str | None) -> Model:
        """The model that has a name; each request of a turn asks for it."""
        return StepModel(None, model_name, self.provider)

    async def aclose(self) -> None:
        """Close the other provider."""
        await self.provider.aclose()
