"""Asking what a permission to write a file would change on disk, for as long as its prompt is shown."""

from __future__ import annotations

from typing import Final

from runtime.judgement.comparison.file_write import FileComparison, written_text
from runtime.link.client.client import LinkError
from runtime.operations.requests.answers import CompareWrite
from runtime.record.state.events import IncidentOpened
from screens.base.runtime_screen import RuntimeScreen
from screens.views.decisions.written_file import ShownWrite

REREAD_S: Final = 3.0
"""Seconds until the file is looked at again."""


class WriteComparison:
    """Remembers the answer for the prompt of `screen`; a runtime that cannot compare is not asked again."""

    def __init__(self, screen: RuntimeScreen) -> None:
        self._screen = screen
        self._incident_id = ""
        self._first: FileComparison | None = None
        self._found: FileComparison | None = None
        self._asked_at: float | None = None
        self._refused = False
        self._began: float | None = None
        """When the first answer was asked for."""

    def shown(self, opened: IncidentOpened) -> ShownWrite | None:
        """What is known now; None while nothing is, and of an incident that is about no file."""
        if written_text(opened.action) is None:
            return None
        now = self._screen.session.monotonic()
        if opened.incident_id != self._incident_id:
            self._incident_id, self._first, self._found = opened.incident_id, None, None
            self._asked_at, self._refused, self._began = None, False, now
        if not self._refused and (self._asked_at is None or now - self._asked_at >= REREAD_S):
            self._asked_at = now
            asking = self._ask(opened.incident_id)
            self._screen.run_worker(asking, group="file", exclusive=True, exit_on_error=False)
        if self._found is None or self._first is None:
            return None
        return ShownWrite(self._found, changed=self._found.version != self._first.version)

    def is_awaited(self, opened: IncidentOpened) -> bool:
        """Whether it is not known yet what the file is, so that keys wait; not for longer than until it is looked at
        again.
        """
        if opened.incident_id != self._incident_id or self._found is not None or self._refused:
            return False
        return self._began is not None and self._screen.session.monotonic() - self._began < REREAD_S

    async def _ask(self, incident_id: str) -> None:
        try:
            found = await self._screen.link.ask(CompareWrite(incident_id=incident_id))
        except LinkError:
            self._refused = self._found is None
            self._screen.pace.request()
            return
        if incident_id == self._incident_id and found != self._found:
            self._first, self._found = self._first or found, found
            self._screen.pace.request()
