"""Rows of the grants page: grants, their recent uses and denials, rules of the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from runtime.operations.requests.permissions import Grant, GrantUse, GrantUses, PermissionRule, Permissions
from runtime.record.state.workspace_events import GrantAdded
from screens.render.formatting import format_age, format_ago, pluralize
from screens.render.glyphs import state_ink
from screens.render.layout import (
    Column,
    Part,
    Row,
    Span,
    Spans,
    join_spans,
    span,
    with_headings,
)
from screens.views.run.node_names import names_in, place_words
from screens.views.shared.render_context import RenderContext

GRANT_COLUMNS: Final = (
    Column("state", width=11),
    Column("who", width=12, grow=1),
    Column("what", width=20, grow=3),
    Column("lasts", width=15, grow=1, drop=1),
    Column("from", width=15, grow=1, drop=2),
    Column("uses", width=4, right=True),
    Column("last", width=4, right=True),
)
USE_COLUMNS: Final = (
    Column("when", width=19),
    Column("what", width=24, grow=3),
    Column("node", width=20, grow=2, drop=1),
    Column("run", width=22, grow=1),
)
GRANT_KEY_PREFIX: Final = "grant:"
USE_KEY_PREFIX: Final = "use:"
"""How keys of rows begin: of a grant, then its id; of a use, then its run's id."""
_HOW: Final = {
    "grant": ("succeeded", "used"),
    "once": ("succeeded", "once"),
    "denied": ("failed", "denied"),
    "policy": ("failed", "denied"),
}
_VERDICTS: Final = {"allow": ("succeeded", "allow"), "ask": ("waiting", "ask"), "deny": ("failed", "deny")}


@dataclass(frozen=True, slots=True)
class HostPermissions:
    """What one host's runtime said of its permissions."""

    host: str
    found: Permissions


def ledger_rows(
    grants: Mapping[str, GrantAdded], known: Iterable[HostPermissions], context: RenderContext
) -> list[Row]:
    """Three groups, each under its heading, without those that are empty. `grants` are those in force by now; what was
    `known` a moment ago says how often each was used.
    """
    known = list(known)
    return with_headings(
        (
            Part("Grants in force", "state-succeeded", [grant_row(grant, known, context) for grant in grants.values()]),
            Part("Lately used or denied", "state-running", _recent_rows(known, context)),
            Part("Rules of orbiter.toml, read only", "ink-muted", _rule_rows(known, context)),
        )
    )


def grant_words(grant: GrantAdded, context: RenderContext) -> str:
    """`keeper may fs.write:/data/**, in this run`: what a grant says, on one line and clean."""
    who = "every agent" if grant.subject == "*" else context.exact_line(grant.subject)
    return f"{who} may {grant_object(grant, context)}, {lifetime_words(grant, context)}"


def grant_object(grant: GrantAdded, context: RenderContext) -> str:
    """`fs.write:/data/**`."""
    return context.exact_line(f"{grant.verb}:{grant.pattern}" if grant.pattern else grant.verb, 300)


def lifetime_words(grant: GrantAdded, context: RenderContext) -> str:
    """`run run-1`, `swarm digest.py:swarm`, `always`, each with its date if it has one; times in the local zone."""
    scope = f" {context.sanitize_line(grant.scope.rpartition('/')[2], 60)}" if grant.scope else ""
    until = f" until {local_time(grant.until)[:16]}" if grant.until is not None else ""
    return f"{grant.lifetime}{scope}{until}"


def local_time(at: datetime) -> str:
    """`2026-11-20 10:00:00` in the zone of this machine."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def grant_row(grant: GrantAdded, known: Iterable[HostPermissions], context: RenderContext) -> Row:
    """One grant in force."""
    held, host = held_by(known, grant.grant_id)
    uses, last = (held.uses, held.last_used) if held is not None else (None, None)
    by = join_spans(
        (
            span(context.sanitize_line(grant.by.name, 40) or "a rule"),
            span(format_ago(grant.ts, context.now), "ink-muted"),
        ),
        " ",
    )
    return Row(
        f"{GRANT_KEY_PREFIX}{grant.grant_id}",
        (
            context.state_spans("succeeded", "in force"),
            context.at_host(span(context.exact_line(grant.subject), "ink-strong"), host),
            span(grant_object(grant, context), "ink-strong"),
            span(lifetime_words(grant, context)),
            by,
            span("" if uses is None else str(uses)),
            span(format_age(last, context.now), "ink-muted"),
        ),
        values=(
            "in force", grant.subject, grant_object(grant, context), lifetime_words(grant, context),
            grant.ts.timestamp(), uses, last.timestamp() if last is not None else None,
        ),
    )  # fmt: skip


def _recent_rows(known: Sequence[HostPermissions], context: RenderContext) -> list[Row]:
    """Newest first; a row's key leads to its run and its node."""
    found = [(use, each.host) for each in known for use in each.found.recent]
    found.sort(key=lambda pair: pair[0].ts, reverse=True)
    keys: set[str] = set()
    rows: list[Row] = []
    for use, host in found:
        key = f"{USE_KEY_PREFIX}{use.run_id}:{use.ts}:{use.node_id}:{use.need}"
        while key in keys:
            key += "+"
        keys.add(key)
        rows.append(_use_row(key, use, host, context))
    return rows


