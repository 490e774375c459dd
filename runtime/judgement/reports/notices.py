"""Notices: which channel (bell, terminal, log, webhook) is told of an incident, and when; an outbox and its rules.

Pure.

Keyed by incident and revision, so that the same is not told twice, and at least once: what a crash kept from
being noted as sent is sent again. A storm makes one notice, not one for each event: after a notice, what comes within
the channel's quiet time is gathered into the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Self, get_args
from urllib.parse import urlsplit

from msgspec import Struct

from runtime.judgement.fault_handling import Channel, FaultHandling
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Severity

SEVERITY_RANK = tuple(Severity)
"""From quiet to loud."""


QUIET_S: Final = 10.0
"""How long, in seconds, a channel stays quiet after a notice: a storm makes one bell."""


class NoticeRules(Struct, frozen=True):
    """Which channel is told of what, by how loud it is. A channel that is not named is silent."""

    channels: Mapping[Channel, Severity] = {}
    webhook: str = ""
    """The address that is posted to."""
    quiet_s: float = QUIET_S
    """How long after a notice a channel stays silent; what comes meanwhile is gathered."""

    @classmethod
    def of_errors(cls, config: FaultHandling) -> Self:
        """Seed 003's settings: the channels that are told of what is critical or worse."""
        named = config.notification_channels if config.notify_on_critical_errors else ()
        return cls(dict.fromkeys(named, Severity.CRITICAL), config.webhook_url or "")

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any]) -> Self:
        """The rules in the words of the configuration: a severity for each channel, `webhook_url`, `quiet_seconds`.

        Raises:
            ValueError: a key, channel or severity is not known, or the webhook has no address.
        """
        known_channels: dict[str, Channel] = {each: each for each in get_args(Channel)}
        channels: dict[Channel, Severity] = {}
        for name, wanted in value.items():
            if name in ("webhook_url", "quiet_seconds"):
                continue
            if name not in known_channels:
                raise ValueError(f"notices has no {name!r}: the channels are {', '.join(known_channels)}")
            if wanted not in SEVERITY_RANK:
                known = ", ".join(each.value for each in SEVERITY_RANK)
                raise ValueError(f"notices.{name} is {wanted!r}: say from which severity on: {known}")
            channels[known_channels[name]] = Severity(wanted)
        url = str(value.get("webhook_url", ""))
        if "webhook" in channels and not _is_address(url):
            raise ValueError("notices.webhook needs notices.webhook_url, an http or https address")
        quiet = value.get("quiet_seconds", QUIET_S)
        if isinstance(quiet, bool) or not isinstance(quiet, int | float) or not 0 <= quiet <= 86_400:
            raise ValueError(f"notices.quiet_seconds is {quiet!r}: give a number of seconds, at most a day")
        return cls(channels, url, float(quiet))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is not a number
        return False


class Notice(Struct, frozen=True):
    """What one channel is to be told now."""

    channel: Channel
    incidents: tuple[ev.IncidentOpened, ...]
    titles: Mapping[str, str] = {}
    """Titles of their runs, by id, as far as they are known."""

    @property
    def keys(self) -> tuple[tuple[str, int], ...]:
        return tuple((opened.incident_id, opened.revision) for opened in self.incidents)

    def title(self) -> str:
        """``1 incident waits`` or ``17 incidents wait``."""
        count = len(self.incidents)
        return f"{count} incident{'' if count == 1 else 's'} wait{'s' if count == 1 else ''} for a person"

    def body(self, redact: Callable[[str], str] = str) -> str:
        """The first few, one line each, and how many more. `redact` is called before anything is cut: half of a secret
        is not found.
        """
        shown = [_line(opened, self.titles.get(opened.run_id, ""), redact) for opened in self.incidents[:3]]
        more = len(self.incidents) - len(shown)
        return "\n".join([*shown, f"and {more} more"] if more else shown)


def _line(opened: ev.IncidentOpened, title: str, redact: Callable[[str], str]) -> str:
    where = redact(" > ".join(opened.lineage[-2:]))
    run = f"{redact(' '.join(title.split()))[:80]}: " if title else ""
    text = redact(" ".join(opened.what.split()))
    return f"{opened.incident_id} {run}{where}: {text[:200]}"


