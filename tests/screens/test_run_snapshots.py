"""Pictures of what the run screen shows besides a decision. `pytest --snapshot-update` takes them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from console.app.app import OrbiterApp
from runtime.link.client.streamed_text import StreamedText
from runtime.record.state import events as ev
from screens.dialogs.confirm_action import ConfirmActionScreen
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.shell.context import ConsoleContext
from screens.widgets.prompts.prompt import Prompt
from tests.screens.pages.run_page import asks, edits
from tests.screens.run_link import RunLink
from tests.screens.stories import Story, digest
from tests.screens.views.story_views import bar_story
from tests.screens.waiting import drawn, until
from tests.screens.widgets.forms.test_answer_form import TRIP, into_form

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40")]
Compare = Callable[..., bool]


def app_of(story: Story, *, theme: str = "orbiter-dark", ascii_only: bool = False) -> OrbiterApp:
    link = RunLink(story)
    for incident in story.state.open_incidents:
        link.streamed[story.run_id, incident.opened.incident_id] = StreamedText(
            1, "The planner wrote outside of the workspace because its task names"
        )
    glyphs = ASCII_GLYPHS if ascii_only else UNICODE_GLYPHS
    session = ConsoleContext(link, glyphs=glyphs, clock=lambda: link.now, arm_after=0.0)
    return OrbiterApp(session, run_id=story.run_id, theme=theme)


def pressing(*keys: str) -> Callable[[Pilot[Any]], Any]:
    """Go into the tree, press these, and wait until all of it is shown."""

    async def press(pilot: Pilot[Any]) -> None:
        await drawn(pilot)
        screen = pilot.app.screen
        screen.query_one("#tree").focus()
        await pilot.pause()
        prompt = screen.query_one(Prompt)
        await until(pilot, lambda: prompt.armed or prompt.opened is None)
        for key in keys:
            await pilot.press(key)
            if key in "RM":
                await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmActionScreen))
            await drawn(pilot)
        act = pilot.app.screen
        if isinstance(act, ConfirmActionScreen) and "enter" in keys:
            await until(pilot, lambda: act.armed)
        await drawn(pilot)

    return press


def conversation() -> Story:
    """A call of a model with all that can be told of one."""
    story = Story("run-7", "triage", digest().at)
    root = story.begin("Sort the new reports.")
    agent = story.open("agent", "triager", root, 0, model="openai:gpt-4o")
    messages = [
        {"role": "system", "content": "You sort bug reports by severity.\nAnswer with one word for each."},
        {"role": "user", "content": "Sort the new reports."},
    ]
    call = story.start("llm", "openai:gpt-4o", agent, 0, agent="triager", messages=messages, count=2, tools=["fetch"])
    story.wait(3).end(
        call, {"text": "", "tool_calls": [{"id": "1", "name": "fetch", "arguments": '{"page": 1}'}]}, tokens=(312, 20)
    )
    tool = story.start("tool", "fetch", agent, 1, agent="triager", arguments={"page": 1})
    story.wait(2).end(tool, {"content": "#41 crash at start, #42 typo in the manual"})
    return story.wait(4)


def analysing() -> Story:
    story = digest()
    opened = story.state.open_incidents[0].opened
    story.tell(ev.AnalysisStarted(incident_id=opened.incident_id, model="anthropic:claude-haiku"), opened.node_id)
    return story.wait(4)


def analysed() -> Story:
    story = digest()
    story.analyse(
        "run-1-inc-1",
        "The tool may write below ./out only [#8]; the task asks for /data [#12].\n"
        "Recommended: deny - tell it to write to ./out\nWrong if: /data was mounted on purpose.",
        "anthropic:claude-haiku",
    )
    return story


def proposing() -> Story:
    story = digest()
    story.propose("run-1-inc-1", "deny", "the task wants ./out", message="write to ./out")
    return story


def freezing() -> Story:
    story = digest()
    story.tell(ev.RunFrozen(by=ev.Actor(name="ada", channel="console")))
    return story.wait(2)


STATES = {
    "timeline": (bar_story, ("T",)),
    "node": (conversation, ("home", "down", "down")),
    "waits": (digest, ("home", "w")),
    "analysis_under_way": (analysing, ("end", "z", "z", "pagedown", "pagedown")),
    "proposal": (proposing, ()),
    "analysis": (analysed, ("end", "z", "z", "end", "right")),
    "freezing": (freezing, ()),
    "confirm_rewind": (digest, ("home", "R", "enter")),
    "message": (digest, ("M",)),
    "form": (edits, ("e",)),
    "faults_only": (digest, ("F",)),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("state", STATES)
def test_run(snap_compare: Compare, size: tuple[int, int], state: str) -> None:
    story, keys = STATES[state]
    assert snap_compare(app_of(story()), terminal_size=size, run_before=pressing(*keys))


@pytest.mark.parametrize("kind", ["light", "ascii"])
def test_timeline_in_other_looks(snap_compare: Compare, kind: str) -> None:
    story, keys = STATES["timeline"]
    theme = "orbiter-light" if kind == "light" else "orbiter-dark"
    app = app_of(story(), theme=theme, ascii_only=kind == "ascii")
    assert snap_compare(app, terminal_size=(120, 40), run_before=pressing(*keys))


@pytest.mark.parametrize("size", SIZES)
def test_a_question_for_an_object_as_a_form(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def fill(pilot: Pilot[Any]) -> None:
        await drawn(pilot)
        pilot.app.screen.query_one("#tree").focus()
        await pilot.pause()
        await into_form(pilot)
        await pilot.press("A", "enter", "enter", "y", "enter", "2", "shift+tab", "ctrl+s")
        await drawn(pilot)

    assert snap_compare(app_of(asks(TRIP)), terminal_size=size, run_before=fill)
