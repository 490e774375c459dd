"""Graphs of LangGraph and agents of LangChain for the runtime's tests, each on a scripted model.

Each tool call leaves a line in the file that $ORBITER_TEST_EFFECTS names.
"""

from __future__ import annotations

import asyncio
import operator
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.config import get_config
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.runtime import get_runtime
from langgraph.types import RetryPolicy, Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from orbiter import Swarm, steps
from orbiter.guests import guest
from orbiter.guests.langgraph import checkpointer, durable, durable_middleware
from orbiter.guests.langgraph.life import Life
from orbiter.guests.langgraph.saver import JournalSaver
from orbiter.types import RunResult
from tests.data.scripted_chat import Reply, ScriptedChat


def effect(text: str) -> None:
    with Path(os.environ["ORBITER_TEST_EFFECTS"]).open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")


class Scripted(ScriptedChat):
    """A model that says these, one after the other; which one is read from the conversation."""

    model_name: str = "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        effect("look model")
        found = super()._generate(messages)
        message = found.generations[0].message
        assert isinstance(message, AIMessage)
        message.usage_metadata = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        return found


def scripted(*replies: Reply | Callable[[list[BaseMessage]], Reply]) -> Scripted:
    def next_reply(messages: list[BaseMessage]) -> Reply:
        found = replies[sum(isinstance(each, AIMessage) for each in messages)]
        return found(messages) if callable(found) else found

    return Scripted(reply=next_reply)


def results(messages: list[BaseMessage]) -> str:
    """What the tools said to the latest request."""
    found: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        found.insert(0, message.text)
    return "; ".join(found)


@tool
async def note(text: str) -> str:
    """Write a line into the world. Those that begin first end last."""
    for _ in range(3 - int(text[1:])):
        await asyncio.sleep(0.002)
    effect(f"note {text}")
    return f"noted {text}"


@tool(extras={"orbiter": {"idempotent": True}})
def look(what: str) -> str:
    """Look at something; may be repeated."""
    effect(f"look {what}")
    return f"saw {what}"


plain = create_agent(scripted(lambda messages: f"you said {messages[-1].text}"), middleware=[durable_middleware()])

parallel = guest(
    partial(
        create_agent,
        scripted(
            [*((("note", f"c{n}", {"text": f"p{n}"})) for n in range(3)), ("look", "c9", {"what": "p"})],
            lambda messages: f"three notes: {results(messages)}",
        ),
        [note, look],
        name="parallel",
    )
)


@tool
def reach(host: str) -> str:
    """Fails, unless the host is up."""
    effect(f"reach {host}")
    if host == "up":
        return "reached up"
    raise ConnectionRefusedError(111, f"connection to {host} refused")


def broken(middleware: Sequence[Any]) -> Any:
    """A factory that is given the middleware."""
    model = scripted([("reach", "r", {"host": "h"})], lambda messages: f"went on: {results(messages)}")
    return create_agent(model, [reach], middleware=middleware)


def reverse(middleware: Sequence[Any]) -> Any:
    """Three calls of one reply: each ends after the one behind it."""
    ended = [asyncio.Event() for _ in range(4)]
    ended[3].set()

    @tool
    async def note(text: str) -> str:
        """Write a line into the world."""
        number = int(text[1:])
        await ended[number + 1].wait()
        effect(f"note {text}")
        ended[number].set()
        return f"noted {text}"

    model = scripted(
        [*((("note", f"c{n}", {"text": f"p{n}"})) for n in range(3)), ("look", "c9", {"what": "p"})],
        lambda messages: f"three notes: {results(messages)}",
    )
    return create_agent(model, [note, look], middleware=middleware, name="reverse")


class Bill(BaseModel):
    """What the agent gives."""

    total: int
    paid: list[str]


structured = guest(
    partial(
        create_agent,
        scripted([("look", "l", {"what": "bills"})], [("Bill", "f", {"total": 3, "paid": ["ann", "bob"]})]),
        [look],
        response_format=Bill,
        name="structured",
    )
)


