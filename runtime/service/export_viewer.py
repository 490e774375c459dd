"""The viewer of an export: a runtime that serves it read-only and drives nothing.

The file's events are put into a journal of their own in a directory that goes with the runtime, so that everything
which a console shows of a run it shows of an export. Consoles dial in as viewers: there is nothing to act on.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.reports.export_file import Export, InvalidExport
from runtime.link.transports.transport import PairTransport
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.service.embedded import EmbeddedRuntime


class ExportViewer:
    """A runtime on an export, inside this process. `start` before `transport`; may be used as a ``with``.

    `name` is what a console shows as its workspace: where the export came from.
    """

    def __init__(self, export: Export, name: str) -> None:
        self._export = export
        self._directory = Path(tempfile.mkdtemp(prefix="orbiter-replay-"))  # 0700
        self._embedded = EmbeddedRuntime(
            self._directory, ExecutionConfig(workspace=name), listening=False, driving=False
        )

    def start(self) -> None:
        """Unpack the export and serve it.

        Raises:
            InvalidExport: it does not begin with a run.
        """
        asyncio.run(unpack_export(self._export, self._directory))
        self._embedded.start()

    def transport(self) -> PairTransport:
        """The way to it, for a `LinkClient` on any loop."""
        return self._embedded.transport("viewer")

    def close(self) -> None:
        """Stop serving and forget what was unpacked."""
        try:
            self._embedded.close()
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


async def unpack_export(export: Export, place: Path) -> None:
    """Write an export's events into a new journal at `place`, in their order.

    Raises:
        InvalidExport: it does not begin with a run.
    """
    first, *rest = export.events or (None,)
    if not isinstance(first, ev.RunCreated):
        raise InvalidExport("the export does not begin with its run: it was cut or changed")
    created = DurableRun()
    created.apply(first)
    async with await open_journal(place) as journal:
        # A use is counted of a grant that is known.
        given: list[ev.JournalEvent] = [event for event in export.grants if isinstance(event, ev.GrantAdded)]
        taken_back = [event for event in export.grants if event not in given]
        for event in given:
            await journal.post(ev.WORKSPACE_RUN_ID, event)
        await journal.create(first, created.summary())
        lease = await journal.claim(first.run_id, "replay", ttl_s=60.0)
        assert lease is not None
        if rest:
            await journal.append(lease, rest, summary=export.state().summary())
        await journal.release(lease)
        for event in taken_back:
            await journal.post(ev.WORKSPACE_RUN_ID, event)
