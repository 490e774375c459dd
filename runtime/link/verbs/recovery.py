"""Link verbs of recovery: preview of a grant, bulk answers, ledger, audit, digest, report, export."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field

from runtime.execution.secret_vault import make_redactor
from runtime.judgement.reports import export_file
from runtime.judgement.reports import incident_report as reports
from runtime.judgement.reports.audit import shown_params
from runtime.link.verbs.registry import (
    CommandError,
    CommandOrigin,
    NoArgs,
    Verb,
    VerbArgs,
)
from runtime.operations.bulk_answers import PROOF_TIMEOUT_S, answer_equal_incidents, precedent
from runtime.operations.decisions import Decisions
from runtime.operations.queries import (
    digest_for,
    digest_since_last_look,
    read_audit,
    read_grant_ledger,
    read_grant_preview,
    record_look,
)
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events


class PreviewArgs(VerbArgs):
    """`params` as for the answer `grant`: `for`, `subject`, `pattern`, `until`."""

    incident_id: str = Field(min_length=1)
    params: dict[str, Any] = Field(default_factory=dict)


class AnswerLikeArgs(VerbArgs):
    incident_id: str = Field(min_length=1)
    option: str = Field(min_length=1)
    params: dict[str, Any] = Field(default_factory=dict)
    only: tuple[str, ...] = ()
    """Incidents besides the first that may be answered; empty: all that are the same."""
    looked_at: tuple[str, ...] = ()
    """Those that somebody looked at: what may have happened had not."""
    reason: str = ""
    proof_s: float = Field(default=PROOF_TIMEOUT_S, ge=0, le=600)


class LedgerArgs(VerbArgs):
    every: bool = False


class AuditArgs(VerbArgs):
    """`limit`: the latest so many; 0: all."""

    limit: int = Field(default=0, ge=0)
    run_id: str = ""
    since: datetime | None = None
    person: str = ""


class DigestArgs(VerbArgs):
    """`away`: nothing for one who never looked, instead of all that ever happened."""

    since: datetime | None = None
    away: bool = False


class ReportArgs(VerbArgs):
    incident_id: str = Field(min_length=1)


class ExportArgs(VerbArgs):
    run_id: str = ""
    incident_id: str = ""


def recovery_verbs(
    journal: Journal, desk: Decisions, workspace: Path, hint: Callable[[], None], redact: tuple[str, ...] = ()
) -> dict[str, Verb]:
    """The verbs by name. `redact` are patterns of what leaves in no export."""

    async def preview(args: PreviewArgs, asked: CommandOrigin) -> dict[str, Any]:
        run_id, opened, _ = await _incident(journal, args.incident_id)
        if not opened.action.get("permission"):
            raise CommandError("bad_input", f"incident {opened.incident_id} asks for no permission")
        grant = await desk.proposed_grant(run_id, opened, args.params, by=asked.by)
        found = await read_grant_preview(journal, grant, root=str(workspace), verbs=desk.verbs)
        return {
            "grant": grant.model_dump(
                mode="json", include={"subject", "verb", "pattern", "lifetime", "scope", "until"}
            ),
            "sentence": found.sentence(),
            **found.model_dump(mode="json"),
        }

    async def like(args: AnswerLikeArgs, asked: CommandOrigin) -> list[dict[str, Any]]:
        hint()
        items = await answer_equal_incidents(
            desk,
            journal,
            args.incident_id,
            args.option,
            args.params,
            only=args.only,
            looked_at=args.looked_at,
            reason=args.reason,
            by=asked.by,
            proof_s=args.proof_s,
        )
        hint()
        return [
            {"id": each.incident_id, "run_id": each.run_id, "state": each.state, "detail": each.detail}
            for each in items
        ]

    async def before(args: ReportArgs, _asked: CommandOrigin) -> dict[str, Any]:
        _, opened, _ = await _incident(journal, args.incident_id)
        found = await precedent(journal, opened)
        if found is None:
            return {}
        return {
            "id": found.answer.incident_id,
            "run_id": found.run_id,
            "option": found.answer.option,
            "params": shown_params(found.reusable),
            "by": found.answer.by.name or found.answer.by.channel,
            "ts": found.answer.ts.isoformat(),
            "state": found.state,
            "detail": found.detail,
        }

    async def ledger(args: LedgerArgs, _asked: CommandOrigin) -> list[dict[str, Any]]:
        now = ev.utc_now()
        return [
            {
                "id": held.grant.grant_id,
                "state": held.state(now),
                "uses": held.uses,
                "last_used": held.last_used.isoformat() if held.last_used is not None else None,
                "grant": held.grant.model_dump(mode="json", exclude={"v", "node_id", "parent_id"}),
            }
            for held in (await read_grant_ledger(journal)).entries(now, every=args.every)
        ]

    async def audit(args: AuditArgs, _asked: CommandOrigin) -> list[dict[str, Any]]:
        found = await read_audit(journal, run_id=args.run_id, since=args.since, person=args.person)
        return [each.model_dump(mode="json") for each in found[-args.limit :]]

    async def digest(args: DigestArgs, asked: CommandOrigin) -> dict[str, Any]:
        if args.away:
            found = await digest_since_last_look(journal, asked.by.name)
        else:
            found = await digest_for(journal, asked.by.name, since=args.since)
        return {**found.model_dump(mode="json"), "sentences": found.sentences(), "empty": found.empty}

    async def look(_args: NoArgs, asked: CommandOrigin) -> dict[str, Any]:
        await record_look(journal, asked.by)
        return {}

    async def report(args: ReportArgs, _asked: CommandOrigin) -> dict[str, Any]:
        run_id, opened, _ = await _incident(journal, args.incident_id)
        found = reports.build_report(fold_events(await journal.read(run_id)), opened)
        return {**found.model_dump(mode="json"), "markdown": found.markdown(), "text": found.text()}

    async def export(args: ExportArgs, asked: CommandOrigin) -> dict[str, Any]:
        run_id, incident_id = args.run_id, ""
        if args.incident_id:
            run_id, opened, _ = await _incident(journal, args.incident_id)
            incident_id = opened.incident_id
        events = await journal.read(run_id) if run_id else []
        if not events:
            raise CommandError("unknown_run", f"there is no run {run_id!r}: say run_id or incident_id")
        header = export_file.ExportHeader(
            orbiter_export=export_file.FORMAT,
            run_id=run_id,
            incident_id=incident_id,
            exported_at=ev.utc_now(),
            exported_by=asked.by.name,
        )
        return {
            "text": "\n".join(
                export_file.export_lines(events, header, make_redactor(redact), await journal.read(ev.WORKSPACE_RUN_ID))
            )
            + "\n"
        }

    return {
        "preview": Verb(PreviewArgs, preview),
        "answer_like": Verb(AnswerLikeArgs, like, acts=True),
        "precedent": Verb(ReportArgs, before),
        "ledger": Verb(LedgerArgs, ledger),
        "audit": Verb(AuditArgs, audit),
        "digest": Verb(DigestArgs, digest),
        "looked": Verb(NoArgs, look, acts=True),
        "report": Verb(ReportArgs, report),
        "export": Verb(ExportArgs, export),
    }


async def _incident(journal: Journal, incident_id: str) -> tuple[str, ev.IncidentOpened, ev.IncidentAnswered | None]:
    found = await journal.incident(incident_id)
    if found is None:
        raise CommandError("unknown_incident", f"no incident is called {incident_id}, nor only one begins so")
    return found
