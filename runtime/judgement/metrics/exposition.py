"""The text that Prometheus reads: families of samples in its exposition format 0.0.4.

Source of the rules: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from runtime.judgement.metrics.journal_metrics import Histogram, JournalMetrics

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\""})
_MAX_LABEL: Final = 200
"""Characters of a label's value: names of models and tools are foreign text."""

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric: its name, its type, what it says, and its samples as name's suffix, labels and value."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    samples: Sequence[tuple[str, Labels, float]]


@dataclass(frozen=True, slots=True)
class Gauges:
    """What is so now. Ages are seconds."""

    runs: Mapping[str, int]
    """Runs by state."""
    incidents: Mapping[str, int]
    """Open incidents by cause."""
    oldest_incident_s: float
    """The age of the oldest open incident; 0 where none is open."""
    breakers: Mapping[str, bool]
    """Circuit breakers that have counted a failure: whether each is open."""


def exposition(gauges: Gauges, metrics: JournalMetrics) -> str:
    """All metrics of a workspace as text, which ends with a line feed."""
    return "".join(line + "\n" for family in (*_gauges(gauges), *_counters(metrics)) for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for suffix, labels, value in family.samples:
        inside = ",".join(f'{name}="{_label(text)}"' for name, text in labels)
        yield (
            f"{family.name}{suffix}{{{inside}}} {_number(value)}"
            if inside
            else f"{family.name}{suffix} {_number(value)}"
        )


def _label(text: str) -> str:
    """The value of a label in printable ASCII, which a terminal cannot obey: other characters as Python's escapes."""
    shown = (char if char.isascii() and char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return "".join(shown)[:_MAX_LABEL].translate(_ESCAPES)


def _number(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() else repr(float(value))


def _gauges(now: Gauges) -> Iterator[Family]:
    yield Family("orbiter_runs", "gauge", "Runs by state.", _by("state", now.runs))
    yield Family("orbiter_incidents_open", "gauge", "Open incidents by cause.", _by("cause", now.incidents))
    yield Family(
        "orbiter_incident_oldest_seconds",
        "gauge",
        "Age of the oldest open incident; 0 where none is open.",
        [("", (), now.oldest_incident_s)],
    )
    yield Family("orbiter_breaker_open", "gauge", "1 where a circuit breaker is open.", _by("key", now.breakers))


def _counters(of: JournalMetrics) -> Iterator[Family]:
    yield Family("orbiter_steps_total", "counter", "Steps that began.", _by("kind", of.steps))
    yield Family("orbiter_attempts_total", "counter", "Attempts of steps.", _by2("kind", "outcome", of.attempts))
    yield Family("orbiter_faults_total", "counter", "Faults of attempts.", _by2("origin", "cause", of.faults))
    yield Family("orbiter_incidents_total", "counter", "Incidents that opened.", _by("cause", of.incidents))
    yield Family("orbiter_decisions_total", "counter", "Answers to incidents.", _by2("option", "channel", of.decisions))
    yield Family("orbiter_tokens_total", "counter", "Tokens of model calls.", _by2("model", "direction", of.tokens))
    yield Family(
        "orbiter_cost_usd_total", "counter", "Cost in US dollars, where prices are known.", _by("model", of.cost_usd)
    )
    yield Family(
        "orbiter_unpriced_calls_total", "counter", "Model calls whose price is not known.", _by("model", of.unpriced)
    )
    steps = [each for kind, found in sorted(of.step_seconds.items()) for each in _histogram(found, (("kind", kind),))]
    yield Family("orbiter_attempt_seconds", "histogram", "Seconds of an attempt.", steps)
    yield Family(
        "orbiter_decision_seconds",
        "histogram",
        "Seconds from an incident to the answer of a person.",
        list(_histogram(of.decision_seconds, ())),
    )


def _by(label: str, found: Mapping[str, float]) -> list[tuple[str, Labels, float]]:
    return [("", ((label, key),), value) for key, value in sorted(found.items())]


def _by2(first: str, second: str, found: Mapping[tuple[str, str], float]) -> list[tuple[str, Labels, float]]:
    return [("", ((first, one), (second, two)), value) for (one, two), value in sorted(found.items())]


def _histogram(found: Histogram, labels: Labels) -> Iterator[tuple[str, Labels, float]]:
    total = 0
    for bound, count in zip((*found.bounds, None), found.counts, strict=True):
        total += count
        yield "_bucket", (*labels, ("le", "+Inf" if bound is None else _number(bound))), total
    yield "_sum", labels, found.sum
    yield "_count", labels, total
