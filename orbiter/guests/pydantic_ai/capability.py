"""The capability that an agent of pydantic-ai is given for a run: it makes the run durable."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from pydantic_ai.capabilities import AbstractCapability, ModelFallback, RequestInput
from pydantic_ai.capabilities.abstract import CapabilityOrdering
from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    conversation_id_from_run_id,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import Model, ModelRequestContext, ModelResolutionContext
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, RunContext

from orbiter._internal.loop.value_step import record_value
from orbiter.guests.pydantic_ai.backend import METADATA_KEY, StepBackend
from orbiter.guests.pydantic_ai.client_retries import single_attempts
from orbiter.guests.pydantic_ai.deferred import resolve
from orbiter.guests.pydantic_ai.life import current_life
from orbiter.steps import Place
from orbiter.types import Message, content_text


class OrbiterDurability(BaseDurabilityCapability[Any]):
    """Makes pydantic-ai's operations steps of the run that is under way. Outside of a run it does nothing."""

    engine_spec: ClassVar[DurabilityEngineSpec] = DurabilityEngineSpec(
        engine_name="Orbiter",
        durable_unit_noun="step",
        durable_container_noun="run",
        codec=JSON_CODEC,
        toolset_lifecycles={"function": "enter-always", "mcp": "enter-in-durable-unit", "dynamic": "enter-never"},
        unsupported_runtime_toolset_kinds=frozenset({"function", "mcp", "dynamic"}),
        tool_config_key=METADATA_KEY,
    )

    @property
    def in_durable_context(self) -> bool:
        """Whether the agent runs under a runtime."""
        return current_life() is not None

    def get_durable_operation_backend(self) -> StepBackend:
        """Where operations become steps."""
        return StepBackend()

    def get_default_run_id(self) -> str | None:
        """The same in every life."""
        life = current_life()
        return None if life is None else f"{life.scope.run_id}/{life.scope.node_id}"

    def get_default_conversation_id(self, run_id: str) -> str | None:
        """The same in every life."""
        return None if current_life() is None else conversation_id_from_run_id(run_id)

    async def get_run_start_time(self, run_id: str) -> datetime | None:
        """When the run began in its first life: from then its `timeout` counts."""
        life = current_life()
        if life is None:
            return None
        said = await record_value(life.scope, "start time", Place(0), _now, {}, agent=life.agent)
        return datetime.fromisoformat(said)

    def get_ordering(self) -> CapabilityOrdering:
        """Outside of `RequestInput`, which is told through the waiter what it asks about."""
        return CapabilityOrdering(position="innermost", wrapped_by=(ModelFallback,), wraps=(RequestInput,))

    def get_wrapper_model(self, model: Model) -> Model | None:
        """Within a step the retries of a model's client are off."""
        life = current_life()
        return None if life is None else single_attempts(model, life.scope.warn)

    async def resolve_model_id(self, ctx: ModelResolutionContext[Any], *, model_id: str) -> Model | None:
        """The model of this name: one that was registered, or that code of the agent's own gave in this life."""
        life = current_life()
        given = life.models.get(model_id) if life is not None else None
        return given if given is not None else await super().resolve_model_id(ctx, model_id=model_id)

    def _find_model_id(self, model: Model) -> str | None:
        """The name of a model that a request is to be made to.

        Private in pydantic-ai, which refuses a model that was not registered. A step is made in this process: a model
        that code of the agent's own gives, as in `ModelFallback`, needs no more than a name.
        """
        try:
            return super()._find_model_id(model)
        except UserError:
            life = current_life()
            return life.name_model(model) if life is not None else None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """A new turn begins: it may wait at a breakpoint, and takes up what an operator said to the agent."""
        request_context = await super().before_model_request(ctx, request_context)
        life = current_life()
        if life is not None:
            said: list[Message] = []
            await life.scope.turn(life.turn, said)
            _add(request_context, said)
        return request_context

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Answer what no handler of the agent's own has answered. An agent that has `RequestInput` asks by that."""
        life = current_life()
        if life is None:
            return None
        if ctx.root_capability is not None and _asks_itself(ctx.root_capability):
            life.deferred = requests
            return None
        return await resolve(life, requests)


def _asks_itself(root: AbstractCapability[Any]) -> bool:
    found: list[AbstractCapability[Any]] = []
    root.apply(found.append)
    return any(isinstance(each, RequestInput) for each in found)


def _add(request_context: ModelRequestContext, said: Sequence[Message]) -> None:
    last = request_context.messages[-1]
    if said and isinstance(last, ModelRequest):
        parts = [UserPromptPart(content=content_text(each.content)) for each in said]
        last.parts = [*last.parts, *parts]


async def _now(_: dict[str, Any]) -> str:
    return datetime.now(UTC).isoformat()