@tool
def pay(to: str, amount: int) -> str:
    """Pay."""
    effect(f"note paid {to} {amount}")
    return f"paid {to} {amount}"


def banker(middleware: Sequence[Any], mode: Any = "batched", allowed: Any = True) -> Any:
    """Asks before it pays, in LangChain's own way."""
    model = scripted(
        [("pay", "a", {"to": "ann", "amount": 1}), ("pay", "b", {"to": "bob", "amount": 2})],
        lambda messages: f"the end: {results(messages)}",
    )
    asks = HumanInTheLoopMiddleware(interrupt_on={"pay": allowed}, interrupt_mode=mode)
    return create_agent(model, [pay], middleware=[*middleware, asks], name="banker")


banker_per_call = guest(partial(banker, mode="per_call"), name="banker")
banker_yes_or_no = guest(partial(banker, allowed={"allowed_decisions": ["approve", "reject"]}), name="banker")
banker_only_yes = guest(partial(banker, allowed={"allowed_decisions": ["approve", "edit"]}), name="banker")


@tool
def confirm(what: str) -> str:
    """Asks in the tool itself, twice."""
    first = interrupt(f"first {what}?")
    second = interrupt({"question": f"second {what}?", "so far": first})
    effect(f"note confirmed {what} {first} {second}")
    return f"{what}: {first} {second}"


def asking(middleware: Sequence[Any]) -> Any:
    """Two tools that ask, side by side."""
    model = scripted(
        [("confirm", "x", {"what": "x"}), ("confirm", "y", {"what": "y"})],
        lambda messages: f"the end: {results(messages)}",
    )
    return create_agent(model, [confirm], middleware=middleware, name="asking")


effect_once = durable(effect)


@task
def fetch(what: str) -> str:
    """A task of the functional API. Its effect must not happen twice."""
    effect_once(f"note fetched {what}")
    return what.upper()


@task
def settle(text: str) -> str:
    """A task that can fail."""
    if Path(os.environ["ORBITER_TEST_EFFECTS"]).with_name("down").exists():
        raise ConnectionRefusedError(111, "connection to the bank refused")
    effect_once(f"note settled {text}")
    return f"settled {text}"


@entrypoint()
async def flow(text: str) -> str:
    """The functional API: tasks side by side, a question, and one that depends on the answer."""
    begun = [fetch(each) for each in "ab"]
    fetched = [await each for each in begun]
    answer = interrupt("go on?")
    return f"{text}: {', '.join(fetched)}, {await settle(str(answer))}"


class Folder(AgentState[Any]):
    """A state with a folder."""

    filed: Annotated[list[str], operator.add]


@tool
def keep(text: str) -> str:
    """Writes to the state by itself, as the tools of deepagents do."""
    effect(f"note kept {text}")
    get_config()["configurable"]["__pregel_send"]([("filed", [text])])
    return f"kept {text}"


