"""The digest: what happened since an operator last looked, as a fold of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from runtime.record.state import events as ev


class Digest(BaseModel):
    """What came since `since` (None: ever). Runs by the state in which they ended; answers by who gave them."""

    model_config = ConfigDict()
    since: datetime | None = None
    until: datetime | None = None
    started: int = 0
    ended: dict[str, int] = Field(default_factory=dict)
    opened: int = 0
    open_now: int = 0
    answered_by: dict[str, int] = Field(default_factory=dict)
    by_rule: int = 0
    closed: int = 0
    groups: dict[str, int] = Field(default_factory=dict)
    """Incidents that opened, by their message, the most frequent first."""
    grants: int = 0
    revoked: int = 0
    cost_usd: float | None = None
    lost: tuple[str, ...] = ()
    """What the journal was found to have lost."""
    reread: tuple[str, ...] = ()
    """Patterns that mean something else than before, with both readings."""
    runs: tuple[str, ...] = ()
    """Ids of the runs in which something happened."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to say. Steps alone, of runs that go on, are no news."""
        return not self.sentences()

    def sentences(self) -> list[str]:
        """The digest in words, one line for each kind of thing."""
        frozen = "everything was frozen: look, then thaw"
        lines = [f"the journal has lost its newest events ({each}), and {frozen}" for each in self.lost]
        lines += [f"a pattern became stricter: {each}" for each in self.reread]
        lines += [f"{self.started} run{_plural_s(self.started)} started"] if self.started else []
        lines += [f"{count} run{_plural_s(count)} {state}" for state, count in self.ended.items()]
        if self.opened:
            lines.append(f"{self.opened} incident{_plural_s(self.opened)} opened, {self.open_now} open now")
        lines += [f"{who} answered {count}" for who, count in self.answered_by.items()]
        if self.by_rule:
            lines.append(f"{self.by_rule} answered by rule (a deadline, or nobody to ask)")
        if self.closed:
            lines.append(f"{self.closed} closed by themselves")
        if self.grants or self.revoked:
            lines.append(f"{self.grants} grant{_plural_s(self.grants)} given, {self.revoked} taken back")
        if self.cost_usd is not None:
            lines.append(f"${self.cost_usd:.4f} spent")
        return lines


def _plural_s(count: int) -> str:
    return "" if count == 1 else "s"


def build_digest(
    streams: Iterable[Iterable[ev.JournalEvent]], since: datetime | None, until: datetime | None = None
) -> Digest:
    """The digest of several streams (the workspace's, and each run's), each whole and in order."""
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
            people[event.by.name or "somebody"] += 1
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
