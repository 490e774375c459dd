"""The folds of the runs that spans are made of: kept while a run is under way, made again from its events otherwise."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.run_spans import RunSpans
from runtime.judgement.traces.span import Span, TraceSettings
from runtime.record.state import events as ev

MAX_KEPT = 64
"""Runs whose fold is kept. One that comes again is read from its beginning."""


class KnownRuns:
    """Folds by run. For one caller at a time.

    Args:
        settings: What is sent.
    """

    def __init__(self, settings: TraceSettings) -> None:
        self.position = 0
        """Up to where the journal was read."""
        self._settings = settings
        self._runs: OrderedDict[str, RunSpans] = OrderedDict()

    def gaps(self, events: Sequence[ev.JournalEvent]) -> Iterator[tuple[str, int]]:
        """Runs of which events before these are not known here, each with the last `seq` that is."""
        first: dict[str, int] = {}
        for event in events:
            first.setdefault(event.run_id, event.seq)
        for run_id, seq in first.items():
            known = self._runs[run_id].state.last_seq if run_id in self._runs else 0
            if seq > known + 1:
                yield run_id, known

    def spans(
        self, events: Sequence[ev.JournalEvent], gaps: Mapping[str, Sequence[ev.JournalEvent]], text: AttributeText
    ) -> list[Span]:
        """The spans that `events` end. `gaps`: what `gaps` asked for, which may reach into `events`."""
        found: list[Span] = []
        for event in events:
            run = self._runs.get(event.run_id)
            if run is None:
                run = self._runs[event.run_id] = RunSpans(self._settings, text)
            run.text = text
            self._runs.move_to_end(event.run_id)
            for missed in gaps.get(event.run_id, ()):
                if run.state.last_seq < missed.seq < event.seq:
                    run.apply(missed)
            if event.seq > run.state.last_seq:
                found.extend(run.apply(event))
        while len(self._runs) > MAX_KEPT:
            self._runs.popitem(last=False)
        return found
