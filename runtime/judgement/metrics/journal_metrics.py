"""Counters and histograms of a workspace, as a fold of its events.

What can be asked of the journal at once (runs by state, open incidents, breakers) is not here: it is a gauge, and the
caller of `exposition` reads it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from runtime.record.state import events as ev

METRIC_MARKS: Final = (
    '"type":"step.started"',
    '"type":"step.ended"',
    '"type":"incident.opened"',
    '"type":"incident.answered"',
    '"type":"incident.closed"',
    '"type":"incident.analysed"',
    '"type":"run.finished"',
)
"""What the stored events that count here have in them (`runtime.record.journal.Journal.latest`)."""

STEP_BUCKETS_S: Final = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
DECISION_BUCKETS_S: Final = (10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 24 * 3600.0, 7 * 24 * 3600.0)


class Histogram:
    """How often a value fell at or below each bound, and the sum of all values."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.counts)


class JournalMetrics:
    """Fed with the events of all streams in the order of the journal (`METRIC_MARKS`), each of them once."""

    def __init__(self) -> None:
        self.steps: Counter[str] = Counter()
        """Steps that began, by kind (`llm`, `tool`, `value`); each has one attempt or more."""
        self.attempts: Counter[tuple[str, str]] = Counter()
        """Attempts of steps by kind (`llm`, `tool`, `value`) and outcome (`ok`, `fault`, `skipped`)."""
        self.faults: Counter[tuple[str, str]] = Counter()
        """Faults of attempts by origin and cause."""
        self.incidents: Counter[str] = Counter()
        """Incidents that opened, by cause."""
        self.decisions: Counter[tuple[str, str]] = Counter()
        """Answers by option and channel (`console`, `cli`, `rule`, `runtime`)."""
        self.tokens: Counter[tuple[str, str]] = Counter()
        """Tokens by model and direction (`input`, `output`)."""
        self.cost_usd: Counter[str] = Counter()
        """US dollars by model, where the price is known."""
        self.unpriced: Counter[str] = Counter()
        """Model calls whose price is not known, by model."""
        self.step_seconds: dict[str, Histogram] = {}
        """How long attempts took, by kind."""
        self.decision_seconds = Histogram(DECISION_BUCKETS_S)
        """From the opening of an incident to a person's answer."""
        self._steps: dict[str, dict[str, tuple[str, str]]] = {}
        self._copied: dict[str, set[str]] = {}
        """By run: steps that a fork copied, with their incidents and answers, and that did not run again since."""
        self._opened: dict[str, dict[str, datetime]] = {}

    def apply(self, event: ev.JournalEvent) -> None:
        match event:
            case ev.StepStarted():
                if not event.epoch:
                    self._copied.setdefault(event.run_id, set()).add(event.node_id)
                else:
                    self._copied.get(event.run_id, set()).discard(event.node_id)
                    name = str(event.effective.get("model", event.name))
                    self.steps[event.kind] += event.attempt == 1
                    self._steps.setdefault(event.run_id, {})[event.node_id] = (event.kind, name)
            case ev.StepEnded():
                self._end_step(event)
            case ev.IncidentOpened() | ev.IncidentAnswered() if event.node_id in self._copied.get(event.run_id, ()):
                pass
            case ev.IncidentOpened():
                self.incidents[event.fault.cause.value] += 1
                self._opened.setdefault(event.run_id, {})[event.incident_id] = event.ts
            case ev.IncidentAnswered():
                self._answer(event)
            case ev.IncidentClosed():
                self._opened.get(event.run_id, {}).pop(event.incident_id, None)
            case ev.AnalysisAdded() if event.cost_usd is not None:
                self.cost_usd[event.model] += event.cost_usd  # type: ignore[assignment]  # a Counter of floats
            case ev.RunFinished():
                self._steps.pop(event.run_id, None)  # a process that died leaves steps without an end
                self._opened.pop(event.run_id, None)
                self._copied.pop(event.run_id, None)

    def _end_step(self, event: ev.StepEnded) -> None:
        # A result that a person gives to a step before its first attempt ends a step that never started.
        kind, name = self._steps.get(event.run_id, {}).pop(event.node_id, ("", ""))
        if not kind:
            return
        outcome = "skipped" if event.skipped else "fault" if event.fault is not None else "ok"
        self.attempts[kind, outcome] += 1
        self.step_seconds.setdefault(kind, Histogram(STEP_BUCKETS_S)).observe(event.seconds)
        if event.fault is not None:
            self.faults[event.fault.origin.value, event.fault.cause.value] += 1
        if kind != "llm":
            return
        self.tokens[name, "input"] += event.input_tokens
        self.tokens[name, "output"] += event.output_tokens
        self.unpriced[name] += event.unpriced
        if event.cost_usd is not None:
            self.cost_usd[name] += event.cost_usd  # type: ignore[assignment]  # a Counter of floats

    def _answer(self, event: ev.IncidentAnswered) -> None:
        self.decisions[event.option, event.by.channel] += 1
        opened = self._opened.get(event.run_id, {}).pop(event.incident_id, event.ts)
        if event.by.channel in ("console", "cli"):
            self.decision_seconds.observe(max(0.0, (event.ts - opened).total_seconds()))
