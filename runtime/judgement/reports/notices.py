"""Notices: which channel (bell, terminal, log, webhook) is told of an incident, and when; an outbox and its rules.

Pure.

Keyed by incident and revision, so that nobody is told of the same twice, and at least once: what a crash kept from
being noted as sent is sent again. A storm makes one notice, not one for each event: after a notice, what comes within
the channel's quiet time is gathered into the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Self, get_args
from urllib.parse import urlsplit

from runtime.judgement.error_config import ErrorHandlingConfig
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Severity

Channel = Literal["bell", "terminal", "log", "webhook"]
"""bell: rings. terminal: its title, and a notice of its own (OSC 9, OSC 777). log: the runtime's. webhook: a POST."""

SEVERITY_RANK = tuple(Severity)
"""From quiet to loud."""


QUIET_S: Final = 10.0
"""How long, in seconds, a channel stays quiet after a notice: a storm makes one bell."""


@dataclass(slots=True, frozen=True)
class NoticeRules:
    """Which channel is told of what, by how loud it is. A channel that is not named is silent."""

    channels: Mapping[Channel, Severity] = field(default_factory=dict)
    webhook: str = ""
    """The address that is posted to."""
    quiet_s: float = QUIET_S
    """How long after a notice a channel stays silent; what comes meanwhile is gathered."""

    @classmethod
    def of_errors(cls, config: ErrorHandlingConfig) -> Self:
        """Seed 003's settings: the channels that are told of what is critical or worse."""
        known: dict[str, Channel] = {each: each for each in get_args(Channel)}
        named = config.notification_channels if config.notify_on_critical_errors else ()
        return cls({known[name]: Severity.CRITICAL for name in named if name in known}, config.webhook_url or "")

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
    except ValueError:  # brackets that do not close, a port that is none
        return False


@dataclass(slots=True, frozen=True)
class Notice:
    """What one channel is to be told now."""

    channel: Channel
    incidents: tuple[ev.IncidentOpened, ...]

    @property
    def keys(self) -> tuple[tuple[str, int], ...]:
        return tuple((opened.incident_id, opened.revision) for opened in self.incidents)

    def title(self) -> str:
        """``1 incident waits`` or ``17 incidents wait``."""
        count = len(self.incidents)
        return f"{count} incident{'' if count == 1 else 's'} wait{'s' if count == 1 else ''} for a person"

    def body(self) -> str:
        """The first few, one line each, and how many more."""
        shown = [_line(opened) for opened in self.incidents[:3]]
        more = len(self.incidents) - len(shown)
        return "\n".join([*shown, f"and {more} more"] if more else shown)


def _line(opened: ev.IncidentOpened) -> str:
    where = " > ".join(opened.lineage[-2:])
    text = " ".join((opened.question or opened.message).split())
    return f"{opened.incident_id} {where}: {text[:200]}"


class Outbox:
    """What is still to be told, by channel. Feed it every event of the workspace and of the runs."""

    def __init__(self, rules: NoticeRules) -> None:
        self._rules = rules
        self._open: dict[str, ev.IncidentOpened] = {}
        self._sent: dict[Channel, set[tuple[str, int]]] = {channel: set() for channel in rules.channels}
        self._last: dict[Channel, datetime] = {}

    def apply(self, event: ev.JournalEvent) -> None:
        """Take one event into account. An incident that was answered before anybody was told needs no notice."""
        if isinstance(event, ev.IncidentOpened):
            if not event.unattended:
                self._open[event.incident_id] = event
        elif isinstance(event, ev.IncidentAnswered | ev.IncidentClosed):
            self._open.pop(event.incident_id, None)
        elif isinstance(event, ev.RunFinished):
            for incident_id in [key for key, each in self._open.items() if each.run_id == event.run_id]:
                del self._open[incident_id]
        elif isinstance(event, ev.NoticeSent):
            for channel, sent in self._sent.items():
                if channel == event.channel:
                    sent.update(event.incidents)
                    self._last[channel] = max(self._last.get(channel, event.ts), event.ts)

    def due(self, now: datetime) -> list[Notice]:
        """What is to be sent now. It stays due until a `NoticeSent` says that it was."""
        return [notice for channel in self._rules.channels if (notice := self._due(channel, now)) is not None]

    def next_at(self) -> datetime | None:
        """When something that is held back becomes due; None if nothing is."""
        times = [self._free_at(channel) for channel in self._rules.channels if self._waiting(channel)]
        return min((time for time in times if time is not None), default=None)

    def _due(self, channel: Channel, now: datetime) -> Notice | None:
        waiting = self._waiting(channel)
        free = self._free_at(channel)
        if not waiting or (free is not None and now < free):
            return None
        return Notice(channel, tuple(waiting))

    def _waiting(self, channel: Channel) -> list[ev.IncidentOpened]:
        least = SEVERITY_RANK.index(self._rules.channels[channel])
        sent = self._sent[channel]
        return [
            opened
            for opened in self._open.values()
            if (opened.incident_id, opened.revision) not in sent and SEVERITY_RANK.index(opened.fault.severity) >= least
        ]

    def _free_at(self, channel: Channel) -> datetime | None:
        last = self._last.get(channel)
        return last + timedelta(seconds=self._rules.quiet_s) if last is not None else None


def _terminal_safe(text: str) -> str:
    """No character that a terminal obeys or cannot be written to it, none that turns the line, no field's end."""
    return re.sub(r"[\0;]+", " ", "".join(char if char.isprintable() else "\0" for char in text))


def escape_sequences(notice: Notice, redact: Callable[[str], str] = str) -> str:
    """What tells a terminal: its title (OSC 2), a notice as iTerm2 (OSC 9) and as urxvt and others (777) read it."""
    title, body = _terminal_safe(notice.title()), _terminal_safe(redact(notice.body()))[:200]
    return f"\x1b]2;{title}\x07\x1b]9;{title}: {body}\x07\x1b]777;notify;{title};{body}\x07"
