"""What a call says of its progress, in the row of the run's tree, while it comes."""

from __future__ import annotations

from runtime.link.client.streamed_text import StreamedText
from tests.console.app.console_bench import console, text_of
from tests.screens.stories import Story
from tests.screens.waiting import until


async def test_the_row_of_a_call_says_how_far_it_has_come_while_it_comes() -> None:
    story = Story(title="go")
    call = story.start("tool", "ref.slow", story.begin("mcp.py:reader"), arguments={"path": "a"})
    async with console(story, run_id=story.run_id) as (pilot, link):
        await until(pilot, lambda: "ref.slow a" in text_of(pilot))
        for said in ("1 of 3", "2 of 3"):
            link.streamed[story.run_id, call] = StreamedText(1, f"{said} files\n")
            link.changed()
            await until(pilot, lambda: f"{said} files" in text_of(pilot))  # noqa: B023 - awaited at once
