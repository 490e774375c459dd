"""Requests about grants and permission rules."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from runtime.operations.requests.struct import ActorRow, Instant, Request, Text


class Grant(Struct, frozen=True, kw_only=True):
    """A permission that was granted, and what became of it. `state`: `in force`, `revoked` or `expired`.

    `reread`: how its pattern was read when it was given, and how it is read now; empty if these are the same.
    """

    id: str
    state: str
    subject: str
    verb: str
    pattern: str
    lifetime: str
    scope: str
    until: Instant | None
    incident_id: str
    by: ActorRow
    granted_at: Instant
    uses: int
    last_used: Instant | None
    revoked_by: str | None
    reread: str = ""


class ListGrants(Request[tuple[Grant, ...]], frozen=True):
    """The grants in force; with `every`, those that were taken back or have ended, too."""

    verb: ClassVar[str] = "ledger"
    all_hosts: ClassVar[bool] = True

    every: bool = False


class GrantUse(Struct, frozen=True, kw_only=True):
    """An action that needed a permission. `how`: `grant` (covered), `once`, `denied` (a person), `policy` (a rule)."""

    how: str
    need: str
    ts: Instant
    run_id: str
    node_id: str
    grant_id: str = ""
    by: str = ""


class PermissionRule(Struct, frozen=True, kw_only=True):
    """A rule of the configuration. `source`: FILE:LINE, or words. `in_force`: the runtime goes by it."""

    verdict: str
    subject: str
    verb: str
    pattern: str | None
    source: str
    in_force: bool


class Permissions(Struct, frozen=True, kw_only=True):
    """`version` changes with the grants and their uses. The other fields are empty if it is the one that was `seen`."""

    version: int
    grants: tuple[Grant, ...] = ()
    recent: tuple[GrantUse, ...] = ()
    rules: tuple[PermissionRule, ...] = ()


class ListPermissions(Request[Permissions], frozen=True):
    """Grants in force, the latest uses and denials, and the rules. `seen`: the `version` of the last result."""

    verb: ClassVar[str] = "permissions"

    seen: int = -1


class GrantUses(Grant, frozen=True, kw_only=True):
    recent: tuple[GrantUse, ...]


class ListGrantUses(Request[GrantUses], frozen=True):
    """A grant with its latest uses."""

    verb: ClassVar[str] = "uses"

    grant_id: Text


class RevokedGrant(Struct, frozen=True, kw_only=True):
    id: str
    state: str = "revoked"


class RevokeGrant(Request[RevokedGrant], frozen=True):
    """Take a grant back. The very next attempt that needs it is asked about again."""

    verb: ClassVar[str] = "revoke"
    acts: ClassVar[bool] = True

    grant_id: Text
