"""Handlers of the requests about grants and permission rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec.structs import asdict

from runtime.config.configuration import Configuration
from runtime.config.loader import InvalidConfiguration
from runtime.judgement.permissions import grant_ledger
from runtime.judgement.permissions.changed_patterns import READING_VERSION, reread_grant
from runtime.judgement.permissions.grant_ledger import GrantEntry
from runtime.judgement.permissions.policy import INVOKE_VERB, PermissionPolicy, PermissionRule
from runtime.operations.context import Handler, OperationContext, OperationError, Origin
from runtime.operations.requests import permissions as asked
from runtime.operations.requests.permissions import Grant, GrantUse
from runtime.operations.requests.struct import ActorRow, Request
from runtime.record.state.events import utc_now

MAX_RECENT_USES: Final = 100
"""Uses and denials in one result, the latest."""


async def _grants(ops: OperationContext, request: asked.ListGrants, _: Origin) -> tuple[Grant, ...]:
    ledger = await ops.ledger.read()
    return tuple(_grant(ops, held) for held in ledger.entries(utc_now(), every=request.every))


async def _permissions(ops: OperationContext, request: asked.ListPermissions, _: Origin) -> asked.Permissions:
    ledger = await ops.ledger.read()
    if ops.ledger.version == request.seen:
        return asked.Permissions(version=request.seen)
    return asked.Permissions(
        version=ops.ledger.version,
        grants=tuple(_grant(ops, held) for held in ledger.entries(utc_now())),
        recent=_uses(list(ledger.recent)[-MAX_RECENT_USES:]),
        rules=tuple(permission_rules(ops.config.permissions, ops.configuration)),
    )


async def _grant_uses(ops: OperationContext, request: asked.ListGrantUses, _: Origin) -> asked.GrantUses:
    held = (await ops.ledger.read()).held.get(request.grant_id)
    if held is None:
        raise OperationError("unknown_grant", f"no grant is called {request.grant_id}")
    return asked.GrantUses(**asdict(_grant(ops, held)), recent=_uses(held.recent))


async def _revoke(ops: OperationContext, request: asked.RevokeGrant, origin: Origin) -> asked.RevokedGrant:
    await ops.decisions.revoke(request.grant_id, by=origin.by)
    return asked.RevokedGrant(id=request.grant_id)


def _grant(ops: OperationContext, held: GrantEntry) -> Grant:
    grant = held.grant
    again = reread_grant(grant, ops.decisions.verbs) if grant.reading < READING_VERSION else None
    return Grant(
        id=grant.grant_id,
        state=held.state(utc_now()),
        subject=grant.subject,
        verb=grant.verb,
        pattern=grant.pattern,
        lifetime=grant.lifetime,
        scope=grant.scope,
        until=grant.until,
        incident_id=grant.incident_id,
        by=ActorRow.of(grant.by),
        granted_at=grant.ts,
        uses=held.uses,
        last_used=held.last_used,
        revoked_by=held.revoked.by.name if held.revoked is not None else None,
        reread=f"{again.what} became stricter. Before: {again.before}. Now: {again.now}" if again is not None else "",
    )


def _uses(found: Iterable[grant_ledger.GrantUse]) -> tuple[GrantUse, ...]:
    return tuple(GrantUse(**dataclasses.asdict(use)) for use in found)


def permission_rules(policy: PermissionPolicy, configured: Callable[[], Configuration]) -> list[asked.PermissionRule]:
    """The rules of a runtime that goes by `policy`, and those that came into a file since it began."""
    try:
        now: Configuration | None = configured()
        problem = ""
    except InvalidConfiguration as exc:
        now, problem = None, f"not in a file that can be read now: {exc}"
    there = {rule: _source(now, rule.verdict) for rule in now.permissions.rules} if now is not None else {}
    found = [_rule(rule, there.get(rule, problem or "no longer in a file"), in_force=True) for rule in policy.rules]
    found += [_rule(rule, source, in_force=False) for rule, source in there.items() if rule not in policy.rules]
    default = PermissionRule(policy.default, "*")
    same = now is not None and now.permissions.default == policy.default
    found.append(_rule(default, _source(now, "default") if same else "no longer in a file", in_force=True))
    found.append(_rule(PermissionRule("allow", INVOKE_VERB), "default, where nothing is said", in_force=True))
    return found


def _rule(rule: PermissionRule, source: str, *, in_force: bool) -> asked.PermissionRule:
    return asked.PermissionRule(
        verdict=rule.verdict,
        subject=rule.subject,
        verb=rule.verb,
        pattern=rule.pattern,
        source=source,
        in_force=in_force,
    )


def _source(configuration: Configuration | None, key: str) -> str:
    return configuration.sources.get(("permissions", key), "default") if configuration is not None else ""


HANDLERS: Final[Mapping[type[Request[Any]], Handler]] = {
    asked.ListGrants: _grants,
    asked.ListPermissions: _permissions,
    asked.ListGrantUses: _grant_uses,
    asked.RevokeGrant: _revoke,
}
