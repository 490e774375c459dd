"""The order of decisions: most waiting work first, then longest wait, then cost.

A decision's weight is

    blocked work x (1 + minutes that it has been waiting) x (1 + dollars that its run has cost)

Blocked work is the number of nodes that cannot end before the answer: the failed one and those around it (its lineage);
and where everything in the run waits, all of its nodes that have not ended, shared among its open decisions. Decisions
with one fingerprint are answered together (`screens.views.decisions.incident_groups`), so they count together and
stand together, the oldest first. What weighs the same stands in the order in which it came.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from itertools import groupby, islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from runtime.record.state.summary import NODE_TERMINAL, Summary

if TYPE_CHECKING:
    from runtime.record.state.incident_events import IncidentOpened


class RankedDecision(Protocol):
    """An open incident and the run that it belongs to."""

    @property
    def run_id(self) -> str: ...

    @property
    def opened(self) -> IncidentOpened: ...


D = TypeVar("D", bound=RankedDecision)


def likeness(found: RankedDecision) -> str:
    """Equal for decisions that are the same: their fingerprint. One without a fingerprint is like no other."""
    return found.opened.fingerprint or f"={found.opened.incident_id}"


def blocked_count(found: RankedDecision, summary: Summary | None) -> float:
    """Nodes that cannot end before this decision is taken; at least 1."""
    around = float(max(1, len(found.opened.lineage)))
    if summary is None or summary.shown_phase not in ("waiting", "frozen"):
        return around
    left = sum(count for state, count in summary.nodes.items() if state not in NODE_TERMINAL)
    return max(around, left / max(1, summary.open_incidents))


def priority_of(found: RankedDecision, summary: Summary | None, now: datetime) -> float:
    """How much a decision matters by now; see the module."""
    minutes = max(0.0, (now - found.opened.ts).total_seconds() / 60)
    spent = (summary.cost_usd or 0.0) if summary is not None else 0.0
    return blocked_count(found, summary) * (1 + minutes) * (1 + max(0.0, spent))


def by_priority(
    incidents: Iterable[D],
    summaries: Mapping[str, Summary],
    now: datetime,
    host_of: Callable[[str], str] = lambda _run_id: "",
) -> list[D]:
    """The decisions, the one to take next first."""
    together: dict[tuple[str, str], list[D]] = defaultdict(list)
    for found in sorted(incidents, key=lambda found: (found.opened.ts, found.opened.incident_id)):
        together[host_of(found.run_id), likeness(found)].append(found)
    weights = {
        key: sum(priority_of(found, summaries.get(found.run_id), now) for found in group)
        for key, group in together.items()
    }
    first = {key: (group[0].opened.ts, group[0].opened.incident_id) for key, group in together.items()}
    return [found for key in sorted(together, key=lambda key: (-weights[key], first[key])) for found in together[key]]


def foremost(ranked: Iterable[D], of_each: int) -> Iterable[D]:
    """Of decisions in their order, the first `of_each` of those that are the same."""
    return (found for _, alike in groupby(ranked, likeness) for found in islice(alike, of_each))