def _use_row(key: str, use: GrantUse, host: str, context: RenderContext) -> Row:
    state, word = _HOW.get(use.how, ("pending", "?"))
    names = names_in(use.node_id)
    who = context.exact_line(names[-2] if len(names) > 1 else "".join(names))
    by = {"policy": "the configuration", "grant": f"grant {use.grant_id}"}.get(use.how, use.by)
    return Row(
        key,
        (
            context.state_spans(state, word),
            context.at_host(span(who), host),
            span(context.exact_line(use.need, 300)),
            span(context.sanitize_line(use.run_id, 40), "ink-muted"),
            span(context.sanitize_line(by, 60), "ink-muted"),
            (),
            span(format_age(use.ts, context.now), "ink-muted"),
        ),
        values=(word, who, use.need, use.run_id, by, None, use.ts.timestamp()),
        fault=state == "failed",
    )


def _rule_rows(known: Sequence[HostPermissions], context: RenderContext) -> list[Row]:
    found = [(rule, each.host) for each in known for rule in each.found.rules]
    return [_rule_row(number, rule, host, context) for number, (rule, host) in enumerate(found)]


def _rule_row(number: int, rule: PermissionRule, host: str, context: RenderContext) -> Row:
    state, word = _VERDICTS.get(rule.verdict, ("pending", "?"))
    what = "everything else" if rule.verb == "*" else f"{rule.verb}:{rule.pattern}" if rule.pattern else rule.verb
    note = "" if rule.in_force else "after a restart"
    ink = state_ink(state) if rule.in_force else "ink-muted"
    return Row(
        f"rule:{host}:{number}",
        (
            (Span(f"{context.glyphs.state[state]} {word}", ink),),
            context.at_host(span(context.exact_line(rule.subject)), host),
            span(context.exact_line(what, 300)),
            span(note, "severity-warning"),
            span(context.sanitize_line(short_source(rule.source), 120), "ink-muted"),
            (),
            (),
        ),
    )


def short_source(source: str) -> str:
    """`orbiter.toml:3` of a file's whole path and line."""
    path, colon, line = source.rpartition(":")
    return f"{path.rpartition('/')[2]}:{line}" if colon and line.isdecimal() else source


def held_by(known: Iterable[HostPermissions], grant_id: str) -> tuple[Grant | None, str]:
    """What is known of a grant's uses, and by which host; nothing, where nothing is."""
    found = ((grant, each.host) for each in known for grant in each.found.grants if grant.id == grant_id)
    return next(found, (None, ""))


def grant_lines(grant: GrantAdded, held: Grant | None, context: RenderContext) -> list[Spans]:
    """What a grant says, where it comes from, and how often it was used."""
    counted = pluralize(held.uses, "use") if held is not None else "not known how often it was used"
    by = f"{context.sanitize_line(grant.by.name, 60) or 'a rule'} ({grant.by.channel}), {local_time(grant.ts)}"
    answering = f", answering {context.sanitize_line(grant.incident_id, 60)}" if grant.incident_id else ""
    return [
        span(f" {grant_words(grant, context)}", "ink-strong", bold=True),
        (Span(f" {counted}; granted by {by}{answering}", "ink-muted"),),
    ]


def use_rows(uses: GrantUses | None, context: RenderContext) -> list[Row]:
    """Every remembered use of a grant, newest first: when, what exactly, by which node of which run."""
    found = uses.recent[::-1] if uses is not None else ()
    rows: list[Row] = []
    for number, use in enumerate(found):
        rows.append(
            Row(
                f"{number}:{use.run_id}",
                (
                    span(local_time(use.ts), "ink-muted"),
                    span(context.exact_line(use.need, 300)),
                    span(place_words(use.node_id, context), "ink-muted"),
                    span(context.sanitize_line(use.run_id, 60), "ink-accent"),
                ),
            )
        )
    return rows