@tool
def folder(state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Tells what is in the state."""
    if Path(os.environ["ORBITER_TEST_EFFECTS"]).with_name("down").exists():
        raise ConnectionRefusedError(111, "connection refused")
    return ", ".join(state["filed"])


def filing(middleware: Sequence[Any]) -> Any:
    """Keeps two texts, and tells what it kept."""
    model = scripted(
        [("keep", "a", {"text": "one"}), ("keep", "b", {"text": "two"})],
        [("folder", "f", {})],
        lambda messages: f"the end: {results(messages)}",
    )
    return create_agent(model, [keep, folder], middleware=middleware, state_schema=Folder)


def cut_off() -> None:
    """The process dies."""
    os.kill(os.getpid(), signal.SIGKILL)


@tool
def send(text: str) -> str:
    """Has its effect; the first time, what carries it ends before it can say so."""
    effect(f"note sent {text}")
    once = Path(os.environ["ORBITER_TEST_EFFECTS"]).with_name("cut-off")
    if not once.exists():
        once.touch()
        cut_off()
    return f"sent {text}"


def sender(middleware: Sequence[Any], saver: Any = None) -> Any:
    """Sends once, if all goes well."""
    model = scripted([("send", "s", {"text": "hello"})], lambda messages: f"the end: {results(messages)}")
    return create_agent(model, [send], middleware=middleware, checkpointer=saver, name="sender")


class Notes(TypedDict):
    """The state of the plain graphs."""

    text: str
    notes: Annotated[list[str], operator.add]


@durable
async def charge(amount: int) -> str:
    """An effect that must not happen twice."""
    effect(f"note charged {amount}")
    return f"charged {amount}"


@durable
def ship(what: str) -> str:
    """The same, without `async`."""
    effect(f"note shipped {what}")
    return f"shipped {what}"


def plan(state: Notes) -> dict[str, Any]:
    return {"notes": [f"planned {state['text']}"]}


def fan(state: Notes) -> list[Send]:
    return [Send("work", {"text": f"{state['text']}{n}"}) for n in range(3)]


async def work(state: Notes) -> dict[str, Any]:
    for _ in range(3 - int(state["text"][-1])):
        await asyncio.sleep(0.002)
    return {"notes": [await charge(int(state["text"][-1]))]}


def close(state: Notes) -> dict[str, Any]:
    down = Path(os.environ["ORBITER_TEST_EFFECTS"]).with_name("down")
    if down.exists():
        raise ConnectionRefusedError(111, "connection to the store refused")
    return {"notes": [ship("all")]}


def build(*, user: bool = False, stop: list[str] | None = None) -> Any:
    graph = StateGraph(Notes)
    graph.add_node("plan", plan)
    graph.add_node("work", work)
    graph.add_node("close", close)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", fan, ["work"])
    graph.add_edge("work", "close")
    graph.add_edge("close", END)
    return graph.compile(checkpointer=checkpointer() if user else None, interrupt_before=stop)


nodes = build()


def ask_one(name: str) -> Any:
    def node(state: Notes) -> dict[str, Any]:
        answer = interrupt({"question": f"{name} of {state['text']}?"})
        return {"notes": [f"{name}={answer}"]}

    return node


def rounds(state: Notes) -> dict[str, Any]:
    """Asks in a loop until the answer is a number."""
    question = "how many?"
    while True:
        answer = interrupt(question)
        if isinstance(answer, int):
            return {"notes": [f"n={answer}"]}
        question = f"{answer!r} is not a number. how many?"


class Choice(BaseModel):
    """What an answer must be."""

    colour: str
    size: int


def choose(state: Notes) -> dict[str, Any]:
    answer = interrupt("which one?", response_schema=Choice)
    return {"notes": [f"{answer.colour} {answer.size}"]}


def build_questions() -> Any:
    inner = StateGraph(Notes)
    inner.add_node("deep", ask_one("deep"))
    inner.add_node("choose", choose)
    inner.add_edge(START, "deep")
    inner.add_edge("deep", "choose")
    graph = StateGraph(Notes)
    graph.add_node("left", ask_one("left"))
    graph.add_node("right", ask_one("right"))
    graph.add_node("rounds", rounds)
    graph.add_node("inner", _inner(inner.compile()))
    for name in ("left", "right"):
        graph.add_edge(START, name)
        graph.add_edge(name, "rounds")
    graph.add_edge("rounds", "inner")
    return graph.compile()


def _inner(graph: Any) -> Any:
    async def run(state: Notes) -> dict[str, Any]:
        found = await graph.ainvoke({"text": state["text"], "notes": []})
        return {"notes": found["notes"]}

    return run


def book(name: str) -> Any:
    """Does something for good, asks, and does something for good, once more after a failure of its own."""

    async def node(state: Notes) -> dict[str, Any]:
        effect(f"look {name}")
        held = await hold(name)
        answer = interrupt(f"{name}?")
        await hold(f"{name} {answer}")
        attempt = get_runtime().execution_info
        if attempt is not None and attempt.node_attempt == 1:
            raise ConnectionError(name)
        return {"notes": [f"{held} {answer}"]}

    return node


@durable
async def hold(what: str) -> str:
    """An effect that must not happen twice."""
    effect(f"note held {what}")
    return f"held {what}"


def build_trip() -> Any:
    """A question in a node, and one in a subgraph beside it."""
    once_more = RetryPolicy(initial_interval=0.001, jitter=False)
    inner = StateGraph(Notes).add_node("flight", book("flight"), retry_policy=once_more).add_edge(START, "flight")
    graph = StateGraph(Notes)
    graph.add_node("hotel", book("hotel"), retry_policy=once_more)
    graph.add_node("travel", inner.compile())
    graph.add_node("done", lambda state: {"notes": [ship("tickets")]})
    for name in ("hotel", "travel"):
        graph.add_edge(START, name)
        graph.add_edge(name, "done")
    return graph.compile()


trip = build_trip()


class Said(TypedDict):
    """The state of the subgraph."""

    text: str
    said: NotRequired[str]


class Talk(Said):
    """The state of the graph around it."""

    notes: Annotated[list[str], operator.add]


def deep(state: Said) -> dict[str, Any]:
    return {"said": f"deep={interrupt('deep?')}"}


def store(state: Said) -> dict[str, Any]:
    ship(state["text"])
    return {}


def build_interview() -> Any:
    """Two questions side by side, then one in a subgraph that is a node, twice, with an effect after each."""
    inner = StateGraph(Said)
    inner.add_node("deep", deep)
    inner.add_node("store", store)
    inner.add_edge(START, "deep")
    inner.add_edge("deep", "store")
    graph = StateGraph(Talk)
    graph.add_node("left", ask_one("left"))
    graph.add_node("right", ask_one("right"))
    graph.add_node("inner", inner.compile())
    graph.add_node("keep", lambda state: {"notes": [state["said"]], "text": f"{state['text']}!"})
    for name in ("left", "right"):
        graph.add_edge(START, name)
        graph.add_edge(name, "inner")
    graph.add_edge("inner", "keep")
    graph.add_conditional_edges("keep", lambda state: END if len(state["notes"]) > 3 else "inner", ["inner", END])
    return guest(graph.compile(), name="interview")


interview = build_interview()
questions = build_questions()
both = Swarm(agents=[guest(plain, name="first"), parallel])

stopping = build(user=True, stop=["close"])


def review(state: Notes) -> dict[str, Any]:
    """Asks in the way of older programs."""
    ask = {
        "action_request": {"action": "mail", "args": {"to": "ann"}},
        "config": {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True},
        "description": "A mail goes out.",
    }
    (answer,) = interrupt([ask])
    return {"notes": [f"{answer['type']} {answer['args']}"]}


older = StateGraph(Notes).add_node("review", review).add_edge(START, "review").compile()


class Refusing(Scripted):
    """A model whose key is wrong."""

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise PermissionError("the key is wrong")


switching = guest(
    partial(create_agent, Refusing(reply=results, model_name="refusing")),
    name="switching",
    models={"spare": scripted("the spare one")},
)


class Conforming:
    """Runs LangGraph's own tests of a checkpointer on ours, as it is in a run: each saver as a node."""

    name = "conforming"

    async def run(self, input: str, **more: Any) -> RunResult:
        numbers = count()

        @checkpointer_test(name="orbiter")
        async def made() -> AsyncIterator[JournalSaver]:
            async with steps.opening("agent", f"saver {next(numbers)}") as scope:
                life = Life(scope=scope, agent="conforming", fine=False, loop=asyncio.get_running_loop())
                yield JournalSaver(life)

        async with steps.opening("agent", self.name) as scope:
            report = await validate(made)
            output = ", ".join(name for name, each in report.results.items() if each.passed)
            scope.outcome(output)
        return RunResult(output=output, steps=1, agent=self.name)


conforming = Conforming()


class Journey(TypedDict):
    """What a graph takes that has no messages."""

    start: str
    end: str
    days: int


def _travel(state: Journey) -> dict[str, Any]:
    return {"end": f"{state['end']} for {state['days']}"}


journey = StateGraph(Journey).add_node("travel", _travel).add_edge(START, "travel").compile()
