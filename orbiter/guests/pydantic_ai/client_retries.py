"""The retries of a model's own client are off within a step: the step has attempts of its own, never multiplied."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

_SETTING = "max_retries"
"""The setting of pydantic-ai that says how often a model's client asks again."""


class SingleAttempts(WrapperModel):
    """Asks a model with the retries of its client off, whatever the agent's own settings say of them."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """As the model itself, once."""
        return await self.wrapped.request(messages, _once(model_settings), model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """As the model itself, once."""
        settings = _once(model_settings)
        async with self.wrapped.request_stream(messages, settings, model_request_parameters, run_context) as stream:
            yield stream


def single_attempts(model: Model, warn: Callable[[str], None]) -> Model | None:
    """The model with the retries of its client off; None where pydantic-ai cannot turn them off.

    Args:
        model: A model, or one that asks others.
        warn: Is told of each model whose client keeps its retries.
    """
    asked = list(_asked_by(model))
    keeping = [each for each in asked if _SETTING in each.unsupported_settings]
    for each in keeping:
        warn(
            f"the client of the model {each.model_id} may ask again by itself within each attempt, because"
            " pydantic-ai cannot turn its retries off: turn them off where the client is made"
        )
    return None if len(keeping) == len(asked) else SingleAttempts(model)


def _asked_by(model: Model) -> Iterator[Model]:
    """The models that send requests."""
    if isinstance(model, WrapperModel):
        yield from _asked_by(model.wrapped)
    elif isinstance(model, FallbackModel):
        for each in model.models:
            yield from _asked_by(each)
    else:
        yield model


def _once(settings: ModelSettings | None) -> ModelSettings:
    return {**(settings or {}), "max_retries": 0}
