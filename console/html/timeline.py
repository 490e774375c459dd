"""The timeline: a bar for each node over the time of the run, each an inline picture as wide as the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from console.html.markup import Html, element, join, text
from runtime.record.state.durable_run import DurableRun, Node
from screens.render.formatting import format_duration, pluralize
from screens.views.run.timeline import node_stretches

_WIDTH: Final = 1000
_HEIGHT: Final = 10
_FAULTS: Final = frozenset({"failed", "timed_out", "degraded", "waiting", "retrying"})
_LEGEND: Final = (
    ("work s-succeeded", "worked"),
    ("work", "works still"),
    ("work s-failed", "failed"),
    ("open", "is open"),
    ("pause", "pauses between attempts"),
    ("person", "waits for a person"),
)


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
    left_out = len(found) - len(kept)
    words = f"{format_duration(shown.seconds)} from {began:%Y-%m-%d %H:%M:%S} UTC"
    notes = [element("p", f"Left out {pluralize(left_out, 'node')}.", class_="gap")] if left_out else []
    return join(
        (element("p", words, *_legend(), class_="fact legends"), element("div", *rows, class_="timeline"), *notes)
    )


def _legend() -> Iterator[Html]:
    for name, words in _LEGEND:
        yield element("span", element("i", class_=f"key {name}"), words, class_="legend")


def _kept(nodes: list[Node], end: datetime, most: int) -> set[str]:
    def rank(node: Node) -> tuple[bool, bool, float]:
        assert node.opened_at is not None
        lasted = ((node.closed_at or end) - node.opened_at).total_seconds()
        return node.is_step, node.phase not in _FAULTS, -lasted

    return {node.id for node in sorted(nodes, key=rank)[:most]}


def _row(node: Node, level: int, state: DurableRun, number: int, shown: _Span) -> Html:
    assert node.opened_at is not None
    until = node.closed_at or shown.end
    bars: list[Html] = []
    for since, till, doing in node_stretches(node, state, until):
        x, to = shown.place(since), shown.place(till)
        kind = f"{doing} s-{node.phase.replace('_', '-')}" if doing == "work" else doing
        bars.append(
            element("rect", x=f"{x:.1f}", y="1", width=f"{max(2.0, to - x):.1f}", height=str(_HEIGHT - 2), class_=kind)
        )
    took = format_duration((until - node.opened_at).total_seconds())
    picture = element(
        "svg",
        *bars,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"from {format_duration((node.opened_at - shown.began).total_seconds())} for {took}",
    )
    label = element("a", text(node.name or "?", 60), href=f"#n{number}", style=f"--level:{min(level, 8)}")
    return element("div", label, picture, element("small", took), class_="row")
