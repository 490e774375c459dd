"""Rows of the grants page: grants, their recent uses and denials, rules of the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from runtime.record.state.events import GrantAdded
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

COLUMNS: Final = (
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
    """What one host's runtime said of its permissions: the answer of `permissions`, and the host's name."""

    host: str
    uses: Mapping[str, Mapping[str, Any]]
    recent: Sequence[Mapping[str, Any]]
    rules: Sequence[Mapping[str, Any]]

    @classmethod
    def parse(cls, answer: Mapping[str, Any], host: str = "") -> HostPermissions:
        """Raises `KeyError` for what is no answer of `permissions`."""
        return cls(host, {each["id"]: each for each in answer["grants"]}, answer["recent"], answer["rules"])


def ledger_rows(grants: Mapping[str, GrantAdded], known: Iterable[HostPermissions], looks: RenderContext) -> list[Row]:
    """Three groups, each under its heading, without those that are empty. `grants` are those in force by now; what was
    `known` a moment ago says how often each was used.
    """
    known = list(known)
    return with_headings(
        (
            Part("Grants in force", "state-succeeded", [grant_row(grant, known, looks) for grant in grants.values()]),
            Part("Lately used or denied", "state-running", _recent_rows(known, looks)),
            Part("Rules of orbiter.toml, read only", "ink-muted", _rule_rows(known, looks)),
        )
    )


def grant_words(grant: GrantAdded, looks: RenderContext) -> str:
    """`keeper may fs.write:/data/**, in this run`: what a grant says, on one line and clean."""
    who = "every agent" if grant.subject == "*" else looks.line(grant.subject, 60)
    return f"{who} may {grant_object(grant, looks)}, {lifetime_words(grant, looks)}"


def grant_object(grant: GrantAdded, looks: RenderContext) -> str:
    """`fs.write:/data/**`."""
    return looks.line(f"{grant.verb}:{grant.pattern}" if grant.pattern else grant.verb, 300)


def lifetime_words(grant: GrantAdded, looks: RenderContext) -> str:
    """`run run-1`, `swarm digest.py:swarm`, `always`, each with its date if it has one; times in the local zone."""
    scope = f" {looks.line(grant.scope.rpartition('/')[2], 60)}" if grant.scope else ""
    until = f" until {local_time(grant.until)[:16]}" if grant.until is not None else ""
    return f"{grant.lifetime}{scope}{until}"


def local_time(at: datetime) -> str:
    """`2026-11-20 10:00:00` in the zone of whoever looks."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def grant_row(grant: GrantAdded, known: Iterable[HostPermissions], looks: RenderContext) -> Row:
    """One grant in force."""
    held, host = held_by(known, grant.grant_id)
    uses, last = held.get("uses"), parse_instant(held.get("last_used"))
    by = join_spans(
        (span(looks.line(grant.by.name, 40) or "a rule"), span(format_ago(grant.ts, looks.now), "ink-muted")), " "
    )
    return Row(
        f"{GRANT_KEY_PREFIX}{grant.grant_id}",
        (
            looks.state("succeeded", "in force"),
            at_host(span(looks.line(grant.subject, 60), "ink-strong"), host, looks),
            span(grant_object(grant, looks), "ink-strong"),
            span(lifetime_words(grant, looks)),
            by,
            span("" if uses is None else str(uses)),
            span(format_age(last, looks.now), "ink-muted"),
        ),
        values=(
            "in force", grant.subject, grant_object(grant, looks), lifetime_words(grant, looks),
            grant.ts.timestamp(), uses, last.timestamp() if last is not None else None,
        ),
    )  # fmt: skip


def _recent_rows(known: Sequence[HostPermissions], looks: RenderContext) -> list[Row]:
    """Newest first; a row's key leads to its run and its node."""
    found = [(use, each.host) for each in known for use in each.recent]
    found.sort(key=lambda pair: str(pair[0]["ts"]), reverse=True)
    keys: set[str] = set()
    rows: list[Row] = []
    for use, host in found:
        key = f"{USE_KEY_PREFIX}{use['run_id']}:{use['ts']}:{use['node_id']}:{use['need']}"
        while key in keys:
            key += "+"
        keys.add(key)
        rows.append(_use_row(key, use, host, looks))
    return rows


