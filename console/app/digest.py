"""The digest when an operator comes back: what happened meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from runtime.judgement.reports.report_types import Digest
from runtime.link.client.client import LinkError
from runtime.operations.requests.reports import NoteLook, ReadDigest
from screens.render.formatting import format_elapsed
from screens.shell.context import DigestNotice, Link

MAX_INLINE = 4
"""Sentences of the digest that a line has room for."""


log = logging.getLogger(__name__)


async def show_digest(link: Link, now: Callable[[], datetime], tell: Callable[[DigestNotice], None]) -> None:
    """Tell what happened since this operator looked the last time, as soon as a host can be asked, and again with more
    when another one can. Back when all were asked. What went wrong with one is no more than a missing line.
    """
    answers: dict[str, Digest | None] = {}
    changed = asyncio.Event()
    end = link.subscribe(changed.set)
    try:
        while True:
            changed.clear()
            fresh = [host for host in connected_hosts(link) if host not in answers] if link.ready else []
            for host in fresh:
                answers[host] = await _digest(link, host)
            if fresh and (found := combine_digests(answers, now())).line:
                tell(found)
            if len(answers) >= max(1, len(link.qualities)):
                return
            await changed.wait()
    finally:
        end()


async def _digest(link: Link, host: str) -> Digest | None:
    """Of one host. The look is noted there, so that the next digest begins here."""
    try:
        answer = await link.ask(ReadDigest(away=True), where=host)
        await record_look(link, host)
    except LinkError as exc:
        log.warning("no digest: %s", exc)
        return None
    return answer


def connected_hosts(link: Link) -> list[str]:
    """The hosts that can be asked something now, by the names that `ask` knows."""
    if len(link.qualities) > 1:
        return [each.host for each in link.qualities if each.phase == "connected"]
    return [""] if link.status.phase == "connected" else []


def combine_digests(answers: Mapping[str, Digest | None], now: datetime) -> DigestNotice:
    """What the digests of some hosts say together; empty where nothing happened, or no operator looked before."""
    found = {host: each for host, each in answers.items() if each is not None and not each.empty}
    times = [each.since for each in found.values() if each.since is not None]
    if not times:
        return DigestNotice()
    sentences = tuple(
        f"{host}: {text}" if host else text
        for host, each in found.items()
        if each.since is not None
        for text in each.sentences
    )
    shown = ", ".join(sentences[:MAX_INLINE])
    more = ", …" if len(sentences) > MAX_INLINE else ""
    return DigestNotice(f"Since you looked {format_elapsed(min(times), None, now)} ago: {shown}{more}", sentences)


async def record_look(link: Link, host: str = "") -> None:
    """Note that the operator has seen what there is, on one host or on all that can be reached. A viewer's look is not
    noted, nor one at a host of which not all was shown yet.
    """
    if link.loading and not host:
        for each in connected_hosts(link):
            if each and each not in link.loading:
                await record_look(link, each)
        return
    roles = [each.role for each in link.qualities if not host or each.host == host]
    if link.role == "operator" and connected_hosts(link) and "operator" in (roles or ["operator"]):
        await link.ask(NoteLook(), where=host)
