"""What a permission to write a file would change on disk, as lines of the linear mode."""

from __future__ import annotations

from runtime.judgement.comparison.file_write import FileComparison
from runtime.record.state.events import utc_now
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.layout import plain_text
from screens.views.decisions.written_file import ShownWrite, file_block
from screens.views.shared.render_context import RenderContext

_MOST_ROWS = 40
"""Changed rows that are listed; the first line says of how many."""


def file_lines(found: FileComparison, *, ascii_only: bool) -> list[str]:
    """Whether the file is there, and which of its rows would be others."""
    context = RenderContext(utc_now(), ASCII_GLYPHS if ascii_only else UNICODE_GLYPHS)
    lines = file_block(ShownWrite(found), context, _MOST_ROWS).lines
    return [plain_text(line).rstrip() for line in lines]
