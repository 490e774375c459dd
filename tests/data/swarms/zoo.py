"""Swarms for the runtime's tests: every mode, parallel calls, permissions, questions, refusals.

Each tool call leaves a line in the file that $ORBITER_TEST_EFFECTS names: the world, as far as these tests go.
"""

from __future__ import annotations

import asyncio
import os
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel

from orbiter import Agent, ParallelGroup, Swarm, tool
from orbiter.ask import ask_operator
from orbiter.hooks import HookPoint
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import (
    Call,
    Fault,
    Reply,
    Script,
)


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


@tool(permissions=("fs.write:{path}",))
def save(path: str, text: str) -> str:
    """Write a file."""
    effect(f"save {Path(path).name}")  # what is checked is absolute, and is what the tool gets
    return f"saved {len(text)} characters"


@tool(idempotent=True)
async def ask(question: str) -> str:
    """Ask the operator."""
    answer = await ask_operator(question)
    effect(f"asked {question}")
    return f"the operator says {answer}"


@tool(failure="fail")
def reach(host: str) -> str:
    """Reach a host, in vain."""
    effect(f"reach {host}")
    raise ConnectionRefusedError(111, f"connection to {host} refused")


script("zoo/plain", ["done: ${input}"])
script(
    "zoo/noter", [Reply(calls=[Call("note", {"text": "one"})]), Reply(calls=[Call("note", {"text": "two"})]), "noted"]
)
script(
    "zoo/parallel",
    [Reply(calls=[Call("note", {"text": f"p{n}"}) for n in range(3)] + [Call("look", {"what": "p"})]), "three notes"],
)
script("zoo/limited", [[Fault(status=429, headers={"retry-after": "0.05"}), "after the limit"]])
script("zoo/down", [[Fault(status=503)] * 2 + ["back again"]])
script("zoo/dead", [[Fault(status=401, code="invalid_api_key", type="invalid_request_error", message="bad key")] * 3])
script("zoo/saver", [Reply(calls=[Call("save", {"path": "out.md", "text": "hello"})]), "saved: ${result}"])
script("zoo/asker", [Reply(calls=[Call("ask", {"question": "for whom?"})]), "answered: ${result}"])
script("zoo/reacher", [Reply(calls=[Call("reach", {"host": "db"})]), "reached: ${result}"])
script("zoo/lead", [
    Reply(calls=[Call("delegate_to_noter", {"task": "note it"}), Call("delegate_to_asker", {"task": "ask it"})]),
    "team done",
])  # fmt: skip
script("zoo/handing", ["noter"])
script("zoo/handed", Script([Reply(calls=[Call("note", {"text": "handed"})]), "took over"], since="question"))


def agent(name: str, model: str = "", *tools: object, **more: object) -> Agent:
    return Agent(name=name, model=f"scripted:zoo/{model or name}", tools=list(tools), **more)  # type: ignore[arg-type]


plain = agent("plain")
noter = agent("noter", "", note)
limited = agent("limited")
down = agent("down")
dead = agent("dead")
saver = agent("saver", "", save)
asker = agent("asker", "", ask)
reacher = agent("reacher", "", reach)
parallel = agent("parallel", "", note, look)

workflow = Swarm(agents=[noter, parallel, plain], flow="noter >> parallel >> plain")
stage = Swarm(agents=[noter, asker, saver, plain], flow="(noter | asker | saver) >> plain")
team = Swarm(mode="team", agents=[agent("lead"), agent("noter", "", note), agent("asker", "", ask)])
handoff = Swarm(
    mode="handoff",
    agents=[agent("first", "handing", handoffs=[agent("noter", "handed", note)]), agent("noter", "handed", note)],
)
lenient = Swarm(
    agents=[
        ParallelGroup(name="branches", agents=[noter, reacher], join="allow_optional_failures"),
        plain,
    ]
)
mixed = Swarm(agents=[noter, down, plain])

script(
    "zoo/chatty",
    [Reply(calls=[Call("look", {"what": "a"})]), Reply(calls=[Call("note", {"text": "b"})]), "heard: ${input}"],
)
chatty = agent("chatty", "", look, note)


# -- what people are asked, and what may be done -----------------------------------------------------------------------

SCHEMAS: dict[str, dict[str, Any] | None] = {
    "text": None,
    "choice": {"type": "string", "enum": ["red", "green"]},
    "several": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 1},
    "number": {"type": "integer", "minimum": 1},
    "yesno": {"type": "boolean"},
    "secret": {"type": "string", "format": "password"},
}


@tool(idempotent=True)
async def quiz(kind: str) -> str:
    """Ask something of a kind."""
    answer = await ask_operator(f"{kind}?", SCHEMAS[kind])
    effect(f"quiz {kind} {'*' * len(answer) if kind == 'secret' else repr(answer)}")
    return f"got a {type(answer).__name__}"


