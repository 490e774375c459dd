"""A run's row as lists show it: its cached summary, with what the journal itself keeps true."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from runtime.record.state.summary import FOLD_VERSION, RUN_TERMINAL, RunPhase, Summary


class StoredSummary(NamedTuple):
    """A row of a run. Instants are seconds (UTC); `summary` is JSON."""

    run: str
    state: RunPhase
    wake_at: float | None
    updated_at: float
    summary: str | None
    open_incidents: int

    def cached(self) -> Summary | None:
        """The summary that is stored. None where it has to be made: nothing is stored, or something else than a summary
        of this version of the fold.
        """
        try:
            found = Summary.from_json(self.summary) if self.summary else None
        except ValueError:
            return None
        return found if found is not None and found.fold == FOLD_VERSION else None

    def current(self, summary: Summary) -> Summary:
        """`summary` with the columns: operators change them without a drive that would write a summary."""
        return msgspec.structs.replace(
            summary,
            id=self.run,
            state=self.state,
            open_incidents=self.open_incidents,
            wake_at=to_instant(self.wake_at),
            updated_at=to_instant(self.updated_at),
            # Not the end that an operator took back since: the fold clears it as well, but this was made before.
            error="" if summary.state in RUN_TERMINAL and self.state not in RUN_TERMINAL else summary.error,
        )


def to_instant(seconds: float | None) -> datetime | None:
    """An instant from seconds (UTC); None from None and 0."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
