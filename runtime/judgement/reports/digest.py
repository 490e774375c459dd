"""The digest: what happened since an operator last looked, as a fold of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime

from runtime.judgement.amounts import format_cost
from runtime.judgement.reports.report_types import Digest
from runtime.record.state import events as ev


def _sentences(made: Digest) -> Iterator[str]:
    """The digest in words, one line for each kind of thing."""
    frozen = "everything was frozen: look, then thaw"
    yield from (f"the journal has lost its newest events ({each}), and {frozen}" for each in made.lost)
    yield from (f"a pattern became stricter: {each}" for each in made.reread)
    if made.started:
        yield f"{made.started} run{_plural_s(made.started)} started"
    yield from (f"{count} run{_plural_s(count)} {state}" for state, count in made.ended.items())
    if made.opened:
        yield f"{made.opened} incident{_plural_s(made.opened)} opened, {made.open_now} open now"
    yield from (f"{who} answered {count}" for who, count in made.answered_by.items())
    if made.by_rule:
        yield f"{made.by_rule} answered by rule (a deadline, or no operator to ask)"
    if made.closed:
        yield f"{made.closed} closed by themselves"
    if made.grants or made.revoked:
        yield f"{made.grants} grant{_plural_s(made.grants)} given, {made.revoked} taken back"
    if made.cost_usd is not None:
        yield f"{format_cost(made.cost_usd)} spent"


def _plural_s(count: int) -> str:
    return "" if count == 1 else "s"


def build_digest(
    streams: Iterable[Iterable[ev.JournalEvent]],
    since: datetime | None,
    until: datetime | None = None,
    *,
    open_now: int | None = None,
) -> Digest:
    """The digest of several streams (the workspace's, and each run's), each whole and in order.

    `open_now`: how many incidents are open by now; None: those of these streams.
    """
    made = Digest(since=since, until=until)
    ended: Counter[str] = Counter()
    people: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    runs: dict[str, None] = {}
    for stream in streams:
        waiting: set[str] = set()
        for event in stream:
            _follow(waiting, event)
            if (since is not None and event.ts <= since) or (until is not None and event.ts > until):
                continue
            if event.run_id not in ("", ev.WORKSPACE_RUN_ID):
                runs[event.run_id] = None
            _count(made, event, ended, people, groups)
        made.open_now += len(waiting)
    made.ended, made.answered_by = dict(ended.most_common()), dict(people.most_common())
    made.groups, made.runs = dict(groups.most_common(10)), tuple(runs)
    made.open_now = made.open_now if open_now is None else open_now
    made.sentences = tuple(_sentences(made))
    made.empty = not made.sentences
    return made


def _follow(waiting: set[str], event: ev.JournalEvent) -> None:
    if isinstance(event, ev.IncidentOpened):
        waiting.add(event.incident_id)
    elif isinstance(event, ev.IncidentAnswered | ev.IncidentClosed):
        waiting.discard(event.incident_id)
    elif isinstance(event, ev.RunFinished):
        waiting.clear()


def _count(
    made: Digest, event: ev.JournalEvent, ended: Counter[str], people: Counter[str], groups: Counter[str]
) -> None:
    if isinstance(event, ev.RunCreated):
        made.started += 1
    elif isinstance(event, ev.RunFinished):
        ended[event.state] += 1
    elif isinstance(event, ev.IncidentOpened):
        made.opened += 1
        groups[(event.question or event.message)[:200]] += 1
    elif isinstance(event, ev.IncidentAnswered):
        if event.by.channel == "rule":
            made.by_rule += 1
        else:
            people[event.by.name or "an operator"] += 1
    elif isinstance(event, ev.IncidentClosed):
        made.closed += 1
    elif isinstance(event, ev.GrantAdded):
        made.grants += 1
    elif isinstance(event, ev.GrantRevoked):
        made.revoked += 1
    elif isinstance(event, ev.EventsLost):
        made.lost += (event.detail,)
    elif isinstance(event, ev.PatternReread):
        made.reread += (f"{event.what} (before: {event.before}; now: {event.now})",)
    elif isinstance(event, ev.StepEnded | ev.AnalysisAdded) and event.cost_usd is not None:
        made.cost_usd = (made.cost_usd or 0.0) + event.cost_usd


def last_look(workspace: Iterable[ev.JournalEvent], who: str) -> datetime | None:
    """When this operator last looked; None if never."""
    found = [event.ts for event in workspace if isinstance(event, ev.OperatorLooked) and event.by.name == who]
    return found[-1] if found else None
