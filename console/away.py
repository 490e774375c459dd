"""What happened while the operator was away, as the runtime's digest tells it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from runtime.link.client import LinkError
from screens.link import Away, Link
from screens.words import elapsed

IN_LINE = 4
"""Sentences of the digest that a line has room for."""


async def away(link: Link, now: datetime) -> Away:
    """The digest since this operator's last look; empty where nothing happened, or nobody looked before. The look is
    noted, so that the next digest begins here.

    Raises:
        LinkError: the runtime would not say.
    """
    answer = await link.command("digest", away=True)
    by_host: Mapping[str, Any] = {"": answer} if "sentences" in answer else answer
    await looked(link)
    found = {host: each for host, each in by_host.items() if each["since"] is not None and not each["empty"]}
    if not found:
        return Away()
    since = min(datetime.fromisoformat(each["since"]) for each in found.values())
    sentences = tuple(
        f"{host}: {text}" if host else str(text) for host, each in found.items() for text in each["sentences"]
    )
    shown = ", ".join(sentences[:IN_LINE])
    more = ", …" if len(sentences) > IN_LINE else ""
    return Away(f"Since you looked {elapsed(since, None, now)} ago: {shown}{more}", sentences)


async def looked(link: Link) -> None:
    """Note that the operator has seen what there is. A viewer's look is not noted."""
    if link.role == "operator":
        await link.command("looked")


__all__ = ["LinkError", "away", "looked"]
