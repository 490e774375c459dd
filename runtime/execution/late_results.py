"""Late results of calls that had been given up: noted and dropped (DESIGN section 2, rule 12)."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from runtime.execution.run_session import RunSession
from runtime.execution.secret_vault import make_redactor
from runtime.record.journal import Journal, JournalError
from runtime.record.state import events as ev

log = logging.getLogger("runtime.late")

_SUMMARY_CHARS = 500
_note_tasks: set[asyncio.Task[None]] = set()
"""Held here: the life to which they belong may be over."""


def note_late_result(session: RunSession, node_id: str, result: Any, error: BaseException | None) -> None:
    """Note that a call of a node came back: without a lease, for the run may have parked or ended by now."""
    node = session.state.nodes.get(node_id)
    summary = f"{type(error).__name__}: {error}" if error is not None else f"it returned {result!r}"
    event = ev.LateResultDropped(
        node_id=node_id,
        parent_id=node.parent_id if node is not None else "",
        attempt=node.attempts if node is not None else 0,
        summary=make_redactor(addresses=False).text(summary)[:_SUMMARY_CHARS],
    )
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # we are in the call's own thread: its loop is closed
        log.warning("run %s: %s came back after its runtime had ended: %s", session.state.id, node_id, event.summary)
        return
    noting = loop.create_task(_write_note(session.journal, session.lease.run_id, event))
    _note_tasks.add(noting)
    noting.add_done_callback(_note_tasks.discard)


async def _write_note(journal: Journal, run_id: str, event: ev.LateResultDropped) -> None:
    try:
        await journal.post(run_id, event)
    except JournalError:
        log.warning("run %s: %s came back late: %s", run_id, event.node_id, event.summary, exc_info=True)