class NoticeQueue:
    """What is still to be told, by channel. Feed it every event of the workspace and of the runs."""

    def __init__(self, rules: NoticeRules) -> None:
        self._rules = rules
        self._sent: dict[Channel, set[tuple[str, int]]] = {channel: set() for channel in rules.channels}
        self._unsent: dict[Channel, dict[str, ev.IncidentOpened]] = {channel: {} for channel in rules.channels}
        """What each channel is still to be told: kept up event by event, for there may be many thousands."""
        self._last: dict[Channel, datetime] = {}
        self._titles: dict[str, str] = {}

    def name_run(self, run_id: str, title: str) -> None:
        """Say what a run is called, for notices of its incidents. Forgotten once all channels were told of them."""
        self._titles[run_id] = title

    def add(self, opened: ev.IncidentOpened, title: str) -> None:
        """Take an incident that is open into account, of a run that is called `title`."""
        self.apply(opened)
        if any(opened.incident_id in unsent for unsent in self._unsent.values()):
            self.name_run(opened.run_id, title)

    def is_named(self, run_id: str) -> bool:
        return run_id in self._titles

    def apply(self, event: ev.JournalEvent) -> None:
        """Take one event into account. An incident that was answered before anybody was told needs no notice."""
        if isinstance(event, ev.IncidentOpened):
            if not event.unattended:
                self._add(event)
        elif isinstance(event, ev.IncidentAnswered | ev.IncidentClosed):
            self._drop(event.incident_id)
        elif isinstance(event, ev.RunFinished):
            self._titles.pop(event.run_id, None)
            for unsent in self._unsent.values():
                for incident_id in [key for key, each in unsent.items() if each.run_id == event.run_id]:
                    del unsent[incident_id]
        elif isinstance(event, ev.NoticeSent):
            for channel in self._sent:
                if channel == event.channel:
                    self._take_off(channel, event)
            waiting_runs = {each.run_id for unsent in self._unsent.values() for each in unsent.values()}
            self._titles = {run_id: title for run_id, title in self._titles.items() if run_id in waiting_runs}

    def _take_off(self, channel: Channel, notice: ev.NoticeSent) -> None:
        """What a channel was told of is not told there again."""
        unsent = self._unsent[channel]
        self._sent[channel].update(notice.incidents)
        for incident_id, revision in notice.incidents:
            if incident_id in unsent and unsent[incident_id].revision == revision:
                del unsent[incident_id]
        self._last[channel] = max(self._last.get(channel, notice.ts), notice.ts)

    def _add(self, opened: ev.IncidentOpened) -> None:
        for channel, unsent in self._unsent.items():
            severe = SEVERITY_RANK.index(opened.fault.severity) >= SEVERITY_RANK.index(self._rules.channels[channel])
            if severe and (opened.incident_id, opened.revision) not in self._sent[channel]:
                unsent[opened.incident_id] = opened
            else:
                unsent.pop(opened.incident_id, None)

    def _drop(self, incident_id: str) -> None:
        for unsent in self._unsent.values():
            unsent.pop(incident_id, None)

    def due(self, now: datetime) -> list[Notice]:
        """What is to be sent now. It stays due until a `NoticeSent` says that it was."""
        return [notice for channel in self._rules.channels if (notice := self._due(channel, now)) is not None]

    def next_at(self) -> datetime | None:
        """When something that is held back becomes due; None if nothing is."""
        times = [self._free_at(channel) for channel in self._rules.channels if self._unsent[channel]]
        return min((time for time in times if time is not None), default=None)

    def _due(self, channel: Channel, now: datetime) -> Notice | None:
        waiting = self._unsent[channel].values()
        free = self._free_at(channel)
        if not waiting or (free is not None and now < free):
            return None
        return Notice(channel, tuple(waiting), dict(self._titles))

    def _free_at(self, channel: Channel) -> datetime | None:
        last = self._last.get(channel)
        return last + timedelta(seconds=self._rules.quiet_s) if last is not None else None


def _terminal_safe(text: str) -> str:
    """No character that a terminal obeys or cannot be written to it, none that turns the line, no field's end."""
    return re.sub(r"[\0;]+", " ", "".join(char if char.isprintable() else "\0" for char in text))


_NO_WIDTH = "\u200b"
"""Zero width space: between two characters that mean something only together."""


def chat_safe(text: str) -> str:
    """A text of several lines as a chat program shows it: foreign words in it are no mention of a channel, no link with
    other words, and hide nothing. `&`, `<` and `>` as Slack escapes them (its manual, "Formatting text"): a receiver
    that reads no escapes shows them as they are. Mattermost, Rocket.Chat and Discord read `@` and Markdown's links: a
    character without width parts them.
    """
    shown = "\n".join("".join(c if c.isprintable() else " " for c in line) for line in text.split("\n"))
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace("@", f"@{_NO_WIDTH}").replace("](", f"]{_NO_WIDTH}(").replace("][", f"]{_NO_WIDTH}[")


def escape_sequences(notice: Notice, redact: Callable[[str], str] = str) -> str:
    """What tells a terminal: its title (OSC 2), a notice as iTerm2 (OSC 9) and as urxvt and others (777) read it."""
    title, body = _terminal_safe(notice.title()), _terminal_safe(notice.body(redact))[:200]
    return f"\x1b]2;{title}\x07\x1b]9;{title}: {body}\x07\x1b]777;notify;{title};{body}\x07"
