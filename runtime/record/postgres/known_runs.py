"""The rows of runs as this writer left them: what only appends to such runs needs no look at the server first.

The transaction that writes it compares: it writes nothing where another process has changed a run meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.record.journal import JournalError
from runtime.record.rules.batch import Batch, RunRow, Write
from runtime.record.rules.writes import AppendEvents

_MOST_ROWS = 1024


@dataclass(frozen=True, slots=True)
class KnownAppend:
    """Operations that were carried out on rows as they are known."""

    batch: Batch
    results: list[Any]
    before: dict[str, int]
    """The number of the newest event that each run had."""


class KnownRuns:
    """Runs that have a lease, by their ids."""

    def __init__(self) -> None:
        self._rows: dict[str, RunRow] = {}

    def append(self, ops: Sequence[Write]) -> KnownAppend | None:
        """Carry out operations; None where one does more than append, a run is not known, or one is refused: what
        stands at the server decides that. The runs are unknown until `keep`.
        """
        appends = [op for op in ops if isinstance(op, AppendEvents) and op.only_lengthens]
        ids = {op.lease.run_id for op in appends}
        if len(appends) < len(ops) or not ids <= self._rows.keys():
            return None
        # No operation that only appends asks for the time.
        batch = Batch(0.0, {run_id: self._rows.pop(run_id) for run_id in ids})
        before = {run.id: run.last_seq for run in batch.runs.values()}
        try:
            return KnownAppend(batch, [op.apply(batch) for op in appends], before)
        except JournalError:
            return None

    def keep(self, batch: Batch) -> None:
        """The batch is committed: this is what its runs are now."""
        if len(self._rows) > _MOST_ROWS:
            self._rows.clear()
        for run in batch.runs.values():
            run.summary = None
            if run.lease_until is not None:
                self._rows[run.id] = run
            else:
                self._rows.pop(run.id, None)
