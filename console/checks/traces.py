"""Traces: whether they are sent, where to, and what keeps them back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from console.checks.finding import CheckContext, Finding
from orbiter.errors import ConfigurationError
from runtime.config.loader import load_configuration
from runtime.record.journal import JournalError
from runtime.record.places import journal_exists, open_journal
from runtime.record.state import events as ev
from runtime.worker.telemetry.cursor import last_word
from runtime.worker.telemetry.switches import extra_installed
from screens.render.sanitize import sanitize_line

_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def check_traces(world: CheckContext) -> Iterator[Finding]:
    """Reads the journal; sends nothing."""
    try:
        settings = load_configuration(world.place.root, world.environment).traces
    except ConfigurationError as exc:
        yield Finding("traces", "fail", str(exc), "correct the file")
        return
    if settings is None:
        yield Finding("traces", "ok", "not sent: [otel] enabled is false")
        return
    if not extra_installed():
        told = "[otel] enabled is true, but the packages that send them are missing"
        yield Finding("traces", "fail", told, "pip install 'orbiter-console[otel]'")
        return
    where = next((found for name in _VARIABLES if (found := world.environment.get(name))), "http://localhost:4318")
    address = urlsplit(where)
    if address.scheme not in ("http", "https") or not address.hostname:
        told = f"the receiver's address {sanitize_line(where)!r} does not begin with http:// or https:// and a host"
        yield Finding("traces", "fail", told, "set OTEL_EXPORTER_OTLP_ENDPOINT, for example to http://localhost:4318")
        return
    receiver = sanitize_line(f"{address.scheme}://{address.hostname}" + (f":{address.port}" if address.port else ""))
    try:
        word = asyncio.run(_last_word(world.place.state))
    except JournalError as exc:
        yield Finding("traces", "warn", f"sent to {receiver}; what was sent cannot be read: {exc}", "see the journal")
        return
    if isinstance(word, ev.TracesHeldBack):
        told = f"held back since {word.ts:%Y-%m-%d %H:%M} UTC, and tried again; nothing is lost: {word.reason}"
        advice = f"see whether {receiver} answers, and whether OTEL_EXPORTER_OTLP_ENDPOINT and its headers are right"
        yield Finding("traces", "warn", sanitize_line(told), advice)
        return
    # One without spans says only where sending begins.
    when = f"last accepted {word.ts:%Y-%m-%d %H:%M} UTC" if word and word.spans else "nothing was sent yet"
    yield Finding("traces", "ok", f"sent to {receiver}; {when}")


async def _last_word(state: Path) -> ev.TracesSent | ev.TracesHeldBack | None:
    if not journal_exists(state):
        return None
    async with await open_journal(state) as journal:
        return await last_word(journal)
