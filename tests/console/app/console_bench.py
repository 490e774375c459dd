"""A console on runs told event by event: what tests press, wait for and read."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot
from textual.widgets import TextArea

from console.app.app import OrbiterApp
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.shell.context import ConsoleContext
from screens.widgets.prompts.prompt import Prompt
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import BROKEN_TOOL, MISSING, START, Story
from tests.screens.waiting import Fact, drawn, until
from tests.screens.widgets.test_live_widgets import screen_text

NEVER = 3600.0
"""A prompt that does not arm while the test lasts."""


@asynccontextmanager
async def console(
    *stories: Story,
    arm_after: float = 0.0,
    size: tuple[int, int] = (100, 36),
    run_id: str = "",
    ascii_only: bool = False,
    monotonic: Callable[[], float] = time.monotonic,
) -> AsyncIterator[tuple[Pilot[None], MemoryLink]]:
    link = MemoryLink(*stories)
    glyphs = ASCII_GLYPHS if ascii_only else UNICODE_GLYPHS
    session = ConsoleContext(link, glyphs=glyphs, clock=lambda: link.now, arm_after=arm_after, monotonic=monotonic)
    app = OrbiterApp(session, run_id=run_id)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield pilot, link


async def settled(pilot: Pilot[None]) -> None:
    """What is known is on the screen."""
    await pilot.pause()
    await until(pilot, lambda: pilot.app.screen.is_mounted)
    await redrawn(pilot)


async def redrawn(pilot: Pilot[None]) -> None:
    await drawn(pilot)


def text_of(pilot: Pilot[None]) -> str:
    return "\n".join(screen_text(pilot.app))


def prompt_of(pilot: Pilot[None]) -> Prompt:
    return pilot.app.screen.query_one(Prompt)


async def armed(pilot: Pilot[None]) -> Prompt:
    prompt = prompt_of(pilot)
    await until(pilot, lambda: prompt.armed and prompt.has_class("-shown"))
    return prompt


async def pressed(pilot: Pilot[None], *keys: str, then: Fact = lambda: True) -> None:
    """Each of them when the prompt takes it: it arms again whenever it offers other choices. `then`: what comes of
    them, which is waited for.
    """
    for key in keys:
        await armed(pilot)
        await pilot.press(key)
    await armed(pilot)
    await until(pilot, then)


async def typing(pilot: Pilot[None]) -> None:
    """Wait until the field of a question has the focus."""
    await until(pilot, lambda: isinstance(pilot.app.focused, TextArea))


def answers(link: MemoryLink) -> list[tuple[str, dict[str, Any]]]:
    return [(args["option"], args.get("params", {})) for verb, args in link.said if verb == "answer"]


def asks_for_input() -> Story:
    story = Story("run-2", "ask the boss", START)
    agent = story.open("agent", "asker", story.begin("Ask."))
    story.park(story.start("value", "ask", agent, agent="asker"), MISSING, question="Which quarter is meant?")
    return story


def broken(run_id: str = "run-3") -> Story:
    story = Story(run_id, "query releases", START)
    agent = story.open("agent", "analyst", story.begin("Query."))
    tool = story.start("tool", "query", agent, agent="analyst", sql="select 1")
    story.fail(tool, BROKEN_TOOL)
    story.park(tool, BROKEN_TOOL, message="no such table", action={"tool": "query", "arguments": {"sql": "select 1"}})
    return story
