"""Agents that deal with failures of their tools themselves. Before its last reply each model is out of reach, once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from agents import Agent as OpenAIAgent
from agents import RunContextWrapper, function_tool
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, ToolCallRequest, ToolRetryMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset

from tests.data.swarms import graphs, openai_guests
from tests.data.swarms.guest_shapes import heard, there, told
from tests.data.swarms.guests import call, effect, results, scripted


class Declined(Exception):
    """A bank refuses. It is made from other arguments than it keeps."""

    def __init__(self, amount: int, *, code: str) -> None:
        super().__init__(f"{amount} was declined")
        self.code = code


def charge(amount: int) -> str:
    """Charge a card: a bank declines what is uneven, and is out of reach for what is over a hundred, once."""
    effect(f"note charge {amount}")
    if amount % 2:
        raise Declined(amount, code="funds")
    if amount > 100:
        there()
    return f"charged {amount}"


def say(error: Exception) -> str:
    """What the agent makes of a failure; anything but a refusal of the bank is raised again."""
    if not isinstance(error, Declined):
        raise error
    return f"{type(error).__name__} {error.code}: {error}"


# -- pydantic-ai --------------------------------------------------------------------------------------------------

hooks: Hooks[object] = Hooks()


@hooks.on.tool_execute_error
async def hooked(
    ctx: RunContext[object], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], error: Exception
) -> Any:
    """Deal with it."""
    return say(error)


@dataclass
class Telling(WrapperToolset[object]):
    """A tool set that tells the model of refusals."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: Any) -> Any:
        """Call the tool."""
        try:
            return await super().call_tool(name, tool_args, ctx, tool)
        except Declined as exc:
            return say(exc)


_calls = [call("charge", "a", amount=1), call("charge", "b", amount=2)]
by_hook = Agent(scripted(_calls, told), tools=[charge], capabilities=[hooks])
by_toolset = Agent(scripted(_calls, told), toolsets=[Telling(FunctionToolset([charge]))])
hook_raises = Agent(
    scripted([call("charge", "a", amount=102), call("charge", "b", amount=3)], results),
    tools=[charge],
    capabilities=[hooks],
)

hooked_once = Agent(scripted(_calls, results), tools=[charge], capabilities=[hooks])

# -- LangChain ----------------------------------------------------------------------------------------------------

charge_tool = tool(charge)


class Deals(AgentMiddleware[Any, Any, Any]):
    """Tells the model of refusals."""

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Call the tool."""
        try:
            return await handler(request)
        except Exception as exc:
            return ToolMessage(say(exc), tool_call_id=request.tool_call["id"], name="charge", status="error")


def _agent(middleware: Sequence[Any], *amounts: int, heard: Any = heard) -> Any:
    calls = [("charge", f"c{number}", {"amount": amount}) for number, amount in enumerate(amounts)]
    return create_agent(graphs.scripted(calls, heard), [charge_tool], middleware=middleware)


def inner(middleware: Sequence[Any]) -> Any:
    """Its middleware stands inside of ours."""
    return _agent([*middleware, Deals()], 1, 2)


def inner_once(middleware: Sequence[Any]) -> Any:
    """As `inner`, on a model that is always reached."""
    return _agent([*middleware, Deals()], 1, 2, heard=graphs.results)


def outer(middleware: Sequence[Any]) -> Any:
    """Its middleware stands outside of ours."""
    return _agent([Deals(), *middleware], 1, 2)


def retrying(middleware: Sequence[Any]) -> Any:
    """It tries twice more, and tells the model then."""
    retry = ToolRetryMiddleware(max_retries=2, retry_on=(Declined,), initial_delay=0.0, jitter=False)
    return _agent([*middleware, retry], 1, 2)


def inner_raises(middleware: Sequence[Any]) -> Any:
    """The bank is out of reach, which its middleware does not deal with."""
    return _agent([*middleware, Deals()], 102, 3, heard=graphs.results)


def outer_raises(middleware: Sequence[Any]) -> Any:
    """As `inner_raises`, with its middleware outside of ours."""
    return _agent([Deals(), *middleware], 102, 3, heard=graphs.results)


def passed_on(middleware: Sequence[Any]) -> Any:
    """What it has around its tools deals with no failure. Its service is busy, twice."""
    busy = iter((503, 503))

    @tool(extras={"orbiter": {"idempotent": True}})
    def balance(account: str) -> str:
        """Read the balance of an account."""
        effect(f"look {account}")
        asked = httpx.Request("GET", "http://bank.example/balance")
        httpx.Response(next(busy, 200), headers={"retry-after": "0"}, request=asked).raise_for_status()
        return "12"

    model = graphs.scripted([("balance", "a", {"account": "x"})], graphs.results)
    asks = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
    return create_agent(model, [balance], middleware=[*middleware, asks])


# -- OpenAI Agents ------------------------------------------------------------------------------------------------


def explain(ctx: RunContextWrapper[Any], error: Exception) -> str:
    """What the model is told."""
    return say(error)


def spoken(items: list[Any]) -> str:
    """What the tools of an agent of the SDK gave."""
    there()
    return openai_guests.results(items)


by_function = OpenAIAgent(
    "by_function",
    model=openai_guests.Scripted(
        "m", [openai_guests.call("charge", "m.0.0", amount=1), openai_guests.call("charge", "m.0.1", amount=2)], spoken
    ),
    tools=[function_tool(charge, failure_error_function=explain)],
)
function_raises = OpenAIAgent(
    "function_raises",
    model=openai_guests.Scripted(
        "m",
        [openai_guests.call("charge", "m.0.0", amount=102), openai_guests.call("charge", "m.0.1", amount=3)],
        openai_guests.results,
    ),
    tools=[function_tool(charge, failure_error_function=explain)],
)
