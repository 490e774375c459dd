"""Agents whose user code raises, at one place each, what should stop a runtime: ``hostile.py:PLACE__EXCEPTION``."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from pydantic import BaseModel, field_validator

from orbiter import Agent, HookPoint, ParallelGroup, tool
from orbiter.models.provider import ModelProvider
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply
from orbiter.registry import model_registry


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Odd(Exception):
    def __str__(self) -> str:
        return 7  # type: ignore[return-value]  # noqa: PLE0307


class Endless(Exception):
    def __str__(self) -> str:
        time.sleep(100_000)
        return "never"


class Ending(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__


EXCEPTIONS: dict[str, type[BaseException]] = {
    each.__name__: each
    for each in (
        BaseException, KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError, Mute, Odd, Endless, Ending,
    )
}  # fmt: skip
PLACES = (
    "factory", "sync_tool", "async_tool", "task_of_tool", "callback_of_tool", "result", "hook", "async_hook",
    "instructions", "validator", "provider", "classify_error", "retry_policy", "group", "attribute",
)  # fmt: skip


def _tool_agent(name: str, used: Any, **more: Any) -> Agent:
    script(f"hostile/{name}", [Reply(calls=[Call(used.name)]), "done"])
    return Agent(name=name, model=f"scripted:hostile/{name}", tools=[used], **more)


def _agent(name: str, **more: Any) -> Agent:
    script(f"hostile/{name}", ["done"])
    return Agent(name=name, model=f"scripted:hostile/{name}", **more)


def made(place: str, kind: type[BaseException]) -> Any:
    name = f"{place}__{kind.__name__}"

    def fail(*_: Any, **__: Any) -> Any:
        raise kind("from user code")

    async def fail_async(*_: Any, **__: Any) -> Any:
        await asyncio.sleep(0)
        raise kind("from user code")

    @tool
    def sync_tool() -> str:
        return str(fail())

    @tool
    async def async_tool() -> str:
        return str(await fail_async())

    @tool
    async def task_of_tool() -> str:
        return str(await asyncio.create_task(fail_async()))

    @tool
    async def callback_of_tool() -> str:
        asyncio.get_running_loop().call_soon(fail)
        await asyncio.sleep(0)
        return "called"

    class Result:
        def __getattr__(self, _: str) -> Any:
            raise kind("from user code")

        __str__ = __repr__ = fail

    @tool
    async def result() -> Any:
        return Result()

    class Checked(BaseModel):
        text: str

        @field_validator("text")
        @classmethod
        def check(cls, _: str) -> str:
            return str(fail())

    class Provider(ModelProvider):
        async def complete(self, *_: Any, **__: Any) -> Any:
            await fail_async()

        stream = complete  # type: ignore[assignment]

    def broken() -> None:
        raise ValueError("an ordinary error")

    match place:
        case "factory":
            return fail
        case "sync_tool" | "async_tool" | "task_of_tool" | "callback_of_tool" | "result":
            return _tool_agent(name, locals()[place])
        case "hook":
            return _agent(name, hooks=[(HookPoint.PRE_LLM_CALL, fail)])
        case "async_hook":
            return _tool_agent(name, sync_tool, hooks=[(HookPoint.PRE_TOOL_CALL, fail_async)])
        case "instructions":
            return _agent(name, instructions=fail)
        case "validator":
            script(f"hostile/{name}", ['{"text": "x"}'] * 10)
            return Agent(name=name, model=f"scripted:hostile/{name}", output_type=Checked)
        case "provider":
            if f"hostile-{name}" not in model_registry.list_all():
                model_registry.register(f"hostile-{name}", Provider)
            return Agent(name=name, model=f"hostile-{name}:any")
        case "classify_error":
            return _tool_agent(name, tool(classify_error=fail)(broken))
        case "retry_policy":
            return _tool_agent(name, tool(retry_policy=fail, idempotent=True)(broken))
        case "group":
            members = [_agent(f"{name}_{n}", hooks=[(HookPoint.START, fail)]) for n in range(2)]
            return ParallelGroup(name=name, agents=members)
        case _:

            class Odd:
                def __getattr__(self, _: str) -> Any:
                    raise kind("from user code")

            return Odd()


def __getattr__(name: str) -> Any:
    place, _, kind = name.partition("__")
    if place not in PLACES:
        raise AttributeError(name)
    return made(place, EXCEPTIONS[kind])


script("hostile/good", ["all is well"])
good = Agent(name="good", model="scripted:hostile/good")
