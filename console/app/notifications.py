"""Rings the bell, sends terminal notices, sets the title. When the bell rings: `runtime.judgement.reports.notices`.

A storm makes one notice, not one for each event.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, get_args

from textual.app import App

from console.terminal.escape_sequences import title_sequence, wrap_for_multiplexer
from runtime.judgement.fault_handling import Channel
from runtime.judgement.reports.notices import NoticeQueue, NoticeRules, escape_sequences
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Severity
from screens.render.formatting import pluralize
from screens.shell.context import Link
from screens.shell.timer import Alarm

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
    channels = set(get_args(Channel))
    runtimes = channels - {*CONSOLE_CHANNELS} | {"webhook_url"}
    named = {name: value for name, value in configured.items() if name not in runtimes}
    if not configured.keys() & channels:
        named.update(dict.fromkeys(CONSOLE_CHANNELS, Severity.INFO))
    try:
        return NoticeRules.from_mapping(named)
    except ValueError as exc:
        log.warning("the rules for notices are wrong, so every decision gives one: %s", exc)
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
        self._notices = NoticeQueue(rules)
        self._ring = ring
        self._write = write
        self._name = name
        self._environment = environment or {}
        self._clock = clock
        self._known: frozenset[str] = frozenset()
        self._heard = False
        self._loading: frozenset[str] = frozenset()
        """Hosts of which parts were missing at the last look."""
        self._title = ""

    def set_rules(self, rules: NoticeRules) -> None:
        """From now on these rules hold; what waited under the old ones is on the screen anyhow."""
        self._notices = NoticeQueue(rules)

    def update(self, link: Link) -> float | None:
        """Tell what is new. Seconds until something that is held back is due; None if nothing is."""
        if not link.ready:
            return None
        self._track(link)
        told = False
        now = self._clock()
        for notice in self._notices.due(now):
            if notice.channel == "bell":
                self._ring()
            elif self._write is not None:
                self._write(wrap_for_multiplexer(escape_sequences(notice, _redacted), self._environment))
                told = True
            self._notices.apply(ev.NoticeSent(channel=notice.channel, incidents=notice.keys, ts=now))
        self._set_title(len(link.incidents), partial=bool(link.loading), changed=told)
        held = self._notices.next_at()
        return None if held is None else max(0.05, (held - now).total_seconds())

    def _track(self, link: Link) -> None:
        """Notify of incidents that came and went; what was waiting when we connected gives no notification, and it may
        come in parts. Asked for each change of a link, with thousands of incidents: mostly none came and none went.
        """
        loading = frozenset(link.loading)
        told_late, self._loading = self._loading | loading, loading
        if self._heard and self._known == link.incidents.keys():
            return
        now = frozenset(link.incidents)
        rows = [row for key, row in link.incidents.items() if key not in self._known]
        fresh = [row for row in rows if not (told_late and link.host_of(row.run_id) in {"", *told_late})]
        fresh = fresh if self._heard else []
        for row in fresh:
            self._notices.name_run(row.opened.run_id or row.run_id, row.title)
            self._notices.apply(row.opened)
        if len(fresh) < len(rows):  # there may be thousands, and their events are not needed
            told = {row.opened.incident_id for row in fresh}
            seen = tuple(
                (row.opened.incident_id, row.opened.revision) for row in rows if row.opened.incident_id not in told
            )
            for channel in CONSOLE_CHANNELS:
                self._notices.apply(ev.NoticeSent(channel=channel, incidents=seen, ts=datetime.min.replace(tzinfo=UTC)))
        for key in self._known - now:
            self._notices.apply(ev.IncidentClosed(incident_id=key, reason="is not open any more"))
        self._known, self._heard = now, True

    def _set_title(self, waiting: int, *, partial: bool, changed: bool) -> None:
        """A notice may have set the title to its own words."""
        if not self._name or self._write is None:
            return
        count = f"{waiting}+ decisions" if partial else pluralize(waiting, "decision")
        words = f"{count} - {self._name}" if waiting else self._name
        if words != self._title or changed:
            self._title = words
            self._write(title_sequence(words))


class NoticeBell:
    """Rings for decisions that were not there a moment ago, from `begin` on. Owned by the app.

    Args:
        app: Its bell rings.
        write: Writes to the terminal; None: only the bell.
        title: What the terminal's title says besides the count of decisions; empty: the title is left alone.
    """

    def __init__(self, app: App[Any], *, write: Callable[[str], None] | None, title: str) -> None:
        self._app = app
        self._write = write
        self._title = title
        self._link: Link | None = None
        self._notices: Notifications | None = None
        self._standing: object = None
        """Where the link's picture stood when it was last looked at."""
        self._alarm = Alarm(app, self._ring)

    def begin(self, link: Link, configured: Mapping[str, Any]) -> None:
        """Tell from now on what is new on a link, as `[notices]` says."""
        self._link = link
        self._notices = Notifications(
            console_rules(configured),
            ring=lambda: self._app.bell(),  # noqa: PLW0108 - looked up when it rings
            write=self._write,
            name=self._title,
            environment=os.environ,
        )
        link.subscribe(self._changed)
        self._changed()

    def set_rules(self, rules: NoticeRules) -> None:
        """From now on these rules hold."""
        if self._notices is not None:
            self._notices.set_rules(rules)

    def _changed(self) -> None:
        """Something changed: of a run that is watched, a thousand times a second, or of the inbox, which may ring. What
        comes of a first picture is looked at when it begins and when it is whole.
        """
        if self._link is None:
            return
        standing = (self._link.position, tuple(self._link.loading))
        if standing != self._standing:
            self._standing = standing
            self._ring()

    def _ring(self) -> None:
        """Bell, notice and title; again when something that is held back is due."""
        if self._notices is None or self._link is None:
            return
        held = self._notices.update(self._link)
        if held is None:
            self._alarm.stop()
        else:
            self._alarm.set(held)
