"""The standing grant that an answer makes, and the other incidents that it answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from runtime.judgement.permissions import command_matching
from runtime.judgement.permissions.canonical import PermissionSyntaxError, canonical_pattern
from runtime.judgement.permissions.changed_patterns import READING_VERSION
from runtime.judgement.permissions.patterns import Kind, Verbs
from runtime.judgement.permissions.permission import Need, covers, grant_matches
from runtime.judgement.recovery.input_validation import InvalidInput
from runtime.judgement.recovery.param_validation import parse_expiry
from runtime.operations.answer_params import InvalidCommand
from runtime.record.ids import new_id
from runtime.record.inbox_row import InboxRow
from runtime.record.journal import Journal
from runtime.record.state import events as ev

Lifetime = Literal["run", "swarm", "always"]


def make_grant(
    opened: ev.IncidentOpened,
    params: Mapping[str, Any],
    *,
    run_id: str,
    ref: str,
    root: Path,
    verbs: Verbs,
    by: ev.Actor,
) -> ev.GrantAdded:
    """The grant that answering an incident with these parameters makes. `ref`: the swarm of its run; `root`: where
    relative paths begin.

    Raises:
        InvalidCommand: the pattern does not cover what is asked for, or the date cannot be read or is past.
    """
    wanted = params.get("for")
    lifetime: Lifetime = wanted if wanted in ("swarm", "always") else "run"
    need = str(opened.action.get("permission", ""))
    verb, _, target = need.partition(":")
    scope = {"swarm": ref, "always": "", "run": run_id}[lifetime]
    if "*" in target and not params.get("pattern"):
        raise InvalidCommand(
            f"{target!r} contains a star, which a pattern reads as anything: give --pattern, or grant it once"
        )
    agent = asking_agent(opened)
    subject = str(params.get("subject") or agent)
    if subject not in ("*", agent):
        raise InvalidCommand(f"a grant for {subject!r} does not cover {agent!r}, who asks: nothing granted")
    try:
        words = str(params.get("pattern") or target)
        pattern = canonical_pattern(verb, words, root=str(root), verbs=verbs)
    except PermissionSyntaxError as exc:
        raise InvalidCommand(str(exc)) from exc
    kind = verbs.kind(verb)
    if not grant_matches(pattern, target, kind):
        why = command_matching.why_uncovered(pattern, target) if kind is Kind.COMMAND else ""
        raise InvalidCommand(
            f"the pattern {pattern!r} does not cover {target!r}, which is asked for{why}: nothing granted"
        )
    try:
        until = parse_expiry(params.get("until"), ev.utc_now())
    except InvalidInput as exc:
        raise InvalidCommand(str(exc)) from exc
    return ev.GrantAdded(
        grant_id=f"g-{new_id()}",
        subject=subject,
        verb=verb,
        pattern=pattern,
        lifetime=lifetime,
        scope=scope,
        until=until,
        incident_id=opened.incident_id,
        by=by,
        reading=READING_VERSION,
    )


async def answer_covered(
    journal: Journal, grant: ev.GrantAdded, first: ev.IncidentOpened, *, verbs: Verbs, by: ev.Actor
) -> None:
    """A grant that lasts is given: what else waits for just that goes on, too. The operator who gave it saw how many
    there are. Each is answered by reference to the grant, so that taking it back stops them as it stops the first.
    """
    refs: dict[str, str] = {}
    for found in await journal.incidents():
        need, agent = str(found.opened.action.get("permission", "")), asking_agent(found.opened)
        if not need or (grant.lifetime == "run" and found.run_id != grant.scope):
            continue
        if found.run_id not in refs:
            summary = await journal.summary(found.run_id)
            refs[found.run_id] = summary.ref if summary is not None else ""
        verb, _, target = need.partition(":")
        need_of = Need(verb, target)
        if not covers(grant, need_of, agent=agent, run_id=found.run_id, ref=refs[found.run_id], verbs=verbs):
            continue
        params = {"for": grant.lifetime, "grant_id": grant.grant_id}
        await answer_granted(journal, found, params, f"covered by the grant that was given at {first.incident_id}", by)


async def answer_granted(journal: Journal, found: InboxRow, params: dict[str, Any], reason: str, by: ev.Actor) -> None:
    """Answer another incident with what was granted at the first; an answer that came meanwhile stays."""
    answer = ev.IncidentAnswered.of(found.opened, found.run_id, "grant", params=params, reason=reason, by=by)
    await journal.answer(answer)


def asking_agent(opened: ev.IncidentOpened) -> str:
    """Who asked for the permission: a grant is for that agent unless an operator says otherwise."""
    if opened.action.get("agent"):
        return str(opened.action["agent"])
    agents = [name for name in opened.lineage if name]
    return agents[-2] if len(agents) > 1 else "*"
