"""The told state of a run as views take it, and what they made of it as text."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

from screens.render.glyphs import UNICODE_GLYPHS, Glyphs
from screens.render.layout import Row, Spans, plain_text
from screens.views.shared.render_context import RenderContext
from tests.screens.stories import MISSING, RATE_LIMITED, Story

HOSTILE = json.loads((Path(__file__).parents[2] / "data" / "hostile-text.json").read_text("utf-8"))["payloads"]


def at(story: Story, glyphs: Glyphs | None = None) -> RenderContext:
    return RenderContext(story.at, glyphs or UNICODE_GLYPHS)


def words(lines: list[Spans]) -> list[str]:
    return [plain_text(line) for line in lines]


def texts(rows: list[Row]) -> list[str]:
    return [("" if row.heading else " | ").join(plain_text(cell) for cell in row.cells) for row in rows]


def node(story: Story, end: str) -> str:
    return next(key for key in story.state.nodes if key.endswith(end))


def bar_story() -> Story:
    """Twenty seconds: a call that failed and paused, a call, and one that waits for a person."""
    story = Story()
    agent = story.open("agent", "a", story.begin())
    call = story.start("llm", "m", agent, 0)
    story.wait(4).fail(call, RATE_LIMITED)
    story.retry(call, 4.0)
    story.wait(4).start("llm", "m", agent, 0, attempt=2)
    story.wait(4).end(call, {"text": "x"})
    tool = story.start("tool", "t", agent, 1)
    story.wait(2).park(tool, MISSING, question="?")
    return story.wait(5)


def payload(found: dict[str, Any]) -> str:
    return str(found["text"]) if "text" in found else str(found["unit"]) * int(found["repeat"]) + found.get("tail", "")


def defused(lines: list[Spans], *, ascii_only: bool = False) -> None:
    for line in lines:
        text = "".join(piece[0] for piece in line)
        assert all(char.isprintable() or unicodedata.category(char) == "Zs" for char in text), ascii(text)[:200]
        assert not ascii_only or text.isascii(), ascii(text)[:200]
