"""Swarms for the chaos suite that the zoo does not have: nested, hooked, whimsical, failing, running others, racing.

What hooks and instructions feed in differs from life to life on purpose: only what is recorded can agree.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path
from typing import Any

from orbiter import Agent, ParallelGroup, Swarm, SwarmNode, run, tool
from orbiter.ask import ask_operator
from orbiter.hooks import HookPoint
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Fault, Reply
from orbiter.types import UserMessage


def effect(text: str) -> None:
    with Path(os.environ["ORBITER_TEST_EFFECTS"]).open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")


@tool
def note(text: str) -> str:
    """Write a line into the world. Not to be repeated."""
    effect(f"note {text}")
    return f"noted {text}"


@tool(idempotent=True)
def look(what: str) -> str:
    """Look at something; may be repeated."""
    effect(f"look {what}")
    return f"saw {what}"


@tool(idempotent=True)
async def ask(question: str) -> str:
    """Ask the operator."""
    return f"the operator says {await ask_operator(question)}"


def says(name: str, *replies: Any, **more: Any) -> Agent:
    """An agent with a script of its own."""
    script(f"chaos/{name}", list(replies))
    return Agent(name=name, model=f"scripted:chaos/{name}", **more)


def notes(name: str, *texts: str, **more: Any) -> Agent:
    calls = [Reply(calls=[Call("note", {"text": text})]) for text in texts]
    return says(name, *calls, f"{name} is done", tools=[note], **more)


last = says("last", "the end: ${input}")

# A swarm in a group in a swarm; every level has effects.
inner = Swarm(agents=[notes("deep", "deep1"), notes("deeper", "deep2")])
nested = Swarm(
    agents=[
        ParallelGroup(name="both", agents=[SwarmNode(swarm=inner, name="cellar"), notes("attic", "high1", "high2")]),
        last,
    ]
)


# Hooks that change messages and arguments, otherwise in every life.
async def whisper(agent: Any, messages: list[Any]) -> None:
    messages.append(UserMessage(content=f"secret {uuid.uuid4()}"))


async def stamp(agent: Any, tool_name: str, arguments: dict[str, Any]) -> None:
    arguments["text"] = f"{arguments['text']} #{uuid.uuid4()}"


async def nod(agent: Any, tool_name: str, result: Any) -> None:
    effect("nod")


hooked = Swarm(
    agents=[
        notes(
            "hooked",
            "marked",
            hooks=[
                (HookPoint.PRE_LLM_CALL, whisper),
                (HookPoint.PRE_TOOL_CALL, stamp),
                (HookPoint.POST_TOOL_CALL, nod),
            ],
        ),
        last,
    ]
)

# Instructions that are never the same twice.
whimsical = Swarm(agents=[notes("moody", "mood", instructions=lambda name: f"You are {name} {uuid.uuid4()}."), last])

# A model that is down twice, and one that hits a limit with a hint.
failing = Swarm(
    agents=[
        says("ill", [Fault(status=503), Fault(status=503), Reply(calls=[Call("note", {"text": "ill"})])], "well again",
             tools=[note]),
        says("slow", [Fault(status=429, headers={"retry-after": "0.02"}), "after the limit"]),
        last,
    ]
)  # fmt: skip

worker = notes("worker", "worked")


@tool
async def hire(task: str) -> str:
    """Runs an agent inside a call that must not be made twice."""
    effect("note hired")
    return (await run(worker, task)).output


@tool(composite=True)
async def lead_on(task: str) -> str:
    """Only runs an agent: a scope, never in doubt."""
    return (await run(notes("led", "led"), task)).output


running = Swarm(
    agents=[
        says("boss", Reply(calls=[Call("lead_on", {"task": "x"}), Call("look", {"what": "out"})]),
             Reply(calls=[Call("hire", {"task": "y"})]), "bossed", tools=[hire, lead_on, look]),
        last,
    ]
)  # fmt: skip


# A race: the winner asks nobody, the losers wait for a person.
racing = Swarm(
    agents=[
        ParallelGroup(
            name="race",
            agents=[
                says("stuck", Reply(calls=[Call("ask", {"question": "may I?"})]), "stuck no more", tools=[ask]),
                notes("quick", "won"),
            ],
            join="first_success",
        ),
        last,
    ]
)


@tool(idempotent=True)
async def watch(what: str) -> str:
    """Waits for a file."""
    effect(f"look {what}")
    while not (Path(os.environ["ORBITER_TEST_EFFECTS"]).parent / "go").exists():  # noqa: ASYNC110 - told by a file
        await asyncio.sleep(0.005)
    return "seen"


patient = Swarm(
    agents=[says("patient", Reply(calls=[Call("watch", {"what": "out"})]), "${result}", tools=[watch]), last]
)
