"""Agents of the OpenAI Agents SDK, run as they are: a front desk hands a customer over, and money is paid back.

    orbiter-console run examples/guests/support_desk.py:desk "Order 7 arrived broken"

It runs without a key, on the SDK's scripted models. DESK_MODEL=gpt-5-mini (or another of the SDK's model names) puts
the same agents on a real model. While there is a file `payment-service-is-down` the payment fails: remove it, answer
the incident with `retry`, and the run goes on from there.
"""

from __future__ import annotations

import os
from pathlib import Path

from agents import Agent, Model, function_tool
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from orbiter.guests import guest

LEDGER = Path("refunds.txt")
"""Where payments are written: each stands there once, whatever happens."""


def scripted(*turns: ModelStep) -> ScriptedModel:
    """A model whose reply is chosen by how many calls were answered, so that a later life may begin in the middle."""

    def reply(call: ModelCall) -> ModelStep:
        items = call.input if isinstance(call.input, list) else []
        answered: int = sum(each.get("type") == "function_call_output" for each in items)
        return turns[min(len(turns) - 1, answered)]

    return ScriptedModel([ModelStep.respond(reply)] * 100)


def model(*turns: ModelStep) -> str | Model:
    """The model that $DESK_MODEL names, or the scripted one."""
    return os.environ.get("DESK_MODEL") or scripted(*turns)


@function_tool
def find_order(number: int) -> str:
    """Look an order up. It changes nothing, so it may be called again after a crash."""
    return f"order {number}: a lamp, 40.00"


@function_tool(needs_approval=True, failure_error_function=None)
def refund(number: int, amount: float) -> str:
    """Pay money back."""
    outage = Path("payment-service-is-down")
    if outage.exists():
        raise ConnectionRefusedError("the payment service refuses connections")
    with LEDGER.open("a", encoding="utf-8") as ledger:
        ledger.write(f"order {number}: {amount:.2f}\n")
    return f"{amount:.2f} were paid back for order {number}"


refunds = Agent(
    "refunds",
    instructions="Look the order up, then refund it.",
    model=model(
        ModelStep([]),
        ModelStep([function_call("find_order", {"number": 7}, call_id="find")]),
        ModelStep([function_call("refund", {"number": 7, "amount": 40.0}, call_id="pay")]),
        ModelStep([assistant_message("The refund is on its way.")]),
    ),
    tools=[find_order, refund],
)

desk = guest(
    Agent(
        "desk",
        instructions="Hand the customer over to the agent that can help.",
        model=model(ModelStep([function_call("transfer_to_refunds", {}, call_id="over")])),
        handoffs=[refunds],
    ),
    tools={"find_order": {"idempotent": True}},
)
