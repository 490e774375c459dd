"""Agents of pydantic-ai for the runtime's tests, each on a scripted model of the framework's own.

Each tool call leaves a line in the file that $ORBITER_TEST_EFFECTS names.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable
from pathlib import Path

from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, RunContext, Tool
from pydantic_ai.capabilities import ProcessEventStream, RequestInput
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import DynamicToolset, FunctionToolset

from orbiter import Swarm
from orbiter.guests import guest

Reply = str | list[ToolCallPart]


def effect(text: str) -> None:
    with Path(os.environ["ORBITER_TEST_EFFECTS"]).open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")


def scripted(*replies: Reply | Callable[[list[ModelMessage]], Reply]) -> FunctionModel:
    """A model that says these, one after the other; which one is read from the conversation."""

    def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        reply = replies[sum(isinstance(each, ModelResponse) for each in messages)]
        if callable(reply):
            reply = reply(messages)
        effect("look model")
        return ModelResponse(parts=[TextPart(reply)] if isinstance(reply, str) else list(reply))

    return FunctionModel(say, model_name="scripted")


def call(name: str, call_id: str = "", **arguments: object) -> ToolCallPart:
    return ToolCallPart(name, dict(arguments), tool_call_id=call_id or f"{name}-{len(arguments)}")


def results(messages: list[ModelMessage]) -> str:
    """What the tools said to the latest request."""
    return "; ".join(str(getattr(part, "content", "")) for part in messages[-1].parts)


plain = Agent(scripted(lambda messages: f"you said {results(messages)}"))

parallel = Agent(
    scripted(
        [call("note", f"c{n}", text=f"p{n}") for n in range(3)] + [call("look", "c9", what="p")],
        lambda messages: f"three notes: {results(messages)}",
    ),
    name="parallel",
)


@parallel.tool_plain
async def note(text: str) -> str:
    """Write a line into the world. Those that begin first end last."""
    for _ in range(3 - int(text[1:])):
        await asyncio.sleep(0.002)
    effect(f"note {text}")
    return f"noted {text}"


@parallel.tool_plain(metadata={"orbiter": {"idempotent": True}})
def look(what: str) -> str:
    """Look at something; may be repeated."""
    effect(f"look {what}")
    return f"saw {what}"


def reverse() -> Agent:
    """Three calls of one reply: each ends after the one behind it."""
    ended = [asyncio.Event() for _ in range(4)]
    ended[3].set()

    async def note(text: str) -> str:
        """Write a line into the world."""
        number = int(text[1:])
        await ended[number + 1].wait()
        effect(f"note {text}")
        ended[number].set()
        return f"noted {text}"

    return Agent(parallel.model, name="reverse", tools=[note, Tool(look, metadata={"orbiter": {"idempotent": True}})])


class Bill(BaseModel):
    """What the agent gives."""

    total: int
    paid: list[str]


bank = Agent(
    scripted(
        [call("pay", "a", to="ann", amount=1), call("pay", "b", to="bob", amount=2), call("balance", "x")],
        [call("final_result", "f", total=3, paid=["ann", "bob"])],
    ),
    name="bank",
    output_type=Bill,
    deps_type=int,
)


@bank.tool_plain(requires_approval=True)
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    effect(f"note paid {to} {amount}")
    return f"paid {to} {amount}"


@bank.tool
def balance(ctx: RunContext[int]) -> int:
    """What is there."""
    effect("note balance")
    return ctx.deps


banker = guest(bank, deps=100)

careful = Agent(
    scripted(
        [call("wipe", "w", path="/tmp")],
        lambda messages: [call("guess", "g1", number=1)],
        lambda messages: [call("guess", "g2", number=2)],
        [call("order", "o", what="tea")],
        lambda messages: f"the end: {results(messages)}",
    ),
    name="careful",
)


@careful.tool
def wipe(ctx: RunContext[object], path: str) -> str:
    """Asks before it does it."""
    if not ctx.tool_call_approved:
        effect(f"asked {path}")
        raise ApprovalRequired(metadata={"why": "it is gone then"})
    effect(f"note wiped {path}")
    return f"wiped {path}"


@careful.tool_plain
def guess(number: int) -> str:
    """The model has to try again."""
    effect(f"note guess {number}")
    if number == 1:
        raise ModelRetry("another number")
    return "right"


@careful.tool_plain
def order(what: str) -> str:
    """Comes from outside."""
    raise CallDeferred(metadata={"question": f"Is the {what} there?", "schema": {"type": "string"}})


broken = Agent(
    scripted([call("reach", "r", host="h")], lambda messages: f"went on: {results(messages)}"), name="broken"
)


@broken.tool_plain
def reach(host: str) -> str:
    """Fails."""
    effect(f"reach {host}")
    if host == "up":
        return "reached up"
    raise ConnectionRefusedError(111, f"connection to {host} refused")


class Flight(BaseModel):
    """What the searching agent finds."""

    number: str
    price: int


FLIGHTS = [{"number": "A1", "price": 90}, {"number": "B2", "price": 70}]
reader = guest(
    Agent(scripted([call("final_result", "f", response=FLIGHTS)]), output_type=list[Flight]),
    name="reader",
)

search = Agent(
    scripted(
        [call("read_flights", "r")],
        [call("final_result", "f1", number="A1", price=90)],
        [call("final_result", "f2", number="B2", price=70)],
    ),
    name="search",
    output_type=Flight,
    deps_type=str,
    retries=3,
)


@search.system_prompt
def who_asks(ctx: RunContext[str]) -> str:
    """The instructions depend on who asks, and on the moment."""
    return f"Find the cheapest flight for {ctx.deps}. It is {time.time_ns()}."


@search.tool(metadata={"orbiter": {"composite": True}})
async def read_flights(ctx: RunContext[str]) -> list[Flight]:
    """Another agent reads them off the page."""
    found = (await reader.run("1. A1 for 90; 2. B2 for 70")).parsed
    assert isinstance(found, list)
    return found


@search.output_validator
def is_cheapest(ctx: RunContext[str], output: Flight) -> Flight:
    """The model has to try again where it is not."""
    if output.price != 70:
        raise ModelRetry("there is a cheaper one")
    return output


searching = guest(search, deps=lambda: "ann")


async def post(ctx: RunContext[None], requests: DeferredToolRequests, token: str) -> DeferredToolResults | None:
    """Tells somebody who will answer later; what is cheap is allowed at once."""
    effect(f"posted {len(requests.approvals)} {token.partition('/')[2]}")
    if all(each.args_as_dict()["amount"] < 10 for each in requests.approvals):
        return requests.build_results(approve_all=True)
    return None


asking = Agent(
    scripted(
        [call("spend", "s1", amount=1)],
        [call("spend", "s2", amount=50), call("spend", "s3", amount=60)],
        lambda messages: f"the end: {results(messages)}",
    ),
    name="asking",
    capabilities=[RequestInput(post)],
)


@asking.tool_plain(requires_approval=True)
def spend(amount: int) -> str:
    """Spend money."""
    effect(f"note spent {amount}")
    return f"spent {amount}"


def tools_of_today(ctx: RunContext[object]) -> FunctionToolset[object]:
    """Which tools there are is asked anew."""
    effect("look tools")
    return FunctionToolset([shout])


def shout(text: str) -> str:
    """Say it loudly."""
    effect(f"note {text}")
    return text.upper()


dynamic = Agent(
    scripted([call("shout", "s", text="hey")], lambda messages: f"the end: {results(messages)}"),
    name="dynamic",
    toolsets=[DynamicToolset(tools_of_today, id="today")],
)


async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    """A model that streams."""
    effect("look model")
    for word in ("one", " ", "two"):
        yield word


async def listen(ctx: RunContext[object], events: AsyncIterable[object]) -> None:
    """Takes the pieces as they come."""
    async for _ in events:
        pass


streaming = Agent(
    FunctionModel(stream_function=speak, model_name="streaming"),
    name="streaming",
    capabilities=[ProcessEventStream(listen)],
)


def refuse(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model whose key is wrong."""
    raise ModelHTTPError(401, "scripted", {"error": {"code": "invalid_api_key", "message": "bad key"}})


switching = guest(
    Agent(FunctionModel(refuse, model_name="refusing")), name="switching", models={"spare": scripted("the spare one")}
)

both = Swarm(agents=[guest(plain, name="first"), guest(parallel)])