def _use_row(key: str, use: Mapping[str, Any], host: str, looks: RenderContext) -> Row:
    state, word = _HOW.get(str(use["how"]), ("pending", "?"))
    at, run_id, node_id = parse_instant(use["ts"]), str(use["run_id"]), str(use["node_id"])
    names = names_in(node_id)
    who = looks.line(names[-2] if len(names) > 1 else "".join(names), 60)
    by = {"policy": "the configuration", "grant": f"grant {use['grant_id']}"}.get(str(use["how"]), str(use["by"]))
    return Row(
        key,
        (
            looks.state(state, word),
            at_host(span(who), host, looks),
            span(looks.line(str(use["need"]), 300)),
            span(looks.line(run_id, 40), "ink-muted"),
            span(looks.line(by, 60), "ink-muted"),
            (),
            span(format_age(at, looks.now), "ink-muted"),
        ),
        values=(word, who, str(use["need"]), run_id, by, None, at.timestamp() if at is not None else None),
        fault=state == "failed",
    )


def _rule_rows(known: Sequence[HostPermissions], looks: RenderContext) -> list[Row]:
    found = [(rule, each.host) for each in known for rule in each.rules]
    return [_rule_row(number, rule, host, looks) for number, (rule, host) in enumerate(found)]


def _rule_row(number: int, rule: Mapping[str, Any], host: str, looks: RenderContext) -> Row:
    state, word = _VERDICTS.get(str(rule["verdict"]), ("pending", "?"))
    pattern = rule["pattern"]
    what = "everything else" if rule["verb"] == "*" else f"{rule['verb']}:{pattern}" if pattern else str(rule["verb"])
    note = "" if rule["in_force"] else "after a restart"
    ink = state_ink(state) if rule["in_force"] else "ink-muted"
    return Row(
        f"rule:{host}:{number}",
        (
            (Span(f"{looks.glyphs.state[state]} {word}", ink),),
            at_host(span(looks.line(str(rule["subject"]), 60)), host, looks),
            span(looks.line(what, 300)),
            span(note, "severity-warning"),
            span(looks.line(short_source(str(rule["source"])), 120), "ink-muted"),
            (),
            (),
        ),
    )


def short_source(source: str) -> str:
    """`orbiter.toml:3` of a file's whole path and line."""
    path, colon, line = source.rpartition(":")
    return f"{path.rpartition('/')[2]}:{line}" if colon and line.isdecimal() else source


def held_by(known: Iterable[HostPermissions], grant_id: str) -> tuple[Mapping[str, Any], str]:
    """What is known of a grant's uses, and by which host; nothing, where nothing is."""
    return next(((each.uses[grant_id], each.host) for each in known if grant_id in each.uses), ({}, ""))


def grant_lines(grant: GrantAdded, held: Mapping[str, Any], looks: RenderContext) -> list[Spans]:
    """What a grant says, where it comes from, and how often it was used."""
    counted = pluralize(int(held["uses"]), "use") if held else "not known how often it was used"
    by = f"{looks.line(grant.by.name, 60) or 'a rule'} ({grant.by.channel}), {local_time(grant.ts)}"
    answering = f", answering {looks.line(grant.incident_id, 60)}" if grant.incident_id else ""
    return [
        span(f" {grant_words(grant, looks)}", "ink-strong", bold=True),
        (Span(f" {counted}; granted by {by}{answering}", "ink-muted"),),
    ]


def use_rows(uses: Mapping[str, Any] | None, looks: RenderContext) -> list[Row]:
    """Every remembered use of a grant, newest first: when, what exactly, by which node of which run."""
    found = list(uses["recent"])[::-1] if uses is not None else []
    rows: list[Row] = []
    for number, use in enumerate(found):
        at = parse_instant(use["ts"])
        rows.append(
            Row(
                f"{number}:{use['run_id']}",
                (
                    span(local_time(at) if at is not None else "", "ink-muted"),
                    span(looks.line(str(use["need"]), 300)),
                    span(place_words(str(use["node_id"]), looks), "ink-muted"),
                    span(looks.line(str(use["run_id"]), 60), "ink-accent"),
                ),
            )
        )
    return rows


def at_host(who: Spans, host: str, looks: RenderContext) -> Spans:
    """Behind the name of the host, where there are several."""
    return join_spans((span(looks.line(host, 40), "ink-muted"), who), looks.glyphs.dot) if host else who


def parse_instant(text: Any) -> datetime | None:
    """A time as JSON has it. Raises `ValueError` for what is none."""
    return datetime.fromisoformat(str(text)).astimezone(UTC) if text else None
