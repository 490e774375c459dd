"""Keys and what they do, in columns that fill the width: groups stand whole, one below the other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from screens.render.layout import Span, Spans, span, width_of
from screens.render.wrapping import wrap_spans

COLUMN_CELLS: Final = 34
"""The least width of a column: two fit into 80 cells, three into 120, five into 200."""
_GAP: Final = 2
_KEY_CELLS: Final = 10
_MOST_KEYS: Final = 12


class KeyLine(Struct, frozen=True):
    """What one action does, in clean words, and its keys: as they are named, and as the program calls them."""

    keys: tuple[str, ...]
    does: str
    bound: tuple[str, ...] = ()


class KeyGroup(Struct, frozen=True):
    """Keys that belong together."""

    title: str
    lines: tuple[KeyLine, ...]


def key_columns(groups: Sequence[KeyGroup], width: int) -> list[Spans]:
    """The groups in as many columns as there is room for, the first ones on the left."""
    count = max(1, (width + _GAP) // (COLUMN_CELLS + _GAP))
    cells = (width + _GAP) // count - _GAP
    blocks = [_block(group, cells) for group in groups if group.lines]
    columns = _in_columns(blocks, count)
    height = max(map(len, columns), default=0)
    lines: list[Spans] = []
    for number in range(height):
        line: Spans = ()
        for at, column in enumerate(columns):
            cell = column[number] if number < len(column) else ()
            start = at * (cells + _GAP)
            pad = start - width_of(line)
            line = (*line, *span(" " * pad), *cell) if cell and pad > 0 else (*line, *cell)
        lines.append(line)
    return lines


def _block(group: KeyGroup, cells: int) -> list[Spans]:
    lines: list[Spans] = [span(group.title, "ink-accent", bold=True)]
    named = [_keys_text(each.keys) for each in group.lines]
    indent = max(_KEY_CELLS, *(width_of(span(keys)) + 1 for keys in named))
    for each, keys in zip(group.lines, named, strict=True):
        wrapped = wrap_spans(span(each.does), max(8, cells - indent))
        for number, words in enumerate(wrapped or [()]):
            head = Span(f"{keys:<{indent}}" if number == 0 else " " * indent, "ink-key")
            lines.append((head, *words))
    return lines


def _keys_text(keys: Sequence[str]) -> str:
    text = " ".join(keys)
    return text if len(text) <= _MOST_KEYS else " ".join(keys[:2])


def _in_columns(blocks: Sequence[list[Spans]], count: int) -> list[list[Spans]]:
    """The blocks in their order, over `count` columns of about one height."""
    for height in range(max(map(len, blocks), default=0), sum(len(block) + 1 for block in blocks) + 1):
        columns: list[list[Spans]] = [[]]
        for block in blocks:
            column = columns[-1]
            if column and len(column) + 1 + len(block) > height:
                columns.append(list(block))
            else:
                column += [(), *block] if column else block
        if len(columns) <= count:
            return columns
    return [[]]
