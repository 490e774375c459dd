"""Signs for states and the lines of a tree, in Unicode and in ASCII. All are one cell wide in every terminal.

No sign stands alone: a word stands beside it, and the colour only repeats what both say.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Glyphs(NamedTuple):
    """One set of signs. `state` has the states of runs and nodes (DESIGN, section 6)."""

    name: str
    state: dict[str, str]
    folded: str
    unfolded: str
    rail: str
    branch: str
    last: str
    ellipsis: str
    opens: str
    """Behind the label of what opens a field or a form."""
    cursor: str
    crumb: str
    more: str
    ascending: str
    descending: str
    chosen: str
    fresh: str
    bar: str
    no_bar: str
    heights: str
    times: str
    dot: str
    warning: str
    done: str
    not_done: str


UNICODE_GLYPHS: Final = Glyphs(
    name="unicode",
    state={
        "queued": "○",
        "pending": "○",
        "running": "●",
        "retrying": "↻",
        "waiting": "◆",
        "holds": "◇",
        "frozen": "‖",
        "succeeded": "✓",
        "completed": "✓",
        "degraded": "◐",
        "failed": "✗",
        "timed_out": "◷",
        "interrupted": "◼",
        "aborted": "■",
        "skipped": "»",
        "cancelled": "⊘",
    },
    folded="▸",
    unfolded="▾",
    rail="│ ",
    branch="├ ",
    last="└ ",
    ellipsis="…",
    opens="…",
    cursor="▌",
    crumb=" › ",
    more="▼",
    ascending="↑",
    descending="↓",
    chosen="▌",
    fresh="+",
    bar="█",
    no_bar="░",
    heights="▁▂▃▄▅▆▇█",
    times="×",
    dot=" · ",
    warning="⚠",
    done="✓",
    not_done="✗",
)

ASCII_GLYPHS: Final = Glyphs(
    name="ascii",
    state={
        "queued": ".",
        "pending": ".",
        "running": "*",
        "retrying": "~",
        "waiting": "?",
        "holds": "o",
        "frozen": "=",
        "succeeded": "+",
        "completed": "+",
        "degraded": "%",
        "failed": "!",
        "timed_out": "T",
        "interrupted": "#",
        "aborted": "#",
        "skipped": ">",
        "cancelled": "x",
    },
    folded="+",
    unfolded="-",
    rail="| ",
    branch="|-",
    last="`-",
    ellipsis="~",
    opens="...",
    cursor=">",
    crumb=" > ",
    more="...",
    ascending="^",
    descending="v",
    chosen=">",
    fresh="+",
    bar="#",
    no_bar=".",
    heights="._-=*%#@",
    times="x",
    dot=" . ",
    warning="!",
    done="[ok]",
    not_done="[failed]",
)

GLYPH_SETS: Final = {glyphs.name: glyphs for glyphs in (UNICODE_GLYPHS, ASCII_GLYPHS)}


def state_word(state: str) -> str:
    """A state as a person says it: `timed_out` is "timed out", and what waits for a person "needs you"."""
    return "needs you" if state == "waiting" else state.replace("_", " ")


def state_ink(state: str) -> str:
    """The theme's token for a state; what only holds others is of no colour of its own."""
    if state == "holds":
        return "ink-muted"
    return f"state-{state.replace('_', '-')}"
