"""Handlers of the requests about incidents."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from runtime.judgement.comparison.file_write import FileComparison, written_text
from runtime.judgement.reports.audit import shown_params
from runtime.operations.context import Handler, OperationContext, OperationError, Origin
from runtime.operations.objects import incident_object, open_incident_object, report_object
from runtime.operations.requests import answers as asked
from runtime.operations.requests.codec import decode_struct
from runtime.operations.requests.incident_results import IncidentRow, OpenIncident, ReportRow
from runtime.operations.requests.struct import ActorRow, Request
from runtime.record.journal import AnswerRefused
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Incident


async def _answer(ops: OperationContext, request: asked.AnswerIncident, origin: Origin) -> asked.TakenAnswer:
    outcome = await ops.decisions.answer(
        request.incident_id,
        request.option,
        dict(request.params),
        reach=request.reach,
        revision=request.revision,
        reason=request.reason,
        by=origin.by,
    )
    if isinstance(outcome, AnswerRefused):
        raise refused_answer(request.incident_id, outcome)
    taken = outcome.answer
    return asked.TakenAnswer(
        id=taken.incident_id,
        state="answered",
        run_id=taken.run_id,
        option=taken.option,
        params=shown_params(taken.params),
        reach=taken.reach,
        reason=taken.reason,
        by=ActorRow.of(taken.by),
        ts=taken.ts,
    )


async def _propose(ops: OperationContext, request: asked.ProposeAnswer, origin: Origin) -> asked.ProposedAnswer:
    taken = await ops.decisions.propose(
        request.incident_id,
        request.option,
        request.params,
        revision=request.revision,
        reason=request.reason,
        by=origin.by,
    )
    return asked.ProposedAnswer(
        id=taken.incident_id,
        state="proposed",
        run_id=taken.run_id,
        option=taken.option,
        params=taken.params,
        reason=taken.reason,
        by=ActorRow.of(taken.by),
    )


def refused_answer(incident_id: str, outcome: AnswerRefused) -> OperationError:
    """An answer that was not taken, as an error that says who was first."""
    first = outcome.first
    detail: dict[str, Any] = {"incident_id": incident_id, "reason": outcome.reason}
    message = outcome.detail or f"incident {incident_id} was not answered: {outcome.reason}"
    if first is not None:
        who = first.by.name or first.by.channel
        detail["first"] = {"by": who, "channel": first.by.channel, "option": first.option, "ts": first.ts.isoformat()}
        message = f"{who} was first and answered {first.option!r} at {first.ts:%H:%M:%S} UTC"
    return OperationError("refused", message, **detail)


async def _answer_equal(
    ops: OperationContext, request: asked.AnswerEqual, origin: Origin
) -> tuple[asked.BulkOutcome, ...]:
    ops.hint()
    from runtime.operations import bulk_answers

    items = await bulk_answers.answer_equal_incidents(ops.decisions, ops.journal, request, by=origin.by)
    return tuple(
        asked.BulkOutcome(id=each.incident_id, state=each.state, run_id=each.run_id, detail=each.detail)
        for each in items
    )


async def _precedent(ops: OperationContext, request: asked.FindPrecedent, _origin: Origin) -> asked.Precedent | None:
    _, opened, _ = await ops.incident(request.incident_id)
    from runtime.operations import bulk_answers

    found = await bulk_answers.precedent(ops.journal, opened)
    if found is None:
        return None
    return asked.Precedent(
        id=found.answer.incident_id,
        run_id=found.run_id,
        option=found.answer.option,
        params=shown_params(found.reusable),
        by=found.answer.by.name or found.answer.by.channel,
        ts=found.answer.ts,
        state=found.state,
        detail=found.detail,
    )


async def _preview(ops: OperationContext, request: asked.PreviewGrant, origin: Origin) -> asked.GrantPreview:
    run_id, opened, _ = await ops.incident(request.incident_id)
    if not opened.action.get("permission"):
        raise OperationError("bad_input", f"incident {opened.incident_id} does not ask for a permission")
    grant = await ops.decisions.proposed_grant(run_id, opened, request.params, by=origin.by)
    from runtime.operations import queries

    found = await queries.read_grant_preview(ops.journal, grant, root=str(ops.workspace), verbs=ops.decisions.verbs)
    proposed = decode_struct(asked.ProposedGrant, ev.event_fields(grant))
    return asked.GrantPreview(grant=proposed, sentence=found.sentence(), past=found.past, pending=found.pending)


async def _compare_write(ops: OperationContext, request: asked.CompareWrite, _origin: Origin) -> FileComparison:
    _, opened, _ = await ops.incident(request.incident_id)
    written = written_text(opened.action)
    if written is None:
        raise OperationError("bad_input", f"incident {opened.incident_id} does not ask to write a text to a file")
    from runtime.execution.secret_vault import make_redactor
    from runtime.operations.handlers.file_comparison import compare_with_disk

    return await asyncio.to_thread(compare_with_disk, written, make_redactor(ops.config.redact))


async def _list(ops: OperationContext, request: asked.ListIncidents, _: Origin) -> tuple[OpenIncident, ...]:
    if request.run_id:
        await ops.summary(request.run_id)
    found = await ops.journal.incidents(request.run_id or None)
    same = Counter(each.opened.fingerprint or each.opened.incident_id for each in found)
    from runtime.operations import queries

    proposed = await queries.read_proposals(ops.journal, {each.run_id for each in found})
    return tuple(
        open_incident_object(
            each.run_id,
            Incident(each.opened, proposals=proposed.get(each.opened.incident_id, [])),
            title=each.title,
            like_this=same[each.opened.fingerprint or each.opened.incident_id],
        )
        for each in found
    )


async def _show(ops: OperationContext, request: asked.ShowIncident, _origin: Origin) -> IncidentRow:
    run_id, opened, _ = await ops.incident(request.incident_id)
    return incident_object(run_id, await _incident_in_run(ops, run_id, opened))


async def _report(ops: OperationContext, request: asked.ShowReport, _origin: Origin) -> ReportRow:
    run_id, opened, _ = await ops.incident(request.incident_id)
    return report_object(await ops.decisions.state(run_id), opened)


async def _incident_in_run(ops: OperationContext, run_id: str, opened: ev.IncidentOpened) -> Incident:
    return (await ops.decisions.state(run_id)).incidents.get(opened.incident_id) or Incident(opened)


HANDLERS: Final[Mapping[type[Request[Any]], Handler]] = {
    asked.AnswerIncident: _answer,
    asked.ProposeAnswer: _propose,
    asked.AnswerEqual: _answer_equal,
    asked.FindPrecedent: _precedent,
    asked.PreviewGrant: _preview,
    asked.CompareWrite: _compare_write,
    asked.ListIncidents: _list,
    asked.ShowIncident: _show,
    asked.ShowReport: _report,
}
