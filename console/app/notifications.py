"""Rings the bell, sends terminal notices, sets the title. When the bell rings: `runtime.judgement.reports.notices`.

A storm makes one notice, not one for each event.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from console.terminal.escape_sequences import title_sequence, wrap_for_multiplexer
from runtime.judgement.reports.notices import NoticeRules, Outbox, escape_sequences
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Severity
from screens.render.formatting import pluralize
from screens.shell.context import Link

log = logging.getLogger(__name__)


def _redacted(text: str) -> str:
    from orbiter.redaction import Redactor, environment_secrets  # not before something is told

    return Redactor(secrets=environment_secrets()).text(text)


CONSOLE_CHANNELS: Final = ("bell", "terminal")
"""Channels of a console; the others are the runtime's."""


def console_rules(configured: Mapping[str, Any]) -> NoticeRules:
    """Which channel of a console is told from which severity on: as `[notices]` says, else both of everything. What
    cannot be is the runtime's to refuse, which reads the same section: a console that is there already tells of all.
    """
    named = {name: value for name, value in configured.items() if name not in ("log", "webhook", "webhook_url")}
    if not configured.keys() & {"bell", "terminal", "log", "webhook"}:
        named.update(dict.fromkeys(CONSOLE_CHANNELS, Severity.INFO))
    try:
        return NoticeRules.from_mapping(named)
    except ValueError as exc:
        log.warning("every decision is told of: %s", exc)
        return NoticeRules.from_mapping(dict.fromkeys(CONSOLE_CHANNELS, Severity.INFO))


class Notifications:
    """Looks at the open decisions whenever something changed. `ring` rings; `write` writes to the terminal, as it is
    (None: only the bell). `name` is what the title says besides the count of decisions; empty: the title is left alone.
    """

    def __init__(
        self,
        rules: NoticeRules,
        *,
        ring: Callable[[], None],
        write: Callable[[str], None] | None = None,
        name: str = "",
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = ev.utc_now,
    ) -> None:
        self._outbox = Outbox(rules)
        self._ring = ring
        self._write = write
        self._name = name
        self._environment = environment or {}
        self._clock = clock
        self._known: frozenset[str] = frozenset()
        self._heard = False
        self._title = ""

    def set_rules(self, rules: NoticeRules) -> None:
        """From now on these rules hold; what waited under the old ones is on the screen anyhow."""
        self._outbox = Outbox(rules)

    def update(self, link: Link) -> float | None:
        """Tell what is new. Seconds until something that is held back is due; None if nothing is."""
        if not link.ready:
            return None
        self._track(link)
        told = False
        now = self._clock()
        for notice in self._outbox.due(now):
            if notice.channel == "bell":
                self._ring()
            elif self._write is not None:
                self._write(wrap_for_multiplexer(escape_sequences(notice, _redacted), self._environment))
                told = True
            self._outbox.apply(ev.NoticeSent(channel=notice.channel, incidents=notice.keys, ts=now))
        self._set_title(len(link.incidents), changed=told)
        held = self._outbox.next_at()
        return None if held is None else max(0.05, (held - now).total_seconds())

    def _track(self, link: Link) -> None:
        """What came and what went; of what was waiting when we came nobody is told."""
        now = frozenset(link.incidents)
        fresh = [link.incidents[key].opened for key in link.incidents if key not in self._known]
        for opened in fresh:
            self._outbox.apply(opened)
        for key in self._known - now:
            self._outbox.apply(ev.IncidentClosed(incident_id=key, reason="is not open any more"))
        if not self._heard:
            seen = tuple((opened.incident_id, opened.revision) for opened in fresh)
            for channel in CONSOLE_CHANNELS:
                self._outbox.apply(ev.NoticeSent(channel=channel, incidents=seen, ts=datetime.min.replace(tzinfo=UTC)))
        self._known, self._heard = now, True

    def _set_title(self, waiting: int, *, changed: bool) -> None:
        """A notice may have set the title to its own words."""
        if not self._name or self._write is None:
            return
        words = f"{pluralize(waiting, 'decision')} - {self._name}" if waiting else self._name
        if words != self._title or changed:
            self._title = words
            self._write(title_sequence(words))
