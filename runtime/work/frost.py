"""Freezes that stand: what an operator said of a swarm, or of everything, holds for runs that begin later, too."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.record import events as ev
from runtime.record.journal import Journal


def standing(events: Iterable[ev.Record]) -> dict[str, ev.FreezeSet]:
    """The freezes in force, by the swarm they name (empty: all), as the workspace's stream tells."""
    found: dict[str, ev.FreezeSet] = {}
    for event in events:
        if isinstance(event, ev.FreezeSet):
            found[event.ref] = event
        elif isinstance(event, ev.FreezeLifted):
            if event.ref:
                found.pop(event.ref, None)
            else:
                found.clear()
    return found


async def freeze_if_told(journal: Journal, run_id: str, ref: str) -> None:
    """Freeze a run that has just been created if a freeze stands for it."""
    freezes = standing(await journal.read(ev.WORKSPACE))
    told = freezes.get(ref) or freezes.get("")
    if told is not None:
        await journal.post(run_id, ev.RunFrozen(reason=told.reason, by=told.by))
