"""A permission to write a file shows what would change on disk."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from console.app.app import OrbiterApp
from runtime.judgement.comparison.file_write import compare_write, written_text
from runtime.judgement.recovery.options import confirmation_of, press_of
from screens.pages import write_comparison
from screens.shell.context import ConsoleContext
from screens.views.decisions.prompt_lines import PromptContent, question_lines
from screens.views.decisions.written_file import ShownWrite
from screens.views.shared.render_context import RenderContext
from tests.console.app.console_bench import answers, armed, pressed, prompt_of, settled, text_of
from tests.present import present
from tests.screens.memory_link import MemoryLink
from tests.screens.stepping import Clock
from tests.screens.twelve_incidents import FILES, permission
from tests.screens.waiting import changed, press, until

PATH = "/data/reports/survey.md"


@asynccontextmanager
async def asked(
    files: Mapping[str, bytes], *, size: tuple[int, int] = (80, 24), monotonic: Callable[[], float] = time.monotonic
) -> AsyncIterator[tuple[Pilot[None], MemoryLink]]:
    """A console with the prompt of a permission, and these files where its run is."""
    link = MemoryLink(permission())
    link.files.update(files)
    session = ConsoleContext(link, clock=lambda: link.now, arm_after=0.0, monotonic=monotonic)
    async with OrbiterApp(session, run_id="run-1").run_test(size=size) as pilot:
        await settled(pilot)
        yield pilot, link


async def test_the_difference_stands_above_the_options_which_all_say_what_they_do() -> None:
    async with asked(FILES) as (pilot, _):
        await until(pilot, lambda: "File" in text_of(pilot))
        lines = text_of(pilot).splitlines()
        found = [line.strip() for line in lines]
        assert "File   exists: 31 lines would become 35; 2 of 6 changed rows (pgdn: all):" in found
        removed, added = (
            found.index("- * two projects: orbiter, apollo"),
            found.index("+ * three projects: orbiter, apollo, gemini"),
        )
        assert removed + 1 == added < next(at for at, line in enumerate(lines) if "Decide later" in line)
        assert any("Grant permission once" in line and "runs now, once." in line for line in lines)


async def test_to_write_over_a_file_takes_a_second_key_and_the_difference_stands_beside_it() -> None:
    async with asked(FILES) as (pilot, link):
        await until(pilot, lambda: "Grant permission once (then y)" in text_of(pilot) and "31 lines" in text_of(pilot))
        await pressed(pilot, "g")
        assert (prompt_of(pilot).mode, link.said) == ("confirm", [])
        assert "What stands in the file may be lost." in text_of(pilot)
        assert "31 lines would become 35" in text_of(pilot), "it can be read until the second key"
        await press(pilot, "y", then=lambda: answers(link) == [("grant", {"for": "once"})])


async def test_a_file_that_is_not_there_is_said_to_be_new_and_is_written_after_one_key() -> None:
    async with asked({}) as (pilot, link):
        await until(pilot, lambda: "not there yet, text has 35 lines" in text_of(pilot))
        await until(pilot, lambda: "Grant permission once (then y)" not in text_of(pilot))
        await armed(pilot)
        await press(pilot, "g", then=lambda: answers(link) == [("grant", {"for": "once"})])


def test_a_file_of_which_nothing_is_known_takes_the_second_key() -> None:
    (opened,) = (each.opened for each in permission().state.open_incidents)
    assert confirmation_of(opened, "grant") == confirmation_of(opened, "grant", file="there") == "overwrites"
    assert confirmation_of(opened, "grant", file="new") is confirmation_of(opened, "grant", file="same") is None
    assert press_of(opened, "grant", file="not text") == "asks", "what cannot be compared is there"


async def test_a_file_that_changes_meanwhile_is_said() -> None:
    clock = Clock()
    async with asked(FILES, size=(120, 40), monotonic=clock) as (pilot, link):
        await armed(pilot)
        await until(pilot, lambda: "two projects" in text_of(pilot))
        link.files[PATH] = b"somebody wrote here\n"
        clock.now += write_comparison.REREAD_S
        await changed(pilot, link, then="It has changed since this was shown")
        assert "somebody wrote here" in text_of(pilot)


def test_another_file_is_another_question_so_that_keys_count_anew() -> None:
    story = permission()
    opened, context = story.state.open_incidents[0].opened, RenderContext(story.at)
    written = present(written_text(opened.action))
    writes = (ShownWrite(compare_write(written, text)) for text in (b"one\n", b"another\n"))
    before, after = (question_lines(PromptContent(opened, write=write), context) for write in writes)
    assert before != after
