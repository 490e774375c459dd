"""The timeline: a bar for each node over the time of the run, each an inline picture as wide as the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from console.html.durations import fine_duration
from console.html.markup import Html, element, join, text
from runtime.record.state.durable_run import DurableRun, Node
from screens.render.formatting import format_duration, pluralize
from screens.views.run.timeline import node_stretches

_WIDTH: Final = 1000
_HEIGHT: Final = 14
_TRACK: Final = ("5", "4")
"""Where the bar of what only holds others lies, and how high it is: thinner than those of steps."""
_BAR: Final = ("2", "10")
_MARKS: Final = 4
"""Parts into which the marks of the scale divide the time."""
_FAULTS: Final = frozenset({"failed", "timed_out", "degraded", "waiting", "retrying"})
_LEFT: Final = frozenset({"skipped", "cancelled", "pending"})
_LEGEND: Final = (
    ("done", "worked"),
    ("running", "works still"),
    ("bad", "failed"),
    ("left", "skipped or cancelled"),
    ("open", "is open"),
    ("pause", "pauses between attempts"),
    ("person", "waits for a person"),
)
"""What each kind of bar means; those that a run has are told."""


@dataclass(frozen=True, slots=True)
class _Span:
    """The time that the pictures show, from left to right."""

    began: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        return max(0.001, (self.end - self.began).total_seconds())

    def place(self, instant: datetime) -> float:
        share = (instant - self.began).total_seconds() / self.seconds
        return min(max(share, 0.0), 1.0) * _WIDTH


def timeline(state: DurableRun, numbers: dict[str, int], now: datetime, most: int) -> Html:
    """The timeline of a run up to its end, or up to `now`, of at most so many nodes."""
    began, end = state.created_at, state.finished_at or state.updated_at or now
    found = [
        (level, node) for level, node in state.walk() if node.opened_at and (node.kind != "value" or node.incidents)
    ]
    if began is None or not found:
        return element("p", "Nothing has begun yet.", class_="fact")
    shown = _Span(began, end)
    kept = _kept([node for _, node in found], end, most)
    rows = [_row(node, level, state, numbers[node.id], shown) for level, node in found if node.id in kept]
    kinds = {kind for _, used in rows for kind in used}
    left_out = len(found) - len(kept)
    words = f"from {began:%Y-%m-%d %H:%M:%S} UTC"
    notes = [element("p", f"Left out {pluralize(left_out, 'node')}.", class_="gap")] if left_out else []
    bars = element("div", _scale(shown), *(row for row, _ in rows), class_="timeline")
    return join((element("p", words, *_legend(kinds), class_="fact legends"), bars, *notes))


def _scale(shown: _Span) -> Html:
    marks = [element("span", fine_duration(shown.seconds * at / _MARKS)) for at in range(_MARKS + 1)]
    return element("div", element("span"), element("div", *marks, class_="marks"), element("small"), class_="row scale")


def _legend(kinds: set[str]) -> Iterator[Html]:
    for name, words in _LEGEND:
        if name in kinds:
            yield element("span", element("i", class_=f"key {name}"), words, class_="legend")


def _kept(nodes: list[Node], end: datetime, most: int) -> set[str]:
    def rank(node: Node) -> tuple[bool, bool, float]:
        assert node.opened_at is not None
        lasted = ((node.closed_at or end) - node.opened_at).total_seconds()
        return node.is_step, node.phase not in _FAULTS, -lasted

    return {node.id for node in sorted(nodes, key=rank)[:most]}


def _kind(doing: str, node: Node) -> str:
    """The kind of a stretch of a node's bar."""
    if doing != "work":
        return doing
    if node.phase in _FAULTS - {"waiting", "retrying", "degraded"}:
        return "bad"
    return "left" if node.phase in _LEFT else "done" if node.closed_at is not None else "running"


def _row(node: Node, level: int, state: DurableRun, number: int, shown: _Span) -> tuple[Html, set[str]]:
    """The row, and which kinds of bars are in it."""
    assert node.opened_at is not None
    until = node.closed_at or shown.end
    bars: list[Html] = []
    kinds: set[str] = set()
    holds = not node.is_step or bool(node.children)
    y, height = _TRACK if holds else _BAR
    for since, till, doing in node_stretches(node, state, until):
        x, to = shown.place(since), shown.place(till)
        kinds.add(kind := _kind(doing, node))
        width = max(3.0, to - x)
        x = min(x, _WIDTH - width)
        bars.append(element("rect", x=f"{x:.1f}", y=y, width=f"{width:.1f}", height=height, class_=kind))
    took = fine_duration((until - node.opened_at).total_seconds())
    picture = element(
        "svg",
        *bars,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"from {format_duration((node.opened_at - shown.began).total_seconds())} for {took}",
    )
    label = element("a", text(node.name or "?", 60), href=f"#n{number}", style=f"--level:{min(level, 8)}")
    row = element("div", label, picture, element("small", took), class_="row holds" if holds else "row")
    return row, kinds