@tool(idempotent=True)
async def login(host: str) -> str:
    """Ask for a password, use it, then fail in words that quote it."""
    password = await ask_operator(f"password for {host}?", SCHEMAS["secret"])
    effect(f"login {len(password)}")
    await ask_operator("anything else?", number=1)
    raise ValueError(f"login with {password} was refused")


@tool(failure="fail", permissions=("fs.write:{path}",))
def wipe(path: str = "all.md", deep: bool = False) -> str:
    """Remove a file; its failure fails the agent."""
    effect(f"wipe {path} {deep}")
    return "wiped"


@tool(permissions=("net:{url}",))
def fetch(url: str) -> str:
    """Fetch an address."""
    effect(f"fetch {url}")
    return "fetched"


def unmergeable(outputs: list[Any]) -> str:
    """An aggregate that fails."""
    raise RuntimeError(f"cannot merge {len(outputs)} outputs")


for kind in SCHEMAS:
    script(f"zoo/quiz-{kind}", [Reply(calls=[Call("quiz", {"kind": kind})]), "quiz: ${result}"])
    globals()[f"quiz_{kind}"] = agent(f"quiz_{kind}", f"quiz-{kind}", quiz)
script("zoo/login", [Reply(calls=[Call("login", {"host": "db"})]), "login: ${result}"])
script("zoo/wiper", [Reply(calls=[Call("wipe", {})]), "wiper: ${result}"])
script("zoo/fetcher", [Reply(calls=[Call("fetch", {"url": "HTTPS://API.Example.com./v1?q=1"})]), "fetcher: ${result}"])
script("zoo/twice", [
    Reply(calls=[Call("save", {"path": "data/one.md", "text": "1"})]),
    Reply(calls=[Call("save", {"path": "data/two.md", "text": "2"})]),
    "twice: ${result}",
])  # fmt: skip


@tool(idempotent=True)
async def leak(how: str) -> str:
    """Ask for a password, and give it away."""
    password = await ask_operator("password?", SCHEMAS["secret"])
    effect(f"leak {len(password)}")
    if how == "raise":
        raise ValueError(f"{password} was refused")
    return f"it is {password}, and {password[:3]}"


script("zoo/leaker", [
    Reply(calls=[Call("leak", {"how": "return"}), Call("leak", {"how": "raise"})]),
    Reply(calls=[Call("look", {"what": "${result}"})]),
    "said: ${result}",
])  # fmt: skip
leaker = agent("leaker", "", leak, look)
script("zoo/leaks_then_asks", [
    Reply(calls=[Call("leak", {"how": "return"})]),
    Reply(calls=[Call("quiz", {"kind": "text"})]),
    "quiz: ${result}",
])  # fmt: skip
leaks_then_asks = agent("leaks_then_asks", "", leak, quiz)


@script("zoo/wanter")
def wanter_says(messages: Any, tools: Any) -> Any:
    """Saves what it is told to."""
    said = next(message.content for message in messages if message.role == "user")
    turn = sum(message.role == "assistant" for message in messages)
    return [Reply(calls=[Call("save", {"path": said, "text": "x"})]), "done"][turn]


@script("zoo/doubter")
def doubter_says(messages: Any, tools: Any) -> Any:
    """Asks whether it may remove what it is told of."""
    said = next(message.content for message in messages if message.role == "user")
    turn = sum(message.role == "assistant" for message in messages)
    return [Reply(calls=[Call("ask", {"question": f"remove {said}?"})]), "done"][turn]


wanter, doubter = agent("wanter", "", save), agent("doubter", "", ask)
loggingin = agent("loggingin", "login", login)
wiper = agent("wiper", "", wipe)
fetcher = agent("fetcher", "", fetch)
twice = agent("twice", "", save)
gathered = Swarm(agents=[ParallelGroup(name="gathered", agents=[noter, plain], aggregate_fn=unmergeable), plain])

script("zoo/throttled", [[Fault(status=429, headers={"retry-after": "600"}), "after the limit"]])
throttled = agent("throttled")
script("zoo/reacher_then_ask", [
    Reply(calls=[Call("reach", {"host": "db"})]),
    Reply(calls=[Call("ask", {"question": "well?"})]),
    "reached: ${result}",
])  # fmt: skip
reacher_then_ask = agent("reacher_then_ask", "", reach, ask)


async def elsewhere(*, arguments: dict[str, Any], **_: Any) -> None:
    """A PRE hook that moves where a tool writes."""
    arguments["path"] = "moved.md"


hooked = agent("hooked", "saver", save)
hooked.hook_manager.add(HookPoint.PRE_TOOL_CALL, elsewhere)


