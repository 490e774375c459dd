"""Permissions over the link: `permissions` tells rules, grants and their last uses and denials; `uses` those of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from runtime.config.loader import Configuration, InvalidConfiguration, load_configuration
from runtime.judgement.permissions.grant_ledger import GrantEntry, GrantUse
from runtime.judgement.permissions.policy import INVOKE_VERB, PermissionPolicy, PermissionRule
from runtime.link.verbs.registry import (
    CommandError,
    CommandOrigin,
    Verb,
    VerbArgs,
)
from runtime.operations.queries import LedgerReader
from runtime.record.journal import Journal
from runtime.record.state.events import utc_now

MAX_RECENT_USES: Final = 100
"""Uses and denials in one answer, the latest."""


class PermissionsArgs(VerbArgs):
    """`seen`: the `version` of the last answer; where nothing has changed since, the answer is that alone."""

    seen: int = -1


class UsesArgs(VerbArgs):
    grant_id: str = Field(min_length=1)


def permission_verbs(journal: Journal, policy: PermissionPolicy, workspace: Path) -> dict[str, Verb]:
    """The verbs by name. `policy` is what the drives go by; the files may say something else by now."""
    reader = LedgerReader(journal)

    async def permissions(args: PermissionsArgs, _asked: CommandOrigin) -> dict[str, Any]:
        ledger = await reader.read()
        if reader.version == args.seen:
            return {"version": reader.version}
        return {
            "version": reader.version,
            "grants": [grant_row(held) for held in ledger.entries(utc_now())],
            "recent": [_use_row(use) for use in list(ledger.recent)[-MAX_RECENT_USES:]],
            "rules": rule_rows(policy, lambda: load_configuration(workspace)),
        }

    async def uses(args: UsesArgs, _asked: CommandOrigin) -> dict[str, Any]:
        held = (await reader.read()).held.get(args.grant_id)
        if held is None:
            raise CommandError("unknown_grant", f"no grant is called {args.grant_id}")
        return {**grant_row(held), "recent": [_use_row(use) for use in held.recent]}

    return {"permissions": Verb(PermissionsArgs, permissions), "uses": Verb(UsesArgs, uses)}


def grant_row(held: GrantEntry) -> dict[str, Any]:
    """A grant as JSON, with what became of it."""
    return {
        "id": held.grant.grant_id,
        "state": held.state(utc_now()),
        "uses": held.uses,
        "last_used": held.last_used.isoformat() if held.last_used is not None else None,
        "grant": held.grant.model_dump(mode="json", exclude={"v", "node_id", "parent_id"}),
    }


def _use_row(use: GrantUse) -> dict[str, Any]:
    return {**asdict(use), "ts": use.ts.isoformat()}


def rule_rows(policy: PermissionPolicy, configured: Callable[[], Configuration]) -> list[dict[str, Any]]:
    """The rules as JSON: `verdict`, `subject`, `verb`, `pattern`, `source` (FILE:LINE, or in words), and `in_force`:
    a rule that came into a file since the runtime began is not.
    """
    try:
        now: Configuration | None = configured()
        problem = ""
    except InvalidConfiguration as exc:
        now, problem = None, f"not in a file that can be read now: {exc}"
    there = {rule: _source(now, rule.verdict) for rule in now.permissions.rules} if now is not None else {}
    found = [_rule_row(rule, there.get(rule, problem or "in no file by now"), in_force=True) for rule in policy.rules]
    found += [_rule_row(rule, source, in_force=False) for rule, source in there.items() if rule not in policy.rules]
    default = PermissionRule(policy.default, "*")
    same = now is not None and now.permissions.default == policy.default
    found.append(_rule_row(default, _source(now, "default") if same else "in no file by now", in_force=True))
    found.append(_rule_row(PermissionRule("allow", INVOKE_VERB), "default, where nothing is said", in_force=True))
    return found


def _rule_row(rule: PermissionRule, source: str, *, in_force: bool) -> dict[str, Any]:
    return {
        "verdict": rule.verdict,
        "subject": rule.subject,
        "verb": rule.verb,
        "pattern": rule.pattern,
        "source": source,
        "in_force": in_force,
    }


def _source(configuration: Configuration | None, key: str) -> str:
    return configuration.sources.get(("permissions", key), "default") if configuration is not None else ""
