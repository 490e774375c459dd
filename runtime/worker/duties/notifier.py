"""The notifier: sends notices to the channels of a runtime, its log and a webhook (such as Slack's; `webhook_body`).

Bell and terminal are the consoles'.

Runs beside the drives and holds no lease. A channel that cannot be reached is tried again, ever more slowly; what was
sent stands in the workspace's stream, so that a restarted runtime does not say it again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.secret_vault import make_redactor, mask_texts
from runtime.judgement.reports.explanation.explain import explain
from runtime.judgement.reports.notices import Notice, NoticeQueue, NoticeRules, chat_safe
from runtime.record.journal import Journal
from runtime.record.lease_owner import owner_name
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.worker.duties.claim import CLAIM_RETRY_S, claimed

if TYPE_CHECKING:
    import httpx  # loaded where a webhook is configured: it is slow to import, and brings Rich along


log = logging.getLogger("runtime.notices")
notice_log = logging.getLogger("runtime.notices.told")
"""The channel `log` itself, apart from what is wrong with the others: a follower of a run is told already."""

WEBHOOK_TIMEOUT_S = 10.0
FIRST_RETRY_DELAY_S = 1.0
MAX_RETRY_DELAY_S = 300.0
RUNTIME_CHANNELS = ("log", "webhook")
_CLAIM = "notices"
_CLAIM_S = 60.0
"""Longer than all channels may take to answer."""
MAX_INCIDENTS_PER_POST = 100
"""Incidents that one post describes: receivers have limits, and people do not read more."""


class Notifier:
    """One per worker. Of all workers of a workspace one sends each notice."""

    def __init__(
        self,
        journal: Journal,
        config: ExecutionConfig,
        *,
        clock: Callable[[], datetime] = ev.utc_now,
        first_pause_s: float = FIRST_RETRY_DELAY_S,
        owner: str = "",
    ) -> None:
        self._journal = journal
        self._owner = owner or owner_name()
        self._read_to = 0
        rules = config.notices or NoticeRules.of_errors(config.errors)
        ours = {channel: least for channel, least in rules.channels.items() if channel in RUNTIME_CHANNELS}
        self._rules = replace(rules, channels=ours)
        self._patterns = config.redact
        self._clock = clock
        self._first_pause_s = first_pause_s
        self._notices = NoticeQueue(self._rules)
        self._client: httpx.AsyncClient | None = None
        self._changed = asyncio.Event()
        self._failures: dict[str, int] = {}
        self._again_at: dict[str, float] = {}

    @property
    def is_configured(self) -> bool:
        """Whether any channel of ours is told of anything."""
        return bool(self._rules.channels)

    async def serve(self) -> None:
        """Tell what is open and untold, and then what comes, until cancelled."""
        after = await self._journal.position()
        await self._catch_up()
        async for found in self._journal.iterate_incidents():
            self._notices.add(found.opened, found.title)
        self._changed.set()
        hearing = asyncio.create_task(self._take_in(after))
        try:
            async with AsyncExitStack() as stack:
                if "webhook" in self._rules.channels:
                    import httpx

                    self._client = await stack.enter_async_context(httpx.AsyncClient(timeout=WEBHOOK_TIMEOUT_S))
                while not hearing.done():
                    await self._deliver()
                    await self._wait_for_news()
                await hearing
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)

    async def _take_in(self, after: int) -> None:
        try:
            async for batch in self._journal.tail(None, after):
                for event in batch:
                    if isinstance(event, ev.IncidentOpened) and not self._notices.is_named(event.run_id):
                        run = await self._journal.summary(event.run_id)
                        self._notices.name_run(event.run_id, run.shown_title if run is not None else "")
                    self._notices.apply(event)
                self._changed.set()
        finally:
            self._changed.set()

    async def _catch_up(self) -> None:
        """Take in what was sent, by whatever worker."""
        for event in await self._journal.read(ev.WORKSPACE_RUN_ID, self._read_to):
            self._notices.apply(event)
            self._read_to = event.seq

    async def _wait_for_news(self) -> None:
        """Until something happens, or what is held back or failed is due."""
        loop = asyncio.get_running_loop()
        held = self._notices.next_at()
        waits = [at - loop.time() for at in self._again_at.values()]
        if held is not None and not self._again_at:
            waits.append((held - self._clock()).total_seconds())
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.01, min(waits)) if waits else None):
                await self._changed.wait()
        self._changed.clear()

    async def _deliver(self) -> None:
        """Send what is due. Of all workers one does it at a time, and each looks first what the others have sent."""
        now = asyncio.get_running_loop().time()
        if not self._sendable(now):
            self._again_at.pop(_CLAIM, None)  # another worker has sent it
            return
        async with claimed(self._journal, _CLAIM, self._owner, _CLAIM_S) as held:
            if held:
                self._again_at.pop(_CLAIM, None)
                await self._catch_up()
                await self._send_due(now)
            else:
                self._again_at[_CLAIM] = now + CLAIM_RETRY_S

    def _sendable(self, now: float) -> list[Notice]:
        """What is due, but for channels that are waited for. `now`: by the loop's clock."""
        due = self._notices.due(self._clock())
        return [notice for notice in due if self._again_at.get(notice.channel, now) <= now]

    async def _send_due(self, now: float) -> None:
        for notice in self._sendable(now):
            try:
                await self._send(notice)
            except Exception as exc:  # one channel that cannot be reached, for whatever reason, silences no other
                self._postpone(notice, exc, now)
                continue
            self._failures.pop(notice.channel, None)
            self._again_at.pop(notice.channel, None)
            sent = await self._journal.post(
                ev.WORKSPACE_RUN_ID, ev.NoticeSent(channel=notice.channel, incidents=notice.keys, ts=self._clock())
            )
            self._notices.apply(sent)

    def _postpone(self, notice: Notice, exc: Exception, now: float) -> None:
        failures = self._failures[notice.channel] = self._failures.get(notice.channel, 0) + 1
        pause = min(MAX_RETRY_DELAY_S, self._first_pause_s * 2 ** min(failures - 1, 16))
        self._again_at[notice.channel] = now + pause
        log.warning(
            "%s could not be told of %s, again in %.0f s: %s", notice.channel, notice.title(), pause, _error_text(exc)
        )

    async def _send(self, notice: Notice) -> None:
        mask = make_redactor(self._patterns)  # made for each notice: secrets may have become known
        if notice.channel == "log":
            notice_log.warning("%s: %s", notice.title(), "; ".join(notice.body(mask.text).splitlines()))
            return
        body = mask.value(webhook_body(notice, mask.value))
        body["text"] = chat_safe(body["text"])  # after secrets are masked: an escape may stand in one
        assert self._client is not None, "a webhook is configured"
        response = await self._client.post(self._rules.webhook, json=body)
        response.raise_for_status()


