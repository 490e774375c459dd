"""Swarms whose members wait at the same time: for an answer, a permission, a default, a retry. No thread is used."""

from __future__ import annotations

import os
from pathlib import Path

from orbiter import Agent, Swarm, tool
from orbiter.ask import ask_operator
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Fault, Reply


@tool(idempotent=True)
async def ask(question: str) -> str:
    """Ask the operator."""
    return f"the operator says {await ask_operator(question)}"


@tool(permissions=("fs.write:{path}",))
async def save(path: str) -> str:
    """Write a file. Not to be repeated."""
    with Path(os.environ["ORBITER_TEST_EFFECTS"]).open("a", encoding="utf-8") as world:  # noqa: ASYNC230 - no thread is used
        world.write(f"save {Path(path).name}\n")
    return "saved"


BAD_KEY = Fault(status=401, code="invalid_api_key", type="invalid_request_error", message="bad key")
script("parking/plain", ["done: ${input}"])
script("parking/asker", [Reply(calls=[Call("ask", {"question": "for whom?"})]), "asked"])
script("parking/saver", [Reply(calls=[Call("save", {"path": "one.md"})]), "saved"])
script("parking/dead", [[BAD_KEY] * 2 + ["alive again"]])
script("parking/down", [[Fault(status=503)] * 2 + ["back again"]])


def agent(name: str, model: str, *tools: object) -> Agent:
    return Agent(name=name, model=f"scripted:parking/{model}", tools=list(tools))  # type: ignore[arg-type]


plain = agent("plain", "plain")
dead = agent("dead", "dead")
asking = Swarm(agents=[agent("asker", "asker", ask), agent("dead", "dead"), plain], flow="(asker | dead) >> plain")
saving = Swarm(agents=[agent("one", "saver", save), agent("two", "saver", save), plain], flow="(one | two) >> plain")
both_dead = Swarm(agents=[agent("dead", "dead"), agent("dead2", "dead"), plain], flow="(dead | dead2) >> plain")
failing = Swarm(agents=[agent("dead", "dead"), agent("down", "down"), plain], flow="(dead | down) >> plain")
limited = Swarm(
    agents=[agent("a", "plain"), agent("b", "plain"), agent("c", "plain")], flow="(a | b | c)", budget={"max_steps": 1}
)
