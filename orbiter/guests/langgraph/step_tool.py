"""A tool that stands in the place of a user's own, and makes each call of it a step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt, interrupt

from orbiter import steps
from orbiter.guests.handled_failures import HandledCall, handled_call, made_or_settled
from orbiter.guests.langgraph.life import Life, current_life, entered
from orbiter.guests.langgraph.state_writes import write_again
from orbiter.guests.langgraph.tool_call import (
    TOOL_CALL,
    Asked,
    Done,
    Raised,
    Told,
    ToolAsk,
    arguments_schema,
    call_tool,
    split_arguments,
)
from orbiter.guests.tool_settings import ToolSettings, read_tool_settings
from orbiter.steps import Step

METADATA_KEY = "orbiter"
"""The key of a tool's metadata (or `extras`) under which its author declares traits; False there: it is not a step."""


_Given = tuple[Any, RunnableConfig | None]
"""What a tool is called with."""


class StepTool(BaseTool):
    """Calls a tool as a step. `reply` has the ids of the calls for which the model asked."""

    tool: BaseTool
    reply: tuple[str, ...]

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a step is called with 'await'")

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """What the tool gave, as recorded or as it does now."""
        life = current_life()
        if life is None:
            return await self.tool.ainvoke(input, config, **kwargs)
        name, call_id = self.tool.name, input["id"] or ""
        settings = read_tool_settings(name, declared_of(self.tool), life.scope.tool_settings(name))
        life.take_reply(self.reply)
        if settings.composite:
            async with life.scope.scope("tool", name, life.place_of_call(name, call_id)) as scope:
                with steps.entered(scope), entered(life.within(scope)):
                    return await self.tool.ainvoke(input, config, **kwargs)
        make = partial(self._step, life, settings, (input, config))
        ask, done = await made_or_settled(handled_call(life), make, _error_of)
        if isinstance(done.did, Asked):
            raise ask.raised[0] if ask.raised else _ask_again(done.did)
        assert isinstance(done.did, Told)
        return done.did.outcome

    async def _step(
        self,
        life: Life,
        settings: ToolSettings,
        given: _Given,
        call: HandledCall | None,
        failed: Exception | None,
    ) -> tuple[ToolAsk, Done]:
        """Carry the call out as a step; `failed`: the agent's middleware let this out of a call that failed."""
        input, config = given
        name, call_id = self.tool.name, input["id"] or ""
        told, added = split_arguments(self.tool, input["args"])
        handled = call is not None and failed is None
        ask = ToolAsk(self.tool, call_id, told, added, config, settings.failure, handled)
        before = call.places if call is not None else []
        place = life.place_of_call(name, call_id)
        step = Step(
            "tool",
            name,
            life.agent,
            place,
            ask,
            call_tool,
            TOOL_CALL,
            settings.traits(schema=arguments_schema(self.tool)),
            continues=tuple(before),
            handled=handled,
            failed=failed,
        )
        before.append(place)
        done = await life.scope.step(step)
        if not ask.written.watched:
            write_again(done.written, config)
        return ask, done


def _error_of(made: tuple[ToolAsk, Done]) -> Exception | None:
    ask, done = made
    return (ask.error or done.did.error.restore()) if isinstance(done.did, Raised) else None


def step_tool(tool: BaseTool, reply: Sequence[str]) -> StepTool:
    """A tool whose calls are steps, where the model asked for calls of these ids."""
    return StepTool(
        name=tool.name, description=tool.description, args_schema=tool.args_schema, tool=tool, reply=tuple(reply)
    )


def declared_of(tool: BaseTool) -> Any:
    """What the tool's author declares of it."""
    for where in (tool.metadata, tool.extras):
        if where and METADATA_KEY in where:
            return where[METADATA_KEY]
    return None


def _ask_again(asked: Asked) -> GraphInterrupt:
    """What a tool asked in an earlier life, asked under the names that LangGraph gives in this one."""
    if len(asked.questions) == 1:
        ((value, schema),) = asked.questions
        try:
            while True:  # the answers to what the tool asked before are taken in turn
                interrupt(value, response_schema=schema)
        except GraphInterrupt as exc:
            return exc
    return GraphInterrupt(
        tuple(
            Interrupt.from_ns(value, f"{number}", response_schema=schema)
            for number, (value, schema) in enumerate(asked.questions)
        )
    )
