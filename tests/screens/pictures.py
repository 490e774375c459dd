"""Every screen and every state of the prompt, as pictures that tests and documentation take: what is told, which keys
are pressed, and which words then stand there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from textual.pilot import Pilot

from console.app.app import OrbiterApp
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.shell.context import ConsoleContext
from screens.widgets.prompts.prompt import Prompt
from tests.screens.desk_data import filled
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import BROKEN_TOOL, MISSING, START, Story, digest, finished, limited
from tests.screens.waiting import drawn
from tests.screens.widgets.test_live_widgets import screen_text


@dataclass(frozen=True)
class Picture:
    """`link` makes the runs, `run_id` is opened at once. `keys` are pressed one after the other, each once the `words`
    before it stand there; a word of ASCII, for it is waited for in all looks.
    """

    link: Callable[[], MemoryLink]
    steps: tuple[tuple[str, ...], ...] = ()
    """Keys, each time with the word that stands there afterwards, and not before."""
    run_id: str = ""
    first: str = "orbiter"
    changed: Callable[[MemoryLink], None] = field(default=lambda link: None)

    def app(self, *, theme: str = "orbiter-dark", ascii_only: bool = False) -> OrbiterApp:
        link = self.link()
        self.changed(link)
        session = ConsoleContext(
            link, glyphs=ASCII_GLYPHS if ascii_only else UNICODE_GLYPHS, clock=lambda: link.now, arm_after=0.0
        )
        return OrbiterApp(session, theme=theme, run_id=self.run_id)

    async def take(self, pilot: Pilot[Any]) -> None:
        """Bring the app to where the picture is."""
        await stands(pilot, self.first)
        await drawn(pilot)
        for *keys, word in self.steps:
            assert not shows(pilot, word), f"{word!r} stands there before {keys} are pressed"
            await pilot.press(*keys)
            await stands(pilot, word)
        await drawn(pilot)


def shows(pilot: Pilot[Any], word: str) -> bool:
    """Whether a word stands on the screen."""
    return any(word in line for line in screen_text(pilot.app))


async def stands(pilot: Pilot[Any], word: str) -> None:
    """Wait until a word stands on the screen, and until a prompt takes keys, if there is one."""
    for _ in range(500):
        prompts = pilot.app.screen.query(Prompt)
        armed = all(prompt.armed or not prompt.display for prompt in prompts)
        if armed and shows(pilot, word):
            return
        await pilot.pause(0.01)
    raise AssertionError(f"{word!r} is not on\n" + "\n".join(screen_text(pilot.app)))


def asks() -> Story:
    story = Story("run-2", "quarterly report", START)
    agent = story.open("agent", "analyst", story.begin("Write the report of the quarter."))
    story.park(story.start("value", "ask", agent, agent="analyst"), MISSING, question="Which quarter is meant?")
    return story.wait(3700)


def broken() -> Story:
    story = Story("run-3", "query releases", START)
    agent = story.open("agent", "analyst", story.begin("How many releases were there?"))
    story.end(story.start("tool", "list_tables", agent, 0, agent="analyst"), ["release", "author"])
    tool = story.wait(0.2).start("tool", "query", agent, 1, agent="analyst", sql="select count(*) from releases")
    story.fail(tool, BROKEN_TOOL)
    story.wait(1).park(
        tool,
        BROKEN_TOOL,
        message="no such table: releases",
        action={"tool": "query", "arguments": {"sql": "select count(*) from releases"}},
        traceback='Traceback (most recent call last):\n  File "query.py", line 3\nValueError: no such table: releases',
    )
    story.analyse("run-3-inc-1", "The table is called `release`, in the singular. Edit the arguments and retry.")
    return story.wait(42)


def forked() -> MemoryLink:
    """A run that failed at its second tool, and its fork, which asked the right table."""
    origin, fork = broken(), Story("run-8", "query releases", START + timedelta(hours=1))
    origin.answer("run-3-inc-1", "abort")
    origin.finish("aborted")
    at = next(node.id for node in origin.state.nodes.values() if node.name == "query")
    agent = fork.open(
        "agent", "analyst", fork.begin("How many releases were there?", fork={"of": "run-3", "at": at, "seq": 9})
    )
    fork.end(fork.start("tool", "list_tables", agent, 0, agent="analyst"), ["release", "author"])
    tool = fork.start("tool", "query", agent, 1, agent="analyst", sql="select count(*) from release")
    fork.wait(1).end(tool, 17)
    fork.end(fork.start("tool", "write_report", agent, 2, agent="analyst", path="out/report.md"), "written")
    fork.close(agent, output="There were 17 releases.")
    fork.close("query_releases~0", output="There were 17 releases.")
    fork.finish(output="There were 17 releases.")
    return MemoryLink(origin, fork)


def many() -> MemoryLink:
    return MemoryLink(digest(), broken(), finished(), *(limited(number, number) for number in (4, 5, 6)))


def lost(link: MemoryLink) -> None:
    link.lose("nothing listens at the socket of this workspace")


def one(story: Callable[[], Story]) -> Callable[[], MemoryLink]:
    return lambda: MemoryLink(story())


DECIDES = "press a key"
PICTURES = {
    "inbox": Picture(many, first="alike"),
    "inbox_of_nothing": Picture(MemoryLink, first="No runs yet"),
    "inbox_without_a_runtime": Picture(one(digest), first="No runtime", changed=lost),
    "answer_alike": Picture(many, (("home", "down", "down", "B", "None of them was answered"),), first="alike"),
    "swarms": Picture(many, (("2", "runs"),), first="alike"),
    "swarms_of_nothing": Picture(MemoryLink, (("2", "s starts one"),), first="No runs yet"),
    "start": Picture(many, (("2", "runs"), ("s", "Start")), first="alike"),
    "run_permission": Picture(one(digest), run_id="run-1", first=DECIDES),
    "run_broken_tool": Picture(one(broken), run_id="run-3", first=DECIDES),
    "run_question": Picture(one(asks), run_id="run-2", first="enter sends"),
    "run_finished": Picture(one(finished), run_id="run-0", first="Bonjour"),
    "run_timeline": Picture(one(digest), (("T", "imeline"),), run_id="run-1", first=DECIDES),
    "run_waits": Picture(one(digest), (("w", "Waits for"),), run_id="run-1", first=DECIDES),
    "run_abort": Picture(one(digest), (("A", "Abort this run"),), run_id="run-1", first=DECIDES),
    "prompt_grant_lasts": Picture(
        one(digest),
        (
            ("pagedown", "pagedown", "pagedown", "pagedown", "pagedown", "G", "until this run ends"),
            ("s", "would have matched"),
        ),
        run_id="run-1",
        first=DECIDES,
    ),
    "prompt_takes_a_text": Picture(one(asks), ((*"Q4 2026", "Q4 2026"),), run_id="run-2", first="enter sends"),
    "help": Picture(one(digest), (("question_mark", "Keys"),), run_id="run-1", first=DECIDES),
    "palette": Picture(many, (("colon", "Commands"), (*"theme", "the theme in use")), first="alike"),
    "comparison": Picture(forked, (("C", "they part at"),), run_id="run-8", first="17 releases"),
    "permissions": Picture(filled, (("3", "Rules of orbiter.toml"),)),
    "limits": Picture(filled, (("4", "next test call"),)),
    "log": Picture(filled, (("5", "incident run-1"),)),
    "settings": Picture(many, (("6", "Looks"),), first="alike"),
    "audit": Picture(filled, (("7", "answered"),)),
    "workers": Picture(filled, (("8", "without a worker"),)),
}
