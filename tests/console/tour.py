"""Shows every pane of the console with given texts in every place that a model, a tool or a user can fill.

    python -m tests.console.tour hostile|harmless

Runs in a real terminal and walks by itself; ends when it has seen everything.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from textual.pilot import Pilot

from console.app.app import OrbiterApp
from runtime.record.state import events as ev
from screens.pages.run import RunScreen
from screens.shell.context import ConsoleContext
from screens.widgets.prompts.prompt import Prompt
from tests.patience import PATIENCE_S
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import BROKEN_TOOL, DENIED, Story

WALKED = 7
"""The exit code of a tour that came to its end."""

PAYLOADS = json.loads((Path(__file__).parent.parent / "data" / "hostile-text.json").read_text("utf-8"))["payloads"]


def payload(found: dict[str, Any]) -> str:
    """The text of a record of the file."""
    if "text" in found:
        return str(found["text"])
    return str(found["unit"]) * int(found["repeat"]) + str(found.get("tail", ""))


IN_ONE = 3
"""Texts that stand in one incident together; each of its places begins with another of them."""


class Turns:
    """The texts of one incident, below each other, each time with another first: what is cut shows the first."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    @property
    def next(self) -> str:
        self._texts = [*self._texts[1:], self._texts[0]]
        return "\n".join(self._texts)


def story_of(name: str, texts: list[str], *, alone: bool) -> Story:
    """A run with each of `texts` everywhere: in nodes that failed, every second for want of a permission.

    `alone`: one text in each incident, so that it can be read whole.
    """
    story = Story(name, "\n".join(texts))
    root = story.open("swarm", "\n".join(texts), story.begin("\n".join(texts)))
    many = 1 if alone else IN_ONE
    for number in range(0, len(texts), many):
        bad = Turns(texts[number : number + many])
        story.tell(ev.Warned(text=bad.next), root)
        tool = story.start("tool", bad.next, root, 2 * number, agent=bad.next, text=bad.next)
        said = {
            "technical": bad.next, "metadata": {"a": bad.next}, "suggestions": (bad.next,), "provider": bad.next,
            "code": bad.next,
        }  # fmt: skip
        action = {"tool": bad.next, "arguments": {"text": bad.next, bad.next: bad.next}}
        broken = story.park(
            tool, replace(BROKEN_TOOL, **said), message=bad.next, action=action, task=bad.next,
            traceback=bad.next, question=bad.next,
        )  # fmt: skip
        story.analyse(broken, bad.next, bad.next)
        other = story.start("tool", bad.next, root, 2 * number + 1, agent=bad.next, text=bad.next)
        story.wait(1).park(other, DENIED, message=bad.next, action=action, task=bad.next, need=f"fs.write:{bad.next}")
    return story


async def walk(pilot: Pilot[object]) -> None:
    """Every screen, every pane, every mode of the prompt that asks nothing of the runtime."""
    await pilot.press("end", "home", "enter")
    await pilot.pause(0.2)
    waiting = pilot.app.screen.session.decisions()  # type: ignore[attr-defined]
    for number, incident in enumerate(waiting):
        await at(pilot, incident.opened.incident_id)
        prompt = pilot.app.screen.query_one(Prompt)
        if any(option.id == "grant" for option in incident.opened.options):
            await tap(pilot, "G")
            for key in ["r", "escape"] if prompt.mode == "lifetime" else []:  # else it was not read to its end
                await tap(pilot, key)
        else:
            for key in ["i", "x", "escape"]:
                await tap(pilot, key)
            await at(pilot, incident.opened.incident_id)
            for key in ["z", "end", "z"]:  # the report alone, to its end, and back
                await tap(pilot, key)
                await painted(pilot)
        assert prompt.mode == "choose"
        if number < len(waiting) - 1:
            await tap(pilot, "n")
    await pilot.press("question_mark", "escape")
    pilot.app.exit(return_code=WALKED)


async def at(pilot: Pilot[object], incident_id: str) -> None:
    """Wait until an incident is shown and its prompt takes keys."""
    async with asyncio.timeout(PATIENCE_S):
        while not shows(pilot.app.screen, incident_id):
            await settled(pilot)
            await asyncio.sleep(0.005)


def shows(screen: object, incident_id: str) -> bool:
    if not (isinstance(screen, RunScreen) and screen.is_mounted):
        return False
    return screen.incident_id == incident_id and screen.query_one(Prompt).armed


async def tap(pilot: Pilot[object], key: str) -> None:
    """As `Pilot.press`, but waits until the key was taken and the prompt takes another, and not for silence: that costs
    less, and no slow moment of the machine changes what it sees.
    """
    pilot.app.simulate_key(key)
    await settled(pilot)
    prompt = pilot.app.screen.query_one_optional(Prompt)
    async with asyncio.timeout(PATIENCE_S):
        while prompt is not None and prompt.opened is not None and not prompt.armed:
            await settled(pilot)
            await asyncio.sleep(0.002)


async def painted(pilot: Pilot[object]) -> None:
    """Wait until the screen was painted with what it knows by now."""
    done = asyncio.Event()
    pilot.app.screen.call_after_refresh(done.set)
    await asyncio.wait_for(done.wait(), PATIENCE_S)


async def settled(pilot: Pilot[object]) -> None:
    """Wait until app, screen and the widget with the focus have taken the messages that they had."""
    app = pilot.app
    for _ in range(2):  # what was taken may have been handed on
        for target in (app, app.screen, app.screen.focused):
            taken = asyncio.Event()
            if target is not None and target.is_running and target.call_later(taken.set):
                await asyncio.wait_for(taken.wait(), PATIENCE_S)


def main() -> None:
    texts: dict[str, list[str]] = {}
    for found in PAYLOADS:
        texts.setdefault(found["group"], []).append(payload(found) if sys.argv[1] == "hostile" else "harmless")
    literal = {found["group"] for found in PAYLOADS if found["literal"]}
    link = MemoryLink(*(story_of(group, found, alone=group in literal) for group, found in texts.items()))
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now, arm_after=0.0))
    app.run(auto_pilot=walk)
    sys.exit(app.return_code)


if __name__ == "__main__":
    main()
