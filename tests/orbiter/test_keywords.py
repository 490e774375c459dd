"""Keywords that are written once: every function that takes them refuses another one, and shows them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from orbiter import Agent, FunctionTool, ParallelGroup, Swarm, run, tool
from orbiter._internal.call_runner import call_runner
from orbiter._internal.keywords import fill_keywords
from orbiter._internal.run_options import RUN_DEFAULTS, STREAM_DEFAULTS, RunOptions, StreamOptions
from orbiter._internal.tools.tool_options import TOOL_DEFAULTS, ToolOptions

CALM = Agent(name="calm", model="scripted:calm")
SWARM = Swarm(agents=[CALM])


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda **wrong: run(CALM, "x", **wrong), "run"),
        (lambda **wrong: asyncio.to_thread(lambda: run.sync(CALM, "x", **wrong)), "run"),
        (lambda **wrong: run.stream(CALM, "x", **wrong), "run.stream"),
        (lambda **wrong: SWARM.run("x", **wrong), "Swarm.run"),
        (lambda **wrong: SWARM.stream("x", **wrong), "run.stream"),
        (lambda **wrong: ParallelGroup(name="g", agents=[CALM]).run("x", **wrong), "ParallelGroup.run"),
        (lambda **wrong: call_runner(CALM, "x", **wrong), "call_runner"),
    ],
)
async def test_an_unknown_option_of_a_run_is_refused_with_the_nearest(call: Callable[..., Any], name: str) -> None:
    with pytest.raises(TypeError) as caught:
        await call(max_retry=1)
    said = f"{name}() got an unexpected keyword argument 'max_retry'. Did you mean 'max_retries'?"
    assert str(caught.value) == said


@pytest.mark.parametrize("made", [lambda **wrong: FunctionTool(add, **wrong), lambda **wrong: tool(**wrong)(add)])
def test_an_unknown_option_of_a_tool_is_refused_with_the_nearest(made: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'permission'. Did you mean 'permissions'\?"):
        made(permission=("read",))


def test_where_nothing_is_near_all_are_named() -> None:
    with pytest.raises(TypeError, match=r"'zzz'. It takes messages, provider, max_retries, loop_threshold, errors\."):
        fill_keywords("run", {"zzz": 1}, dict(RUN_DEFAULTS))


@pytest.mark.parametrize(
    ("function", "options", "defaults"),
    [
        (run, RunOptions, RUN_DEFAULTS),
        (run.sync, RunOptions, RUN_DEFAULTS),
        (run.stream, StreamOptions, STREAM_DEFAULTS),
        (Swarm.run, RunOptions, RUN_DEFAULTS),
        (Swarm.stream, StreamOptions, STREAM_DEFAULTS),
        (FunctionTool, ToolOptions, TOOL_DEFAULTS),
        (tool, ToolOptions, TOOL_DEFAULTS),
    ],
)
def test_a_signature_shows_each_keyword_with_its_default(
    function: Callable[..., Any], options: Any, defaults: dict[str, Any]
) -> None:
    shown = inspect.signature(function).parameters
    keywords = {name: each.default for name, each in shown.items() if each.kind is inspect.Parameter.KEYWORD_ONLY}
    assert keywords == defaults
    assert set(options.__annotations__) == set(defaults)
    assert all(each.kind is not inspect.Parameter.VAR_KEYWORD for each in shown.values())
    assert all(shown[name].annotation for name in keywords)


def test_a_signature_reads_as_if_it_were_written_out() -> None:
    assert str(inspect.signature(run)) == (
        "(agent: 'Runnable', input: 'str', *, messages: 'list[Message] | None' = None,"
        " provider: 'ChatProvider | None' = None,"
        " max_retries: 'int' = 3, loop_threshold: 'int' = 3,"
        " errors: 'ErrorHandlingConfig | None' = None) -> 'RunResult'"
    )
