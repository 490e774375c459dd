"""Handlers of the requests about the journal as a whole: audit, digest, export, log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from runtime.execution.secret_vault import make_redactor
from runtime.judgement.metrics.exposition import CONTENT_TYPE
from runtime.judgement.reports import export_file
from runtime.judgement.reports.report_types import AuditEntry, Digest
from runtime.operations import queries
from runtime.operations.context import Handler, OperationContext, OperationError, Origin
from runtime.operations.log_lines import read_log_file, shorten_event
from runtime.operations.objects import event_object
from runtime.operations.requests import reports as asked
from runtime.operations.requests.event_object import EventObject
from runtime.operations.requests.struct import Request
from runtime.record.state import events as ev

EVENTS_PER_TURN: Final = 50
"""Events that are shortened before other consoles have a turn."""


async def _audit(ops: OperationContext, request: asked.ListAudit, _: Origin) -> tuple[AuditEntry, ...]:
    found = await queries.read_audit(ops.journal, run_id=request.run_id, since=request.since, person=request.person)
    return tuple(found[-request.limit :])


async def _digest(ops: OperationContext, request: asked.ReadDigest, origin: Origin) -> Digest:
    if request.away:
        return await queries.digest_since_last_look(ops.journal, origin.by.name)
    return await queries.digest_for(ops.journal, origin.by.name, since=request.since)


async def _look(ops: OperationContext, _: asked.NoteLook, origin: Origin) -> None:
    await queries.record_look(ops.journal, origin.by)


async def _export(ops: OperationContext, request: asked.ExportRun, origin: Origin) -> asked.ExportText:
    run_id, incident_id = request.run_id, ""
    if request.incident_id:
        run_id, opened, _ = await ops.incident(request.incident_id)
        incident_id = opened.incident_id
    events = await ops.journal.read(run_id) if run_id else []
    if not events:
        raise OperationError("unknown_run", f"unknown run {run_id!r}: say run_id or incident_id")
    header = export_file.ExportHeader(
        orbiter_export=export_file.FORMAT,
        run_id=run_id,
        incident_id=incident_id,
        exported_at=ev.utc_now(),
        exported_by=origin.by.name,
    )
    workspace = await ops.journal.read(ev.WORKSPACE_RUN_ID)
    lines = export_file.export_lines(events, header, make_redactor(ops.config.redact), workspace)
    return asked.ExportText(text="\n".join(lines) + "\n")


async def _metrics(ops: OperationContext, _: asked.ReadMetrics, __: Origin) -> asked.Exposition:
    text = await ops.metrics.read(ops.config.errors.breaker_policy(), ev.utc_now())
    return asked.Exposition(text=text, content_type=CONTENT_TYPE)


async def _log(ops: OperationContext, request: asked.ReadLog, _: Origin) -> tuple[asked.LogRow, ...]:
    found = await ops.journal.latest(
        request.run_id or None, after=request.after, before=request.before, limit=request.limit
    )
    shown = event_object if request.whole else shorten_event
    rows: list[asked.LogRow] = []
    for placed in found:
        if not len(rows) % EVENTS_PER_TURN:
            await asyncio.sleep(0)
        rows.append(asked.LogRow(at=placed.pos, event=shown(placed.event)))
    return tuple(rows)


async def _events(ops: OperationContext, request: asked.ReadEvents, _: Origin) -> tuple[EventObject, ...]:
    found = await ops.journal.read(request.run_id, after=request.after, limit=request.limit)
    return tuple(event_object(event) for event in found)


async def _log_file(ops: OperationContext, request: asked.ReadLogFile, _: Origin) -> asked.LogFileText:
    return await asyncio.to_thread(read_log_file, ops.log_file, request.after, make_redactor(ops.config.redact))


HANDLERS: Final[Mapping[type[Request[Any]], Handler]] = {
    asked.ListAudit: _audit,
    asked.ReadDigest: _digest,
    asked.NoteLook: _look,
    asked.ExportRun: _export,
    asked.ReadMetrics: _metrics,
    asked.ReadLog: _log,
    asked.ReadEvents: _events,
    asked.ReadLogFile: _log_file,
}
