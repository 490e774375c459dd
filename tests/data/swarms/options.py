"""Swarms that meet, between them, every option of an incident (DESIGN section 6), one question each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from orbiter import Agent, ParallelGroup, Swarm, tool
from orbiter.ask import ask_operator
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import (
    Call,
    Fault,
    Reply,
    Script,
)

NO_KEY = Fault(status=401, code="invalid_api_key", type="invalid_request_error", message="bad key")
SLOW_DOWN = Fault(status=429, headers={"retry-after": "900"})
DOWN = Fault(status=503)


def effect(text: str) -> None:
    with Path(os.environ["ORBITER_TEST_EFFECTS"]).open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")


def agent(name: str, *tools: object, **more: object) -> Agent:
    return Agent(name=name, model=f"scripted:options/{name}", tools=list(tools), **more)  # type: ignore[arg-type]


@tool(failure="fail")
def reach(host: str) -> str:
    """Reach a host; of all hosts only `up` answers, and that only the second time."""
    tried = Path(os.environ["ORBITER_TEST_EFFECTS"])
    before = tried.read_text(encoding="utf-8") if tried.exists() else ""
    effect(f"reach {host}")
    if host == "up" or (host == "waking" and "reach waking" in before):
        return f"{host} answers"
    raise ConnectionRefusedError(111, f"connection to {host} refused")


@tool(permissions=("fs.write:{path}",))
def save(path: str) -> str:
    """Write a file."""
    effect(f"save {Path(path).name}")
    return "saved"


@tool(idempotent=True)
async def ask(question: str) -> str:
    """Ask the operator."""
    return f"the operator says {await ask_operator(question)}"


def endless(outputs: list[object]) -> str:
    """An aggregate that needs more memory than there is."""
    raise MemoryError("no memory for so much")


script("options/locked", [[NO_KEY] * 9])
script("options/open", ["by another model: ${input}"])


def once(name: str, fault: Fault, text: str) -> None:
    """A model that fails the first time that anybody ever asks it."""

    @script(f"options/{name}")
    def said(messages: Any, tools: Any) -> Any:
        world = Path(os.environ["ORBITER_TEST_EFFECTS"])
        asked = world.exists() and f"ask {name}\n" in world.read_text(encoding="utf-8")
        effect(f"ask {name}")
        return text if asked else fault


once("hurried", SLOW_DOWN, "after the wait")
once("broken", DOWN, "the breaker let it")
script("options/waker", [Reply(calls=[Call("reach", {"host": "waking"})]), "then: ${result}"])
script("options/reacher", [Reply(calls=[Call("reach", {"host": "down"})]), "then: ${result}"])
script("options/saver", [Reply(calls=[Call("save", {"path": "out.md"})]), "then: ${result}"])
script("options/asker", [Reply(calls=[Call("ask", {"question": "which?"})]), "then: ${result}"])
script("options/plain", ["plain"])
# Each names the other, as often as it is asked.
script("options/ping", Script(["pong"], since="question"))
script("options/pong", Script(["ping"], since="question"))

locked, hurried, broken = agent("locked"), agent("hurried"), agent("broken")
waker, reacher = agent("waker", reach), agent("reacher", reach)
saver, asker, plain = agent("saver", save), agent("asker", ask), agent("plain")
hopeless = Swarm(
    agents=[ParallelGroup(name="hopeless", agents=[plain, agent("open")], aggregate_fn=endless), agent("asker", ask)]
)
_ping, _pong = agent("ping"), agent("pong")
_ping.handoffs["pong"], _pong.handoffs["ping"] = _pong, _ping
pingpong = Swarm(mode="handoff", agents=[_ping, _pong], max_handoffs=3)
