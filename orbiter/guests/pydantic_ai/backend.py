"""The backend: each operation of pydantic-ai becomes a step.

Model requests are `llm` steps and tool calls are `tool` steps. Listing tools, checking arguments and what else only
reads are `value` steps. Capability operations, and operations that a later version of pydantic-ai may add, are `tool`
steps that must not be repeated unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from pydantic_ai.durable_exec import (
    CapabilityOperationId,
    DurableOperation,
    DurableOperationBackend,
    EventStreamHandlerId,
    JournalOperationNamer,
    ModelCancelSuspendedResponseId,
    ModelCompactMessagesId,
    ModelRequestId,
    ToolsetCallToolId,
    ToolsetGetInstructionsId,
    ToolsetGetToolsId,
    ToolsetValidateToolArgumentsId,
    record_durable_unit,
)

from orbiter import steps
from orbiter.guests.handled_failures import HandledCall, first_attempt, handled_call, made_or_settled
from orbiter.guests.model_request_codec import error_of_request
from orbiter.guests.pydantic_ai.life import Life, current_life
from orbiter.guests.pydantic_ai.model_request import MODEL_REQUEST, ModelAsk, ask_model
from orbiter.guests.pydantic_ai.operation import OPERATION, OperationAsk, run_operation
from orbiter.guests.pydantic_ai.tool_call import (
    TOOL_CALL,
    ToolAsk,
    call_tool,
    error_of_call,
    json_arguments,
    outcome_of,
)
from orbiter.guests.tool_settings import ToolSettings, approval_of, read_tool_settings
from orbiter.steps import Step

METADATA_KEY = "orbiter"
"""The key of a tool's metadata under which its author declares traits; False there: the tool is not a step."""

_READING = (
    ToolsetGetToolsId,
    ToolsetGetInstructionsId,
    ToolsetValidateToolArgumentsId,
    ModelCompactMessagesId,
    ModelCancelSuspendedResponseId,
    EventStreamHandlerId,
)
"""Operations that may be carried out a second time."""


class StepBackend(DurableOperationBackend[Any]):
    """Binds operations to steps of the run that is under way when they are called."""

    def bind(self, operation: DurableOperation[Any, Any, Any]) -> BoundStep:
        return BoundStep(operation)

    def config_for_tool(
        self, operation: DurableOperation[Any, Any, Any], *, tool: Any, tool_name: str
    ) -> dict[str, Any] | Literal[False]:
        declared = (tool.tool_def.metadata or {}).get(METADATA_KEY) if tool is not None else None
        return False if declared is False else {METADATA_KEY: declared}

    def registrations(self) -> Sequence[Callable[..., object]]:
        return ()


