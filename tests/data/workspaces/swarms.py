"""The swarms of the kept workspaces. Frozen: a kept run refers to what stands here, so only add.

The world of a workspace is the directory of this file:

- `effects.log` gets one line from each tool call;
- as long as `mended` does not exist, services fail, tools wait, and `die` kills its process;
- `changed` changes the instructions of the agent `changing`.

Only documented imports of `orbiter` are used here.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from orbiter import Agent, ParallelGroup, Swarm, SwarmNode, tool
from orbiter.ask import ask_operator
from orbiter.hooks import HookPoint
from orbiter.models import Call, Fault, Reply, script
from orbiter.severity import ErrorClassification, ErrorSeverity

HERE = Path(__file__).parent


def effect(text: str) -> None:
    with (HERE / "effects.log").open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")


def mended() -> bool:
    return (HERE / "mended").exists()


def broken(fault: Fault, text: str = "mended") -> Callable[[list[Any]], Any]:
    """A turn that fails until the world is mended."""
    return lambda messages: text if mended() else fault


def text_of(message: Any) -> str:
    return message.content if isinstance(message.content, str) else json.dumps(message.content, default=str)


def turns(messages: list[Any]) -> int:
    return sum(message.role == "assistant" for message in messages)


def says(name: str, *replies: Any, **more: Any) -> Agent:
    """An agent whose model gives these replies in turn; a callable gets the messages."""

    @script(f"kept/{name}")
    def speak(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
        reply = replies[min(turns(messages), len(replies) - 1)]
        return reply(messages) if callable(reply) else reply

    return Agent(name=name, model=f"scripted:kept/{name}", **more)


def call(tool_name: str, **arguments: Any) -> Reply:
    return Reply(calls=[Call(tool_name, arguments)])


# -- tools -------------------------------------------------------------------------------------------------------------


@tool
def note(text: str) -> str:
    """Write a line. Not to be repeated."""
    effect(f"note {text}")
    return f"noted {text}"


@tool(idempotent=True)
def look(what: str) -> str:
    """Look at something. May be repeated."""
    effect(f"look {what}")
    return f"saw {what}"


@tool(permissions=("fs.write:{path}",))
def save(path: str, text: str) -> str:
    """Write a file."""
    effect(f"save {Path(path).name} {text}")
    return f"saved {Path(path).name}"


@tool(permissions=("shell:{command}",))
def shell(command: str) -> str:
    """Run a command."""
    effect(f"shell {command}")
    return f"ran {command}"


@tool(permissions=("shell",))
def command(line: str) -> str:
    """A permission without an object."""
    effect(f"command {line}")
    return "done"


@tool(permissions=("net:{url}",))
def fetch(url: str) -> str:
    """Fetch an address."""
    effect(f"fetch {url}")
    return "fetched"


@tool(permissions=("deploy:{target}", "fs.write:{path}"))
def deploy(target: str, path: str) -> str:
    """Needs two permissions, one of them with a verb that the program does not know."""
    effect(f"deploy {target}")
    return "deployed"


@tool(idempotent=True)
async def ask(question: str) -> str:
    """Ask the operator."""
    answer = await ask_operator(question)
    effect(f"asked {question}: {answer}")
    return f"the operator says {answer}"


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
    """Ask for a value of a schema."""
    answer = await ask_operator(f"{kind}?", SCHEMAS[kind])
    effect(f"quiz {kind} {'*' * len(answer) if kind == 'secret' else repr(answer)}")
    return f"got a {type(answer).__name__}"


@tool(failure="fail")
def reach(host: str) -> str:
    """Reach a host. Only `up` answers before the world is mended."""
    effect(f"reach {host}")
    if host == "up" or mended():
        return f"{host} answers"
    raise ConnectionRefusedError(111, f"connection to {host} refused")


@tool(failure="fail")
def pay(to: str) -> str:
    """Pay. Whether the money went is not known."""
    effect(f"pay {to}")
    if mended():
        return f"paid {to}"
    raise TimeoutError("the bank did not answer in time")


@tool(failure="fail", timeout=0.05)
async def hang(what: str) -> str:
    """Answer too late."""
    effect(f"hang {what}")
    if not mended():
        await asyncio.sleep(60)
    return f"{what} came back"


@tool(failure="fail", idempotent=True)
def enter(door: str) -> str:
    """An operation that the operating system refuses."""
    effect(f"enter {door}")
    if mended():
        return f"in at {door}"
    raise PermissionError(13, "Permission denied", f"/doors/{door}")


@tool(failure="fail")
def days(n: int) -> list[date]:
    """A result with a schema."""
    effect(f"days {n}")
    raise ConnectionRefusedError(111, "connection to the calendar refused")


@tool(failure="fail")
def needs_arguments(count: int, name: str = "x") -> str:
    """A call whose arguments do not fit."""
    effect(f"needs {count} {name}")
    return f"{count} {name}"


@tool(idempotent=True)
def dump(kilobytes: int) -> str:
    """A long text, as a blob in the journal."""
    effect(f"dump {kilobytes}")
    return "0123456789abcdef" * (64 * kilobytes)


@tool
async def linger(what: str) -> str:
    """Begin, and wait until the world is mended. Not to be repeated."""
    effect(f"linger {what}")
    while not mended():  # noqa: ASYNC110 - a file sets no event
        await asyncio.sleep(0.01)
    return f"{what} lingered"


@tool(idempotent=True)
async def watch(what: str) -> str:
    """As `linger`, but it may be repeated."""
    effect(f"watch {what}")
    while not mended():  # noqa: ASYNC110 - a file sets no event
        await asyncio.sleep(0.01)
    return f"{what} watched"


@tool
def die(what: str) -> str:
    """Kill the process in the middle of a call that must not be repeated."""
    effect(f"die {what}")
    if not mended():
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{what} lives"


# -- finished ----------------------------------------------------------------------------------------------------------

plain = says("plain", lambda m: f"done: {text_of(m[-1])}")
noter = says("noter", call("note", text="n1"), call("note", text="n2"), "noted", tools=[note])
left = says("left", Reply(calls=[Call("note", {"text": f"l{n}"}) for n in range(3)]), "left is done", tools=[note])
right = says("right", call("look", what="r"), "right is done", tools=[look])
workflow = Swarm(agents=[noter, left, right, plain], flow="noter >> (left | right) >> plain")

inner = Swarm(
    agents=[
        says("deep", call("note", text="deep"), "deep is done", tools=[note]),
        says("deeper", call("note", text="deeper"), "deeper is done", tools=[note]),
    ]
)
nested = Swarm(
    agents=[
        ParallelGroup(
            name="both",
            agents=[
                SwarmNode(swarm=inner, name="cellar"),
                says("attic", call("note", text="attic"), "attic is done", tools=[note]),
            ],
        ),
        plain,
    ]
)
_taker = says("taker", call("note", text="taken"), "took over", tools=[note])


@script("kept/giver")
def giver_says(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
    return "taker"


@script("kept/taker")
def taker_says(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
    called = any(message.role == "tool" for message in messages)
    return "took over" if called else call("note", text="taken")


handoff = Swarm(mode="handoff", agents=[Agent(name="giver", model="scripted:kept/giver", handoffs=[_taker]), _taker])
team = Swarm(
    mode="team",
    agents=[
        says(
            "lead",
            Reply(calls=[Call("delegate_to_clerk", {"task": "write"}), Call("delegate_to_asker", {"task": "ask"})]),
            "team done",
        ),
        says("clerk", call("note", text="clerk"), "clerk is done", tools=[note]),
        says("asker", call("ask", question="for whom?"), lambda m: f"asked: {text_of(m[-1])}", tools=[ask]),
    ],
)
NO_KEY = Fault(status=401, code="invalid_api_key", type="invalid_request_error", message="bad key")
lenient = Swarm(
    agents=[
        ParallelGroup(name="branches", agents=[right, says("ill", NO_KEY)], join="allow_optional_failures"),
        plain,
    ],
    failure="continue",
)
degraded = Swarm(agents=[says("bad", NO_KEY), plain], failure={"agent": "degrade"})
strict = Swarm(agents=[says("bad2", NO_KEY), plain])
big = says("big", call("dump", kilobytes=90), lambda m: "reply " * 12_000, tools=[dump])

# -- permissions -------------------------------------------------------------------------------------------------------


@script("kept/saver")
def saver_says(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
    """Saves under the path that the user names."""
    path = next(text_of(message) for message in messages if message.role == "user")
    return [call("save", path=path, text=path.replace("/", "_")), f"saved: {text_of(messages[-1])}"][turns(messages)]


saver = Agent(name="saver", model="scripted:kept/saver", tools=[save])
savers = says(
    "savers",
    Reply(calls=[Call("save", {"path": path, "text": path[-1]}) for path in ("out/a", "out/b", "c")]),
    "all saved",
    tools=[save],
)
sheller = says("sheller", call("shell", command="git status"), lambda m: f"told: {text_of(m[-1])}", tools=[shell])
remover = says("remover", call("shell", command="rm -rf build"), lambda m: "told", tools=[shell])
commander = says("commander", call("command", line="ls"), "done", tools=[command])
fetcher = says("fetcher", call("fetch", url="HTTPS://API.Example.com./v1?q=1"), "fetched", tools=[fetch])
deployer = says("deployer", call("deploy", target="web", path="site.md"), "deployed", tools=[deploy])
inviter = Swarm(
    mode="team",
    agents=[
        says("chief", call("delegate_to_guest", task="come"), lambda m: f"guest: {text_of(m[-1])}"),
        says("guest", call("note", text="guest"), "guest is done", tools=[note]),
    ],
)

# -- questions ---------------------------------------------------------------------------------------------------------

asker = says("single_asker", call("ask", question="which one?"), lambda m: f"then: {text_of(m[-1])}", tools=[ask])
for _kind in SCHEMAS:
    globals()[f"quiz_{_kind}"] = says(
        f"quiz_{_kind}", call("quiz", kind=_kind), lambda m: f"quiz: {text_of(m[-1])}", tools=[quiz]
    )
stage = Swarm(
    agents=[
        says("first_noter", call("note", text="s1"), "first is done", tools=[note]),
        says("second_asker", call("ask", question="and now?"), "second is done", tools=[ask]),
        says("third_saver", call("save", path="s3.md", text="s3"), "third is done", tools=[save]),
        plain,
    ],
    flow="(first_noter | second_asker | third_saver) >> plain",
)

# -- models ------------------------------------------------------------------------------------------------------------

auth = says("auth", call("note", text="auth"), broken(NO_KEY), tools=[note])
forbidden = says("forbidden", broken(Fault(status=403, type="permission_error", message="not allowed for this model")))
unknown_model = says("unknown_model", Fault(status=404, code="model_not_found", message="The model `x` does not exist"))
throttled = says(
    "throttled",
    broken(Fault(status=429, type="rate_limit_error", headers={"retry-after": "4000000000"}, message="wait")),
)
lapsed = says(
    "lapsed", broken(Fault(status=429, type="rate_limit_error", headers={"retry-after": "121"}, message="slow down"))
)
limited = says(
    "limited", broken(Fault(status=429, type="rate_limit_error", headers={"retry-after": "100"}, message="slow down"))
)
quota = says(
    "quota",
    broken(Fault(status=429, type="insufficient_quota", code="insufficient_quota", message="You exceeded your quota")),
)
unavailable = says("unavailable", broken(Fault(status=503, message="overloaded")))
breaker = says("breaker", broken(Fault(status=500, message="internal error")))
unreachable = says("unreachable", broken(Fault(kind="refused")))
cut_off = says("cut_off", broken(Fault(kind="disconnect", text="half a sentence here", after=2)))
bad_request = says("bad_request", broken(Fault(status=400, type="invalid_request_error", message="max_tokens: bad")))
filtered = says(
    "filtered", broken(Fault(status=400, code="content_filter", message="The response was filtered: content policy"))
)
oversized = says("oversized", broken(Fault(status=413, message="request entity too large")))
context = says(
    "context",
    call("dump", kilobytes=40),
    broken(Fault(status=400, code="context_length_exceeded", message="maximum context length is 100 tokens")),
    tools=[dump],
)
chain = says("chain", broken(NO_KEY), fallbacks=["scripted:kept/forbidden", "scripted:kept/auth_too"])
says("auth_too", broken(NO_KEY))
spender = says("spender", call("look", what="one"), call("look", what="two"), call("look", what="three"), "spent",
               tools=[look])  # fmt: skip
own_budget = Swarm(
    agents=[says("frugal", call("look", what="f1"), call("look", what="f2"), "frugal is done", tools=[look])],
    budget={"max_tool_calls": 1},
)


class Count(BaseModel):
    """What `former` must say."""

    n: int


former = says("former", lambda m: '{"n": 7}' if mended() else "no JSON", output_type=Count)

# -- tools that fail ---------------------------------------------------------------------------------------------------

reacher = says("reacher", call("note", text="before"), call("reach", host="down"), lambda m: f"then: {text_of(m[-1])}",
               tools=[note, reach])  # fmt: skip
payer = says("payer", call("pay", to="bank"), lambda m: f"then: {text_of(m[-1])}", tools=[pay])
hanger = says("hanger", call("hang", what="it"), lambda m: f"then: {text_of(m[-1])}", tools=[hang])
enterer = says("enterer", call("enter", door="front"), lambda m: f"then: {text_of(m[-1])}", tools=[enter])
dater = says("dater", call("days", n=2), lambda m: f"free: {text_of(m[-1])}", tools=[days])
botcher = says("botcher", call("needs_arguments", count="many"), lambda m: f"then: {text_of(m[-1])}",
               tools=[needs_arguments])  # fmt: skip

# -- swarms that fail --------------------------------------------------------------------------------------------------


@script("kept/looper")
def looper_says(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
    return f"out of the loop after {turns(messages)}" if turns(messages) > 3 or mended() else call("look", what="same")


looper = Agent(name="looper", model="scripted:kept/looper", tools=[look])


@script("kept/ping")
def ping_says(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
    return "pong"


@script("kept/pong")
def pong_says(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
    return "ping"


_ping, _pong = Agent(name="ping", model="scripted:kept/ping"), Agent(name="pong", model="scripted:kept/pong")
_ping.handoffs["pong"], _pong.handoffs["ping"] = _pong, _ping
circle = Swarm(mode="handoff", agents=[_ping, _pong], max_handoffs=20)
handoffs = Swarm(mode="handoff", agents=[_ping, _pong], max_handoffs=3)


def replan(exc: Exception, context: dict[str, Any]) -> ErrorClassification | None:
    if "sensor" not in str(exc):
        return None
    return ErrorClassification(ErrorSeverity.REPLANNING, "The sensor has no data", {"replanning_reason": "No data"})


def reroute(exc: Exception, context: dict[str, Any]) -> ErrorClassification:
    return ErrorClassification(ErrorSeverity.RECLASSIFICATION, f"{context['agent']} is the wrong one for this")


def grave(severity: ErrorSeverity) -> Callable[[Exception, dict[str, Any]], ErrorClassification]:
    return lambda exc, context: ErrorClassification(severity, "the author's own words")


@tool(classify_error=replan)
def measure(where: str) -> str:
    """Measure, in vain."""
    effect(f"measure {where}")
    raise ValueError(f"no sensor at {where}")


planned = Swarm(
    mode="team",
    agents=[
        says(
            "planner", lambda m: call("delegate_to_measurer", task=f"place {turns(m)}") if turns(m) < 6 else "planned"
        ),
        says("measurer", call("measure", where="mars"), lambda m: "measured", tools=[measure]),
    ],
)


@script("kept/router")
def router_says(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
    return "wrong"


_wrong = says("wrong", NO_KEY, classify_error=reroute)
routed = Swarm(mode="handoff", agents=[Agent(name="router", model="scripted:kept/router", handoffs=[_wrong]), _wrong])
quorum = Swarm(
    agents=[ParallelGroup(name="members", agents=[right, says("ill2", NO_KEY)], join="quorum:2"), plain],
)


def unmergeable(outputs: list[Any]) -> str:
    if mended():
        return f"merged {len(outputs)}"
    raise RuntimeError(f"cannot merge {len(outputs)} outputs")


def exhausted(outputs: list[Any]) -> str:
    raise MemoryError("no memory for so much")


gathered = Swarm(agents=[ParallelGroup(name="gathered", agents=[noter, right], aggregate_fn=unmergeable), plain])
hopeless = Swarm(agents=[ParallelGroup(name="hopeless", agents=[right, plain], aggregate_fn=exhausted)])
critical = says("critical", NO_KEY, classify_error=grave(ErrorSeverity.CRITICAL))
fatal = says("fatal", NO_KEY, classify_error=grave(ErrorSeverity.FATAL))


async def hook_fails(**_: Any) -> None:
    if not mended():
        raise RuntimeError("the hook failed")


hooked = says("hooked", call("note", text="hooked"), "hooked is done", tools=[note])
hooked.hook_manager.add(HookPoint.PRE_TOOL_CALL, hook_fails)


async def moves(*, arguments: dict[str, Any], **_: Any) -> None:
    arguments["text"] = "moved by a hook"


moved = says("moved", call("save", path="hook.md", text="as asked"), lambda m: text_of(m[-1]), tools=[save])
moved.hook_manager.add(HookPoint.PRE_TOOL_CALL, moves)
changing = Swarm(
    agents=[
        says("changing", "first is done", instructions="be last" if (HERE / "changed").exists() else "be first"),
        says("after_change", call("ask", question="go on?"), lambda m: f"then: {text_of(m[-1])}", tools=[ask]),
    ]
)

# -- killed ------------------------------------------------------------------------------------------------------------

dier = says("dier", call("note", text="d1"), call("die", what="it"), lambda m: f"then: {text_of(m[-1])}",
            tools=[note, die])  # fmt: skip
lingerer = says("lingerer", call("note", text="g1"), call("linger", what="g2"), lambda m: f"then: {text_of(m[-1])}",
                tools=[note, linger])  # fmt: skip
watcher = says("watcher", call("look", what="w1"), call("watch", what="w2"), lambda m: f"then: {text_of(m[-1])}",
               tools=[look, watch])  # fmt: skip
half = Swarm(
    agents=[
        noter,
        ParallelGroup(
            name="pair",
            agents=[
                says("quick", call("note", text="quick"), "quick is done", tools=[note]),
                says("slow", call("note", text="slow"), call("linger", what="slow"), "slow is done",
                     tools=[note, linger]),
                says("patient", call("watch", what="patient"), "patient is done", tools=[watch]),
            ],
        ),
        plain,
    ]
)  # fmt: skip
parallel_calls = says(
    "parallel_calls",
    Reply(calls=[Call("note", {"text": "p1"}), Call("linger", {"what": "p2"}), Call("watch", {"what": "p3"})]),
    "parallel is done",
    tools=[note, linger, watch],
)


@script("kept/thinker")
async def thinker_says(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
    """Thinks until the world is mended: a model call under way."""
    if turns(messages) == 0:
        return call("note", text="thought")
    effect("think")
    while not mended():  # noqa: ASYNC110 - a file sets no event
        await asyncio.sleep(0.01)
    return "thought it over"


thinker = Agent(name="thinker", model="scripted:kept/thinker", tools=[note])
delegating = Swarm(
    mode="team",
    agents=[
        says("boss", call("delegate_to_hand", task="work"), lambda m: f"boss: {text_of(m[-1])}"),
        says("hand", call("note", text="hand"), call("linger", what="hand"), "hand is done", tools=[note, linger]),
    ],
)
chatty = says("chatty", call("look", what="c1"), call("note", text="c2"), lambda m: f"heard: {text_of(m[-1])}",
              tools=[look, note])  # fmt: skip
