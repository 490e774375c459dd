"""`durable`: an effect in a plain node as a step of its own."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from langgraph.config import get_config
from langgraph.runtime import get_runtime

from orbiter.errors import AgentError
from orbiter.guests.langgraph.life import Life, current_life, entered, ordinal
from orbiter.guests.langgraph.packed_values import digest, pack, unpack
from orbiter.guests.tool_settings import read_tool_settings
from orbiter.guests.typed_values import as_json, is_json
from orbiter.steps import Codec, Place, Step

F = TypeVar("F", bound=Callable[..., Any])
_ASKED = "asked"
_CALLS = 1_000
"""One task may call a function so many times."""


@dataclass(slots=True, eq=False)
class Call:
    """One call of a function. `arguments` are those that are recorded, by name; `given` the objects themselves. `asked`
    is a digest of the arguments before an operator changed them.
    """

    name: str
    function: Callable[..., Any]
    given: Mapping[str, Any]
    arguments: dict[str, Any]
    asked: str


@dataclass(slots=True, frozen=True)
class Returned:
    """What a function of this name gave for arguments of this digest."""

    name: str
    value: Any
    asked: str


async def _call(call: Call) -> Returned:
    bound = inspect.signature(call.function).bind_partial()
    bound.arguments.update(call.given)
    with entered(None):
        if inspect.iscoroutinefunction(call.function):
            value = await call.function(*bound.args, **bound.kwargs)
        else:
            value = await asyncio.to_thread(call.function, *bound.args, **bound.kwargs)
    return Returned(call.name, value, call.asked)


class _CallCodec(Codec[Call, Returned]):
    """Arguments as JSON; a result as JSON where it is JSON, else in LangGraph's serialisation."""

    def describe(self, arguments: Call) -> dict[str, Any]:
        return {"id": "", "arguments": arguments.arguments}

    def editable(self, arguments: Call) -> dict[str, Any] | None:
        return {"arguments": arguments.arguments}

    def replace(self, arguments: Call, changes: Mapping[str, Any]) -> Call:
        """Other arguments, by the names of the function's parameters."""
        wanted = changes.get("arguments")
        if wanted is None or wanted == arguments.arguments:
            return arguments
        changed = {name: each for name, each in wanted.items() if each != arguments.arguments.get(name)}
        return replace(arguments, arguments=dict(wanted), given={**arguments.given, **changed})

    def dump(self, result: Returned) -> Any:
        found = {"tool_name": result.name, "tool_call_id": "", _ASKED: result.asked}
        if is_json(result.value):
            return {**found, "content": as_json(result.value)}
        return {**found, "content": str(as_json(result.value)), "packed": pack(result.value)}

    def load(self, value: Any) -> Returned:
        given = unpack(value["packed"]) if "packed" in value else value["content"]
        return Returned(value["tool_name"], given, value.get(_ASKED, ""))

    def by_hand(self, arguments: Call, value: Any) -> Returned:
        return Returned(arguments.name, value, arguments.asked)


_CALL = _CallCodec()


def durable(function: F, **declared: Any) -> F:
    """Make each call of a function a step of the run: what it did is not done again when its node runs again.

    Args:
        function: With or without `async`. Its arguments and its result are recorded.
        **declared: What holds of it, as for a tool: `idempotent`, `permissions`, `timeout`, `risk`.

    Returns:
        The function, to be called in nodes as before. Outside of a run it does what it did.
    """
    name = getattr(function, "__name__", type(function).__name__)

    async def run(life: Life, args: Any, kwargs: Any) -> Any:
        given = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
        arguments: dict[str, Any] = as_json(given)
        call = Call(name, function, given, arguments, digest(arguments))
        traits = read_tool_settings(name, declared, life.scope.tool_settings(name)).traits()
        place = await _place(life, call)
        step = Step("tool", name, life.agent, place, call, _call, _CALL, traits)
        returned = await life.scope.step(step)
        life.tasks.use(_namespace(), name, place)
        return returned.value

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def in_task(*args: Any, **kwargs: Any) -> Any:
            life = current_life()
            return await (function(*args, **kwargs) if life is None else run(life, args, kwargs))

        return in_task  # type: ignore[return-value]  # it takes and gives what the function does

    @functools.wraps(function)
    def in_thread(*args: Any, **kwargs: Any) -> Any:
        life = current_life()
        if life is None:
            return function(*args, **kwargs)
        if in_loop(life.loop):
            raise AgentError(
                f"durable({name}) without 'async' is called in an 'async' node, which it would block",
                suggestion="Write the function with 'async def', or the node without.",
            )
        return asyncio.run_coroutine_threadsafe(run(life, args, kwargs), life.loop).result()

    return in_thread  # type: ignore[return-value]  # it takes and gives what the function does


def in_loop(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether this code runs on the loop, and not in a thread beside it."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


async def _place(life: Life, call: Call) -> Place:
    """By the checkpoint on which the node works, its task and how often the node called the function before.

    Where the task took another answer since (its run was turned back), a call with other arguments is another call.
    """
    namespace = _namespace()
    checkpoint = get_config()["configurable"].get("checkpoint_map", {}).get(namespace.rpartition("|")[0], "")
    visit = life.visit_in_attempt(get_runtime(), call.name, namespace)
    if (recording := life.recording.get(checkpoint)) is not None:
        await recording.wait()
    number = life.checkpoints.get(checkpoint)
    if number is None:
        return Place(life.turn, life.visit(life.turn, call.name))
    task = namespace.rpartition(":")[2]
    place = Place(number, ordinal(task) * _CALLS + visit)
    found = life.scope.recorded(call.name, place) if task in life.tasks.outdated else None
    if found is None or found.get(_ASKED, call.asked) == call.asked:
        return place
    return Place(number, ordinal(digest([task, call.asked])) * _CALLS + visit)


def _namespace() -> str:
    return str(get_config()["configurable"].get("checkpoint_ns", ""))
