"""Patterns of permissions whose meaning changed with the grammar of commands: before and now. Pure.

Up to the first reading a star of a command or a name ended at signs that depended on the letters of the pattern, and a
denial was compared with the whole text of a command. Each pattern became stricter, none wider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from runtime.judgement.permissions.patterns import Kind, Verbs
from runtime.judgement.permissions.policy import PermissionPolicy, PermissionVerdict
from runtime.record.state.events import GrantAdded, PatternReread

READING_VERSION: Final = 2
"""How the patterns of grants are read that are given now (`GrantAdded.reading`)."""


def changed_readings(grants: Iterable[GrantAdded], policy: PermissionPolicy) -> Iterator[PatternReread]:
    """The patterns of grants and rules that mean something else than before."""
    for grant in grants:
        if (found := reread_grant(grant, policy.verbs)) is not None:
            yield found
    for rule in policy.rules:
        what = f"{rule.verdict} {rule.verb}:{rule.pattern}"
        if (found := _reread(what, rule.verdict, rule.verb, rule.pattern, policy.verbs)) is not None:
            yield found


def reread_grant(grant: GrantAdded, verbs: Verbs) -> PatternReread | None:
    """The old and the new reading of a grant; None where they are the same."""
    if grant.reading >= READING_VERSION:
        return None
    return _reread(f"grant {grant.grant_id} {grant.verb}:{grant.pattern}", "allow", grant.verb, grant.pattern, verbs)


def _reread(
    what: str, verdict: PermissionVerdict, verb: str, pattern: str | None, verbs: Verbs
) -> PatternReread | None:
    kind = verbs.kind(verb)
    if not pattern or kind not in (Kind.COMMAND, Kind.NAME):
        return None
    command = kind is Kind.COMMAND
    if verdict != "allow":
        if not command and "*" not in pattern:
            return None
        wide = "every command that begins with these words, wherever a shell would run it"
        before = "the whole text only, a star ending at signs such as / . : ;"
        return PatternReread(what=what, before=before, now=wide if command else "anything for a star")
    if "**" in pattern and command:
        before = "anything for **, other commands too"
    elif "*" in pattern and "/" in pattern:
        before = "anything without a slash for *" + (", other commands too" if command else "")
    else:
        return None
    now = "one command, whose words are known before it runs" if command else "one part of a name for *"
    return PatternReread(what=what, before=before, now=now)
