"""The tokens of a theme: what each colour is for. A theme file gives one to each; a screen uses nothing else.

In style sheets a token is a variable: `$ink`, `$row-cursor`, `$state-timed-out`, `$severity-fatal`. A state is never
told by its colour alone: a glyph and a word stand beside it, so a theme may give two states the same colour.
"""

from __future__ import annotations

from typing import Final

GROUNDS: Final = {
    "background": "behind everything",
    "surface": "panes, lists and trees",
    "panel": "the header, the footer, the prompt, dialogs",
    "row-cursor": "the row under the cursor, in the pane that has the focus",
    "row-cursor-idle": "the row under the cursor, in a pane without the focus",
}
"""What text is written on: every ink, state and severity is readable on each of them."""

LINES: Final = {
    "line": "borders, rules and the guides of a tree",
    "line-focus": "the border of the pane that has the focus",
}

INKS: Final = {
    "ink": "ordinary text",
    "ink-muted": "what is known anyway: units, hints, ids, finished work",
    "ink-strong": "titles and names that the eye looks for",
    "ink-accent": "headings, breadcrumbs, the part of a line that can be acted upon",
    "ink-key": "a key that can be pressed",
    "ink-mark": "a mark in place of an invisible or dangerous character",
}

STATES: Final = {
    "queued": "run: accepted, not driven yet",
    "pending": "node: known, not begun",
    "running": "at work",
    "retrying": "node: the next attempt waits for its time",
    "waiting": "waits for a person, or for a time",
    "frozen": "run: no new step begins until it is thawed",
    "succeeded": "node: done as asked",
    "completed": "run: done as asked",
    "degraded": "done with less than was asked",
    "failed": "ended without a result",
    "timed_out": "node: its time was over",
    "interrupted": "run: ended by a limit",
    "aborted": "run: ended by an operator",
    "skipped": "node: left out by decision or policy",
    "cancelled": "node: cancelled by the code around it",
}
"""The states of runs and nodes (DESIGN, section 6). Their variables are `$state-…`, with `-` for `_`."""

SEVERITIES: Final = {
    "info": "dealt with; you need do nothing",
    "warning": "dealt with, and worth knowing",
    "error": "affects one node",
    "critical": "affects the run",
    "fatal": "affects the process",
}
"""How loudly a fault is shown. Their variables are `$severity-…`."""

SECTIONS: Final = {"grounds": GROUNDS, "lines": LINES, "inks": INKS, "states": STATES, "severities": SEVERITIES}
"""The sections of a theme file, each with its tokens."""


def css_variable(section: str, token: str) -> str:
    """The name of a token's variable in style sheets, without the `$`."""
    prefix = {"states": "state-", "severities": "severity-"}.get(section, "")
    return prefix + token.replace("_", "-")
