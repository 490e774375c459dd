"""An agent of pydantic-ai, run as it is: it looks up an order, asks for approval, and pays money back.

    orbiter-console run examples/guests/refunds.py:support "Order 7 arrived broken"

It runs without a key, on the scripted model below. REFUNDS_MODEL=openai:gpt-5-mini (or another of pydantic-ai's model
names) puts the same agent on a real model. While there is a file `payment-service-is-down` the payment fails: remove
it, answer the incident with `retry`, and the run goes on from there.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

LEDGER = Path("refunds.txt")
"""Where payments are written: each stands there once, whatever happens."""


class Order(BaseModel):
    """What is known of an order."""

    number: int
    price: float


def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """What the scripted model says in each of its turns."""
    turn = sum(isinstance(each, ModelResponse) for each in messages)
    if turn == 0:
        return ModelResponse(parts=[ToolCallPart("find_order", {"number": 7}, tool_call_id="find")])
    if turn == 1:
        return ModelResponse(parts=[ToolCallPart("refund", {"number": 7, "amount": 40.0}, tool_call_id="pay")])
    return ModelResponse(parts=[TextPart("The refund is on its way.")])


support = Agent(
    os.environ.get("REFUNDS_MODEL") or FunctionModel(reply, model_name="scripted"),
    instructions="Help the customer. Look the order up before you refund it.",
)


@support.tool_plain(metadata={"orbiter": {"idempotent": True}})
def find_order(number: int) -> Order:
    """Look an order up. It changes nothing, so it may be called again after a crash."""
    return Order(number=number, price=40.0)


@support.tool_plain(requires_approval=True)
def refund(number: int, amount: float) -> str:
    """Pay money back."""
    outage = Path("payment-service-is-down")
    if outage.exists():
        raise ConnectionRefusedError("the payment service refuses connections")
    with LEDGER.open("a", encoding="utf-8") as ledger:
        ledger.write(f"order {number}: {amount:.2f}\n")
    return f"{amount:.2f} were paid back for order {number}"