@tool(failure="fail")
def pay() -> str:
    """Pay; of the first three nobody hears whether the money went."""
    effect("pay")
    if Path(os.environ["ORBITER_TEST_EFFECTS"]).read_text(encoding="utf-8").count("pay") <= 3:
        raise TimeoutError("the bank did not answer in time")
    return "paid"


script("zoo/payer", [Reply(calls=[Call("pay", {})]), "then: ${result}"])
payer = agent("payer", "", pay)


def _working_day(day: date) -> date:
    if day.isoweekday() == 7:
        raise ValueError("a working day is wanted")
    return day


@tool(failure="fail")
def dates() -> list[Annotated[date, AfterValidator(_working_day)]]:
    """Days on which somebody is free, in vain."""
    effect("dates")
    raise ConnectionRefusedError(111, "connection to the calendar refused")


script("zoo/dater", [Reply(calls=[Call("dates", {})]), "free on ${result}"])
dater = agent("dater", "", dates)


class Count(BaseModel):
    """What a former must say."""

    n: int


script("zoo/former", ["no json", "still none", "never", '{"n": 7}'])
former = agent("former", output_type=Count)
script(
    "zoo/looper",
    [*[Reply(calls=[Call("look", {"what": "same"})])] * 3, "out of the loop: ${input}"],
)
looper = agent("looper", "", look)


@tool(permissions=("fs.write:{path}", "shell"))
def build(path: str) -> str:
    """Needs two permissions."""
    effect(f"build {Path(path).name}")
    return "built"


script("zoo/builder", [Reply(calls=[Call("build", {"path": "out"})]), "built"])
builder = agent("builder", "", build)


@tool(failure="fail", idempotent=True)
def tally(what: str) -> Count:
    """Count something, in vain."""
    raise ValueError(f"{what} cannot be counted")


script("zoo/tallier", [Reply(calls=[Call("tally", {"what": "sheep"})]), "tallied: ${result}"])
tallier = agent("tallier", "", tally)
script("zoo/deadformer", [[Fault(status=401, code="invalid_api_key", message="bad key")] * 3])
deadformer = agent("deadformer", output_type=Count)


@tool
async def linger() -> str:
    """Work until somebody says go."""
    go = Path(os.environ["ORBITER_TEST_EFFECTS"]).with_name("go")
    while not go.exists():  # noqa: ASYNC110 - the world tells nobody
        await asyncio.sleep(0.01)
    effect("lingered")
    return "done"


script("zoo/slow", [Reply(calls=[Call("linger", {})]), "slowly done"])
slow = agent("slow", "", linger)


@tool(permissions=("shell",))
def command(line: str) -> str:
    """A permission without an object: what is done stands in the arguments alone."""
    effect(f"command {line}")
    return "done"


script("zoo/commander", [Reply(calls=[Call("command", {"line": each}) for each in ("ls", "rm -r x", "ls")]), "done"])
commander = agent("commander", "", command)


@tool(permissions=("shell:{lines}",))
def execute(lines: list[str]) -> str:
    """Run lines of shell."""
    effect(f"execute {len(lines)}: {lines[0][:80]!r}")
    return "done"


@script("zoo/executer")
def executer_says(messages: Any, tools: Any) -> Any:
    """Executes each line that it is told; ``N*LINE`` is a list of N lines that differ."""
    said = next(message.content for message in messages if message.role == "user")
    if sum(message.role == "assistant" for message in messages):
        return "done"
    calls = []
    for line in said.split("\x1f"):
        count, times, text = line.partition("*")
        many = [f"{text} {n}" for n in range(int(count))] if times and count.isdigit() else [line]
        calls.append(Call("execute", {"lines": many}))
    return Reply(calls=calls)


executer = agent("executer", "", execute)
script(
    "zoo/savers",
    [Reply(calls=[Call("save", {"path": each, "text": "x"}) for each in ("data/a", "data/b", "c")]), "saved"],
)
savers = agent("savers", "", save)


@tool(idempotent=True, failure="fail")
async def unlock(door: str) -> str:
    """An error that quotes a secret."""
    raise PermissionError(f"Wrong password {await ask_operator('password?', SCHEMAS['secret'])} for {door}")


script("zoo/locked_out", [Reply(calls=[Call("unlock", {"door": "front"})]), "in"])
locked_out = agent("locked_out", "", unlock)


class Tidy(Agent):
    """Raises an error of its own when its model is given up: with the failure as its cause, or cut off from it."""

    async def run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super().run(*args, **kwargs)
        except Exception as exc:
            cause = exc if self.name == "telling" else None
            raise RuntimeError(f"{self.name} could not go on") from cause


telling = Swarm(agents=[Tidy(name="telling", model="scripted:zoo/dead")])
silent = Swarm(agents=[Tidy(name="silent", model="scripted:zoo/dead")])
