"""An agent of LangChain and a graph of LangGraph, run as they are: expenses are checked, approved and paid.

    orbiter-console run examples/guests/expenses.py:clerk "Pay my taxi"
    orbiter-console run examples/guests/expenses.py:month "November"

They run without a key, on the scripted model below. EXPENSES_MODEL=openai:gpt-5-mini (or another of LangChain's model
strings) puts the same agent on a real model. While there is a file `bank-is-down` each payment fails: remove it, answer
the incident with `retry`, and the run goes on from there.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict

from orbiter.guests.langgraph import durable

LEDGER = Path("payments.txt")
"""Where payments are written: each stands there once, whatever happens."""


class ScriptedModel(BaseChatModel):
    """Says what a model would say in each of its turns."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """It knows its tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        turn = sum(isinstance(each, AIMessage) for each in messages)
        said = [
            AIMessage("", tool_calls=[ToolCall(name="find_receipt", args={"what": "taxi"}, id="find")]),
            AIMessage("", tool_calls=[ToolCall(name="pay", args={"what": "taxi", "amount": 30.0}, id="pay")]),
            AIMessage("The taxi is paid."),
        ][turn]
        return ChatResult(generations=[ChatGeneration(message=said)])


def transfer(what: str, amount: float) -> str:
    """Move the money."""
    if Path("bank-is-down").exists():
        raise ConnectionRefusedError("the bank refuses connections")
    with LEDGER.open("a", encoding="utf-8") as ledger:
        ledger.write(f"{what}: {amount:.2f}\n")
    return f"{amount:.2f} were paid for {what}"


@tool(extras={"orbiter": {"idempotent": True}})
def find_receipt(what: str) -> str:
    """Look a receipt up. It changes nothing, so it may be called again after a crash."""
    return f"{what}: 30.00"


@tool
def pay(what: str, amount: float) -> str:
    """Pay an expense."""
    return transfer(what, amount)


def clerk(middleware: Sequence[AgentMiddleware[Any, Any, Any]] = ()) -> Any:
    """An agent. It is given the middleware that records each of its calls; without one it is LangChain's alone."""
    return create_agent(
        os.environ.get("EXPENSES_MODEL") or ScriptedModel(),
        [find_receipt, pay],
        system_prompt="Look a receipt up before you pay it.",
        middleware=[*middleware, HumanInTheLoopMiddleware(interrupt_on={"pay": True})],
    )


class Month(TypedDict):
    """The state of the graph: which month, and what was paid."""

    month: str
    paid: Annotated[list[str], operator.add]


class Expense(TypedDict):
    """What one payment takes."""

    what: str
    amount: float


pay_once = durable(transfer)
"""A node runs again when it fails or is interrupted; what this did is not done again."""


def due(state: Month) -> list[Send]:
    """Two expenses are due, side by side."""
    return [Send("settle", {"what": what, "amount": amount}) for what, amount in (("rent", 900.0), ("power", 70.0))]


def settle(state: Expense) -> dict[str, Any]:
    """Asks which amount is right, and pays it."""
    answer = interrupt({"question": f"How much is the {state['what']}?", "expected": state["amount"]})
    return {"paid": [pay_once(state["what"], float(answer))]}


builder = StateGraph(Month)
builder.add_node("settle", settle)
builder.add_conditional_edges(START, due, ["settle"])
builder.add_edge("settle", END)
month = builder.compile()
