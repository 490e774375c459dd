"""The exact action in a prompt: a call with its arguments, of which the long ones are folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.record.state.events import IncidentOpened
from screens.views.decisions.prompt_block import Block, block
from screens.views.run.json_lines import json_text
from screens.views.shared.render_context import RenderContext

FOLDED_ROWS: Final = 2
"""Of a long argument so many rows are shown while it is folded and no more are free."""
FOLDED_CHARS: Final = 140
"""So many characters where the width is not known: about two rows of 80 cells."""
_INLINE_CHARS: Final = 100
"""A longer argument is not written into the line of its call."""
_ONE_LINE_CHARS: Final = 140
"""A call whose arguments are shorter together stands on one line."""
_TOLD_ELSEWHERE: Final = frozenset({"tool", "arguments", "permission", "also_needs", "budget", "model"})


def call_blocks(opened: IncidentOpened, context: RenderContext, *, fold_chars: int | None) -> list[Block]:
    """The exact action: a call with its arguments, each as JSON; what else it has, by its names. `fold_chars`: of a
    long argument so much is shown; None: all.
    """
    asks = bool(opened.action.get("permission"))

    def marked(text: str, *, whole: bool = True) -> list[str]:
        if asks and whole:
            return context.exact_lines(text)
        return [context.mark_confusables(line) if asks else line for line in context.sanitize_lines(text)]

    found: list[Block] = []
    tool, arguments = opened.action.get("tool"), opened.action.get("arguments")
    if tool is not None and isinstance(arguments, Mapping):
        found += _call(str(tool), arguments, marked, context, fold_chars)
    elif tool is not None:
        found.append(block("Call", marked(str(tool))))
    for name, value in opened.action.items():
        if name in _TOLD_ELSEWHERE:
            continue
        text = value if isinstance(value, str) else json_text(value)
        found.append(block(context.sanitize_line(name, 20).capitalize(), marked(text)))
    return found


def _call(
    tool: str, arguments: Mapping[str, Any], marked: Any, context: RenderContext, fold_chars: int | None
) -> list[Block]:
    """The call on one line, without the arguments that are long: each of those follows by itself. One line for each
    argument where the short ones do not fit on one.
    """
    given = {str(name): json_text(value) for name, value in arguments.items()}
    names = marked(tool)
    long = {name: value for name, value in given.items() if len(value) > _INLINE_CHARS}
    inline = {name: _size_words(arguments, name, value) if name in long else value for name, value in given.items()}
    short = ", ".join(f"{name}={value}" for name, value in inline.items())
    if len(tool) + len(short) <= _ONE_LINE_CHARS and "\n" not in short and len(names) == 1:
        (inside,) = marked(short, whole=False) or ("",)
        blocks = [block("Call", [f"{names[0]}({inside})"])]
    else:
        blocks, long = [block("Call", names)], given
    ordered = sorted(long.items(), key=lambda item: len(item[1]) > FOLDED_CHARS)
    for name, value in ordered:
        cut = fold_chars is not None and len(f"{name} = {value}") > fold_chars
        room = max(0, fold_chars - len(f"{name} = … 99999 more characters: pgdn")) if cut and fold_chars else len(value)
        shown = value[:room].split("\n")[: max(FOLDED_ROWS, room // FOLDED_CHARS)] if cut else [value]
        lines = marked(f"{name} = " + "\n".join(shown), whole=False)
        hidden = len(value) - sum(map(len, shown))
        if cut:
            reads = context.key("prompt.page_down", "pgdn")
            lines[-1] += f"{context.glyphs.ellipsis} {hidden} more characters: {reads}"
        blocks.append(block("With", lines)._replace(folds=cut, argument=name))
    return blocks


def _size_words(arguments: Mapping[str, Any], name: str, shown: str) -> str:
    """How long an argument is: a text as it is, without the quotes and escapes of its JSON."""
    value = arguments.get(name)
    return f"{len(value if isinstance(value, str) else shown)} characters"
