"""What a permission to write a file would change on disk, in a prompt."""

from __future__ import annotations

from typing import NamedTuple

from runtime.judgement.comparison.file_write import MAX_ROW_CHARS, FileComparison
from screens.render.formatting import pluralize
from screens.render.layout import Span, Spans
from screens.views.decisions.prompt_block import Block, label_row, mark_invisible
from screens.views.shared.render_context import RenderContext

_LABEL = "File"


class ShownWrite(NamedTuple):
    """The file and the text beside it. `changed`: the file is another than when the prompt was first shown."""

    comparison: FileComparison
    changed: bool = False

    @property
    def tells_text(self) -> bool:
        """Whether the difference says what would be written."""
        return self.comparison.state in ("new", "there") and bool(self.comparison.rows)

    @property
    def has_whole_text(self) -> bool:
        """Whether the rows of the difference are all of the text, so that who has seen them has read the argument."""
        found = self.comparison
        whole = found.state == "new" and len(found.rows) == found.lines_after
        return whole and all(len(row) < MAX_ROW_CHARS for row in found.rows)


def file_block(write: ShownWrite, context: RenderContext, most_rows: int | None) -> Block:
    """The file in a line, and how it would differ.

    Args:
        write: the file and the text beside it.
        context: signs and time.
        most_rows: rows of the difference that are shown; None: all.
    """
    found = write.comparison
    rows = found.rows if most_rows is None else tuple(filter(_is_change, found.rows))[:most_rows]
    changed = sum(map(_is_change, found.rows))
    hidden = changed - sum(map(_is_change, rows))
    lines: list[Spans] = []
    if write.changed:
        lines.append((Span("It has changed since this was shown: read it again.", "severity-warning"),))
    words = _state_words(found, context) if not hidden else _short_words(found, context, len(rows), changed)
    lines.append((Span(words, "ink-strong"),))
    lines += (_difference_line(each, context) for each in rows)
    labelled = [label_row("" if number else _LABEL, line) for number, line in enumerate(lines)]
    folds = most_rows is not None and write.tells_text and (bool(hidden) or not write.has_whole_text)
    return Block(_LABEL, tuple(labelled), folds=folds)


def _is_change(row: str) -> bool:
    return row.startswith(("+", "-"))


def _state_words(found: FileComparison, context: RenderContext) -> str:
    name = context.sanitize_line(found.argument, 40)
    after = f"{name} has {pluralize(found.lines_after, 'line')}, {_bytes(found.bytes_after)}"
    if found.state == "new":
        return f"not there yet; {after}"
    before = f"exists: {pluralize(found.lines_before, 'line')}, {_bytes(found.bytes_before)}"
    if found.state == "there":
        return f"{before}; would be overwritten: {after}"
    if found.state == "same":
        return f"{before}, the same as {name}"
    why = context.sanitize_line(found.detail, 80)
    size = f"exists ({_bytes(found.bytes_before)}), " if found.bytes_before else ""
    return f"{size}not compared: {why}"


def _short_words(found: FileComparison, context: RenderContext, shown: int, changed: int) -> str:
    """The same where some of the changed rows are left out."""
    shows = f"{shown} of {changed} changed rows ({context.key('prompt.page_down', 'pgdn')}: all):"
    if found.state == "there":
        lines = pluralize(found.lines_before, "line")
        return f"exists: {lines} would become {found.lines_after}; {shows}"
    name = context.sanitize_line(found.argument, 20)
    return f"not there yet, {name} has {pluralize(found.lines_after, 'line')}; {shows}"


def _bytes(count: int) -> str:
    return f"{count} B" if count < 1000 else f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"


def _difference_line(row: str, context: RenderContext) -> Spans:
    """One row of the difference, of foreign text."""
    if row.startswith("@@"):
        return (Span(context.sanitize_line(row, 60), "ink-muted"),)
    sign = row[:1]
    ink = {"+": "state-succeeded", "-": "state-failed"}.get(sign, "ink-muted")
    text = context.sanitize_line(row[1:], 400)
    return (Span(f"{sign} ", ink), *mark_invisible(context.mark_confusables(text), ink))
