"""What is done for a journal as a whole, by the process that drives its runs and by `doctor` and `prune`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from runtime.record.journal import Journal

DAMAGED_FILE = "journal.damaged.db"
"""What could be read back of a journal that was overwritten, where that is not all of it."""

BeforeForgetting = Callable[[str], Awaitable[None]]
"""What is done with a run, by its id, before `JournalCare.prune` forgets it."""


class JournalCare(Journal, Protocol):
    """A journal as `places.open_journal` gives it. All methods raise `JournalError` when the store fails."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None: ...

    @property
    def is_local(self) -> bool:
        """Whether only processes of this machine write it, so that one can tell whether the owner of a lease lives."""
        ...

    async def describe(self) -> str:
        """Where it is, its size and its schema's version, in words."""
        ...

    async def check(self) -> list[str]:
        """What is wrong with the store, in sentences; empty if nothing. Reads all of it."""
        ...

    async def backup(self, target: str | Path) -> None:
        """Write a consistent copy to a new file while others work on. Raises also where `target` exists."""
        ...

    async def rebuild_summaries(self) -> int:
        """Make every run's summary again from its events; how many were."""
        ...

    async def prune(
        self,
        *,
        older_than: timedelta | None = None,
        max_bytes: int | None = None,
        export: BeforeForgetting | None = None,
        whole_partitions: bool = False,
        dry_run: bool = False,
    ) -> list[str]:
        """Forget finished runs untouched for `older_than`, then the oldest until the data fits in `max_bytes`.

        Never a run that is not finished. Gives the ids of those forgotten. Where the process dies in between, each run
        is there as a whole or forgotten as a whole, and calling it again does the rest.

        Args:
            older_than: How long they have not changed.
            max_bytes: How much all data may take.
            export: Called with each run before it is forgotten. If it raises, nothing more is forgotten. A run that
                changes after it was called stays.
            whole_partitions: Leave a run that is old enough for later, where the partition of its events cannot go as a
                whole yet. Only where the store has partitions.
            dry_run: Only give the ids of those that would be forgotten now. Nothing is changed, `export` is not called,
                and the journal may have been opened to be read.
        """
        ...

    async def look_for_loss(self) -> str:
        """What is missing at the journal's end, in words; empty if nothing is. The first that opens it after the last
        process died asks before anything else is written. One that was opened to be read tells only how far it had
        come before.
        """
        ...

    async def stand_still(self, lost: str) -> list[str]:
        """Freeze everything, and record what was found to be lost: who goes on from what is left would do again what
        only the lost part told of. Gives the ids of the runs that were frozen now. If this fails the loss is found
        again.
        """
        ...

    def displaced(self) -> str:
        """Where the store is not at its place any more, or was overwritten there, what became of it, in words; else
        empty. From any thread.
        """
        ...

    async def sign(self) -> None:
        """From now on `displaced` also notices that the store is overwritten in place. For the process that drives."""
        ...

    def overwritten(self) -> str:
        """`displaced`, where the store is at its place and its content was changed; else empty."""
        ...

    async def keep_log(self) -> None:
        """Write nothing more from this store's own log into what it was overwritten with."""
        ...

    async def rescue(self, target: Path) -> None:
        """Write a copy of what this object has open into a new place, also where the store itself is gone. Raises also
        where `target` holds a journal.
        """
        ...

    async def rescue_overwritten(self, target: Path) -> bool:
        """As `rescue`, for a store that was overwritten in place; whether the copy is whole. What could be read back of
        one that is not is in `DAMAGED_FILE`. Raises `OSError`, too.
        """
        ...