class BoundStep:
    """An operation as a step."""

    __slots__ = ("operation",)

    def __init__(self, operation: DurableOperation[Any, Any, Any]) -> None:
        self.operation = operation

    async def __call__(self, params: Any, *, config: Any = None) -> Any:
        """Carry it out, or recall what was recorded.

        Raises:
            Exception: What the operation raises, where no operator can be asked.
        """
        life = current_life()
        assert life is not None, "pydantic-ai calls bound operations only where `in_durable_context` is true"
        identity = self.operation.operation_id
        if isinstance(identity, ToolsetCallToolId):
            return await self._call_tool(life, params, (config or {}).get(METADATA_KEY))
        if isinstance(identity, ModelRequestId):
            payload = await self._ask_model(life, params, identity)
        elif isinstance(identity, _READING):
            payload = await self._read(life, params)
        else:
            payload = await self._carry_out(life, params, identity)
        return self.operation.result_codec.load(payload)

    async def _ask_model(self, life: Life, params: Any, identity: ModelRequestId) -> Any:
        make = partial(self._model_step, life, params, identity)
        ask, payload = await made_or_settled(life.request, make, error_of_request)
        life.turn, life.sent = ask.turn, len(params.messages)
        life.take_reply([part["tool_call_id"] for part in payload["parts"] if part.get("part_kind") == "tool-call"])
        return payload

    async def _model_step(
        self, life: Life, params: Any, identity: ModelRequestId, call: HandledCall | None, failed: Exception | None
    ) -> tuple[ModelAsk, Any]:
        """Ask a model as a step; `failed`: the agent's own code let this out of a request that failed."""
        model = params.model_id or getattr(params.run_context.model, "model_id", identity.model_name)
        before = call.places if call is not None else []
        if not before:
            life.new_from = life.sent if life.sent < len(params.messages) else 0
        place = life.begin_turn()
        handled = call is not None and failed is None
        ask = ModelAsk(self.operation, params, model, life.new_from, turn=life.turn, handled=handled)
        before.append(place)
        first = first_attempt(failed)
        step = Step("llm", model, life.agent, place, ask, ask_model, MODEL_REQUEST, handled=handled, failed=first)
        return ask, await _run(life, step, ask)

    async def _call_tool(self, life: Life, params: Any, declared: Any) -> Any:
        settings = read_tool_settings(params.name, declared, life.scope.tool_settings(params.name))
        if settings.composite:
            place = life.place_of_call(params.name, params.ctx.tool_call_id or "")
            async with life.scope.scope("tool", params.name, place) as scope:
                with steps.entered(scope):
                    return await self.operation.handler(params)
        make = partial(self._tool_step, life, params, settings)
        return outcome_of(*await made_or_settled(handled_call(life), make, error_of_call))

    async def _tool_step(
        self,
        life: Life,
        params: Any,
        settings: ToolSettings,
        call: HandledCall | None,
        failed: Exception | None,
    ) -> tuple[ToolAsk, Any]:
        """Carry a call out as a step; `failed`: the agent's own code let this out of a call that failed."""
        call_id = params.ctx.tool_call_id or ""
        definition = params.tool.tool_def if getattr(params, "tool", None) is not None else params.tool_def
        needed = (approval_of(params.name),) if call_id in life.approved else ()
        schema = definition.parameters_json_schema if definition is not None else None
        traits = settings.traits(*needed, schema=schema)
        handled = call is not None and failed is None
        arguments = json_arguments(params.tool_args)
        ask = ToolAsk(params.name, call_id, arguments, self.operation, params, settings.failure, handled=handled)
        before = call.places if call is not None else []
        place = life.place_of_call(params.name, call_id)
        step = Step(
            "tool",
            params.name,
            life.agent,
            place,
            ask,
            call_tool,
            TOOL_CALL,
            traits,
            continues=tuple(before),
            handled=handled,
            failed=failed,
        )
        before.append(place)
        return ask, await _run(life, step, ask)

    async def _read(self, life: Life, params: Any) -> Any:
        identity = self.operation.operation_id
        if isinstance(identity, ToolsetValidateToolArgumentsId):
            name = f"check {params.name}"
            place = life.place_of_call(name, params.ctx.tool_call_id or "")
        else:
            name = JournalOperationNamer("").operation_name(identity).strip("_")
            place = life.place_of(name)
        ask = OperationAsk(self.operation, params)
        return await _run(life, Step("value", name, life.agent, place, ask, run_operation, OPERATION), ask)

    async def _carry_out(self, life: Life, params: Any, identity: Any) -> Any:
        if isinstance(identity, CapabilityOperationId):
            name = f"{identity.capability_id}.{identity.operation}"
        else:
            name = JournalOperationNamer(life.agent).operation_name(identity)
        arguments = json_arguments(getattr(params, "arguments", {}))
        ask = OperationAsk(self.operation, params, {"id": "", "arguments": arguments})
        return await _run(life, Step("tool", name, life.agent, life.place_of(name), ask, run_operation, OPERATION), ask)


async def _run(life: Life, step: Step[Any, Any], ask: Any) -> Any:
    payload = await life.scope.step(step)
    record_durable_unit(executed=ask.made)
    return payload
