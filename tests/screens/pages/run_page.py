"""The screen of a run, opened: its tree, its page, and runs that ask."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace
from textual.pilot import Pilot

from console.app.app import OrbiterApp
from screens.dialogs.confirm_action import ConfirmActionScreen
from screens.shell.context import ConsoleContext
from screens.widgets.node_tree import NodeTree
from screens.widgets.text_page import TextPage
from tests.console.app.console_bench import settled, text_of
from tests.screens.run_link import RunLink
from tests.screens.stories import BROKEN_TOOL, MISSING, START, Story
from tests.screens.waiting import until


@asynccontextmanager
async def opened(
    story: Story, *, size: tuple[int, int] = (120, 40), arm_after: float = 0.0, **session: Any
) -> AsyncIterator[tuple[Pilot[None], RunLink]]:
    """The run's screen, with the focus in its tree."""
    link = RunLink(story)
    context = ConsoleContext(link, clock=lambda: link.now, arm_after=arm_after, **session)
    app = OrbiterApp(context, run_id=story.run_id)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        tree_of(pilot).focus()
        await pilot.pause()
        yield pilot, link


def tree_of(pilot: Pilot[None]) -> NodeTree:
    return pilot.app.screen_stack[-1].query_one("#tree", NodeTree)


def page_of(pilot: Pilot[None]) -> TextPage:
    return pilot.app.screen.query_one("#page", TextPage)


def page_text(pilot: Pilot[None]) -> str:
    return "\n".join(page_of(pilot).plain_lines())


def shown(pilot: Pilot[None], words: str) -> bool:
    return words in text_of(pilot)


async def act(pilot: Pilot[None], key: str) -> ConfirmActionScreen:
    """Press a key that asks before it acts."""
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmActionScreen))
    screen = pilot.app.screen
    assert isinstance(screen, ConfirmActionScreen)
    await pilot.pause()
    return screen


def asks(schema: dict[str, Any], **more: Any) -> Story:
    story = Story("run-2", "ask the boss", START)
    agent = story.open("agent", "asker", story.begin("Ask."))
    tool = story.start("value", "ask", agent, agent="asker")
    incident = story.park(tool, MISSING, question="Which quarter is meant?")
    found = story.state.incidents[incident]
    found.opened = replace(found.opened, answer_schema=schema, **more)
    return story


SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "where to write"},
        "lines": {"type": "integer"},
        "mode": {"enum": ["w", "a"]},
    },
    "required": ["path"],
}


def edits(schema: dict[str, Any] = SCHEMA, **arguments: Any) -> Story:
    story = Story("run-3", "write it down", START)
    tool = story.start("tool", "write", story.open("agent", "a", story.begin()))
    story.fail(tool, BROKEN_TOOL)
    asked = arguments or {"path": "/nowhere", "lines": 3}
    incident = story.park(tool, BROKEN_TOOL, action={"tool": "write", "arguments": asked})
    found = story.state.incidents[incident]
    found.opened = replace(found.opened, arguments_schema=schema)
    return story
