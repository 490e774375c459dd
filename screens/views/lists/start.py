"""The form that starts a run: its suggestions, and how its fields are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from runtime.judgement.recovery.budget import Budget, checked_limits
from runtime.record.state.durable_run import Summary
from screens.render.layout import Column, Row, Spans, span
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter
from screens.views.shared.row_sort import LONG_AGO

SUGGESTION_COLUMNS = (
    Column("swarm", width=30, grow=1),
    Column("kind", width=21, drop=1),
    Column("from", width=10, drop=2),
)


def known_refs(summaries: Iterable[Summary], root: str = "") -> list[str]:
    """The references of earlier runs, the latest first; those below `root` relative to it. One that cannot be shown as
    it is cannot be typed either.
    """
    newest = sorted(summaries, key=lambda found: (found.created_at or LONG_AGO, found.id), reverse=True)
    below = f"{root.rstrip('/')}/" if root else ""
    refs = (found.ref.removeprefix(below) if below else found.ref for found in newest)
    return list(dict.fromkeys(ref for ref in refs if ref and ref.isprintable()))


def suggested_refs(
    typed: str, known: Sequence[str], found: Sequence[str], context: RenderContext, kinds: Mapping[str, str] = {}
) -> list[Row]:
    """References that have what was typed: those that were run before it first, then those of the workspace's files.
    `kinds` says what they are, where that is known.
    """
    means = RowFilter(typed.strip()).matches
    refs = dict.fromkeys(known, "run before") | dict.fromkeys((ref for ref in found if ref not in known), "not run yet")
    return [
        Row(ref, (span(context.sanitize_line(ref, 300)), kind_spans(ref, kinds, context), span(source, "ink-muted")))
        for ref, source in refs.items()
        if ref != typed and ref.isprintable() and means(ref)
    ]


def kind_spans(ref: str, kinds: Mapping[str, str], context: RenderContext) -> Spans:
    """What is behind a reference: ``agent (pydantic-ai)``; empty where that is not known."""
    return span(context.sanitize_line(kinds.get(ref, ""), 40), "ink-muted")


class InvalidLimits(ValueError):
    """A limit that does not exist, or is not written as a name and a number."""


LIMIT_NAMES = tuple(Budget.model_fields)
"""What a run's limits are called."""


def parse_limits(text: str) -> Mapping[str, float]:
    """Limits by name, from `max_steps=20 max_total_cost_usd=0.5`.

    Raises:
        InvalidLimits: one is not written so, there is none of this name, or it cannot have this value.
    """
    found: dict[str, float] = {}
    for each in text.replace(",", " ").split():
        name, _, number = each.partition("=")
        try:
            found[name] = int(number) if number.lstrip("+-").isdigit() else float(number)
        except ValueError as exc:
            raise InvalidLimits(f"{each}: write name=number, such as max_steps=20") from exc
        try:
            checked_limits({name: found[name]})
        except ValueError as exc:
            raise InvalidLimits(str(exc)) from exc
    return found


def complete_limit(text: str) -> str:
    """`text` with the limit that is being typed at its end written out; empty where nothing is to be added."""
    begun = text.replace(",", " ").rpartition(" ")[2]
    name = next((name for name in LIMIT_NAMES if begun and name.startswith(begun)), "")
    return f"{text.removesuffix(begun)}{name}=" if name else ""


def mistake_in(host: str, hosts: Sequence[str], limits: str) -> tuple[str, str]:
    """The field that something is wrong with, and what; both empty where nothing is."""
    if host and host not in hosts:
        return "host", f"no host is called {host}; there are: {', '.join(hosts)}"
    try:
        parse_limits(limits)
    except InvalidLimits as exc:
        return "limits", str(exc)
    return "", ""