def _error_text(exc: Exception) -> str:
    """What went wrong, without the address, which is a secret: it is enough to post. httpx quotes it, in a form of
    its own, where there was an answer.
    """
    response = getattr(exc, "response", None)
    return f"it answered {response.status_code}" if response is not None else f"{type(exc).__name__}: {exc}"


def webhook_body(notice: Notice, mask: Callable[[Any], Any]) -> dict[str, Any]:
    """What a webhook is posted, as JSON: `text` for chat programs that show just that, such as Slack; the number of
    incidents; and the first `MAX_INCIDENTS_PER_POST` of them. What is cut in it was masked by `mask` before.
    """
    told = [mask_texts(opened, mask) for opened in notice.incidents[:MAX_INCIDENTS_PER_POST]]
    return {
        "text": f"{notice.title()}\n{notice.body(mask)}",
        "count": len(notice.incidents),
        "incidents": [
            {
                "id": opened.incident_id,
                "revision": opened.revision,
                "run_id": opened.run_id,
                "title": notice.titles.get(opened.run_id, ""),
                "severity": opened.fault.severity.value,
                "cause": opened.fault.cause.value,
                "where": list(opened.lineage),
                "message": opened.what,
                "explanation": explain(Incident(opened), DurableRun()).as_json(),
                "options": [option.id for option in opened.options],
                "safe": opened.safe,
                "deadline": opened.deadline.isoformat() if opened.deadline is not None else None,
                "fingerprint": opened.fingerprint,
                "opened_at": opened.ts.isoformat(),
            }
            for opened in told
        ],
    }
