"""Operations that are neither a model request nor a tool call, as steps, and how any operation is carried out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.durable_exec import DurableOperation, durable_unit_scope

from orbiter.steps import Codec


async def handle(operation: DurableOperation[Any, Any, Any], params: Any) -> Any:
    """What the operation gives."""
    with durable_unit_scope():
        return await operation.handler(params)


async def carry_out(operation: DurableOperation[Any, Any, Any], params: Any) -> Any:
    """What the operation gives, as pydantic-ai's JSON."""
    return operation.result_codec.dump(await handle(operation, params))


@dataclass(slots=True, eq=False)
class OperationAsk:
    """One operation. `arguments`: what is recorded of its parameters. `made`: it was carried out in this life."""

    operation: DurableOperation[Any, Any, Any]
    params: Any
    arguments: dict[str, Any] = field(default_factory=dict)
    made: bool = False


async def run_operation(ask: OperationAsk) -> Any:
    """What the operation gives, as pydantic-ai's JSON."""
    ask.made = True
    return await carry_out(ask.operation, ask.params)


class OperationCodec(Codec[OperationAsk, Any]):
    """Arguments as they are recorded; results as pydantic-ai's JSON."""

    def describe(self, arguments: OperationAsk) -> dict[str, Any]:
        return arguments.arguments

    def dump(self, result: Any) -> Any:
        return result

    def load(self, value: Any) -> Any:
        return value


OPERATION = OperationCodec()
