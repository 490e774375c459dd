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

from textual.pilot import Pilot

from console.app.app import OrbiterApp
from runtime.record.state import events as ev
from screens.pages.run import RunScreen
from screens.shell.context import ConsoleContext
from screens.widgets.prompt import Prompt
from tests.screens.desk import Desk
from tests.screens.stories import BROKEN_TOOL, DENIED, Story

WALKED = 7
"""The exit code of a tour that came to its end."""
FRAMES = 0.035

PAYLOADS = json.loads((Path(__file__).parent.parent / "data" / "hostile-text.json").read_text("utf-8"))["payloads"]


def payload(found: dict[str, Any]) -> str:
    """The text of a record of the file."""
    if "text" in found:
        return str(found["text"])
    return str(found["unit"]) * int(found["repeat"]) + str(found.get("tail", ""))


def story_of(name: str, texts: list[str]) -> Story:
    """A run with each of `texts` everywhere: in two nodes that failed, one of them for want of a permission."""
    story = Story(name, "\n".join(texts))
    root = story.open("swarm", "\n".join(texts), story.begin("\n".join(texts)))
    for number, bad in enumerate(texts):
        story.tell(ev.Warned(text=bad), root)
        tool = story.start("tool", bad, root, 2 * number, agent=bad, text=bad)
        fault = BROKEN_TOOL.model_copy(
            update={"technical": bad, "metadata": {"a": bad}, "suggestions": (bad,), "provider": bad, "code": bad}
        )
        action = {"tool": bad, "arguments": {"text": bad, bad: bad}}
        broken = story.park(tool, fault, message=bad, action=action, task=bad, traceback=bad, question=bad)
        story.analyse(broken, bad, bad)
        other = story.start("tool", bad, root, 2 * number + 1, agent=bad, text=bad)
        story.wait(1).park(other, DENIED, message=bad, action=action, task=bad, need=f"fs.write:{bad}")
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
            for key in ["z", "z", "end", "z"]:
                await tap(pilot, key)
        assert prompt.mode == "choose"
        if number < len(waiting) - 1:
            await tap(pilot, "n")
    await pilot.press("question_mark", "escape")
    pilot.app.exit(return_code=WALKED)


async def at(pilot: Pilot[object], incident_id: str) -> None:
    """Wait until an incident is shown and its prompt takes keys."""
    for _ in range(1000):
        screen = pilot.app.screen
        if isinstance(screen, RunScreen) and shows(screen, incident_id):
            return
        await asyncio.sleep(0.01)
    raise TimeoutError(f"{incident_id} is not shown on {pilot.app.screen!r}")


def shows(screen: RunScreen, incident_id: str) -> bool:
    return screen.is_mounted and screen.incident_id == incident_id and screen.query_one(Prompt).armed


async def tap(pilot: Pilot[object], key: str) -> None:
    """As `Pilot.press`, but waits for two frames instead of for silence: 500 keys take seconds, not minutes."""
    pilot.app.simulate_key(key)
    await asyncio.sleep(FRAMES)


def main() -> None:
    texts: dict[str, list[str]] = {}
    for found in PAYLOADS:
        texts.setdefault(found["group"], []).append(payload(found) if sys.argv[1] == "hostile" else "harmless")
    desk = Desk(*(story_of(group, found) for group, found in texts.items()))
    app = OrbiterApp(ConsoleContext(desk, clock=lambda: desk.now, arm_after=0.0))
    app.run(auto_pilot=walk)
    sys.exit(app.return_code)


if __name__ == "__main__":
    main()
