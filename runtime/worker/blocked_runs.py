"""Runs that cannot be carried on now: why, since when, and when each is tried again."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime

from runtime.record.journal import JournalError, Unrecordable
from runtime.worker.drive import LeaseUnavailable

log = logging.getLogger("runtime.supervisor")

MAX_HOLD_UP_TRIES = 3
"""How often a run is taken up again whose drive fails without the journal being to blame, before it is set aside."""
_MAX_PAUSE_LEASES = 30.0
"""The longest pause between two tries of a run that cannot be carried on, in lengths of a lease."""


@dataclass(slots=True, frozen=True)
class BlockedRun:
    """A run that cannot be carried on now: its incident could not be written, and it is tried again; or the import of
    its file hangs (with an empty `run_id` where a file is only checked).
    """

    run_id: str
    reason: str
    since: datetime
    times: int = 0
    again_at: float = 0.0
    """By `time.monotonic`."""
    failed: Exception | None = None
    """Where the journal is not to blame."""
    alarming: bool = True
    """Whether people are to be told at once; not while an import may only be slow."""

    @property
    def reason_to_quarantine(self) -> Exception | None:
        """Why the run is to be set aside, once it has failed often enough; None: it is tried again."""
        return self.failed if self.times >= MAX_HOLD_UP_TRIES else None


def block_run(run_id: str, before: BlockedRun | None, exc: Exception, now: datetime, lease_s: float) -> BlockedRun:
    """A run whose drive failed, and when to try it again.

    What cannot be done now (with the disk full, say) is done again: after ever longer pauses where it had begun, for
    each time may cost a call of a model.
    """
    times = before.times if before is not None else 0
    times += not isinstance(exc, LeaseUnavailable)
    pause = min(lease_s / 3 * 2.0 ** min(max(times - 1, 0), 30), lease_s * _MAX_PAUSE_LEASES)
    if isinstance(exc, LeaseUnavailable):
        pause = lease_s / 3
    own = not isinstance(exc, JournalError)
    reason = f"{type(exc).__name__}: {exc}" if own else str(exc)
    since = before.since if before is not None else now
    known = before is not None and before.reason == reason
    what = "its drive failed" if own else "its journal cannot be written; it stays as it was"
    line = "run %s: %s; again in %.0f s at the earliest: %s"
    log.error(line, run_id, what, pause, reason, exc_info=None if known else exc)
    # Not for the journal's sake: what is tried from the third time on is to say so, and no model is asked any more.
    mine = own or isinstance(exc, Unrecordable)
    failed = exc if mine else before.failed if before is not None else None
    return BlockedRun(run_id, reason, since, times, time.monotonic() + pause, failed)
