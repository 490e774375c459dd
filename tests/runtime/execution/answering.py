"""What tests of answers need: the one incident of a run, and what it offers."""

from __future__ import annotations

from runtime.record.journal import OpenIncident
from tests.runtime.bench import Bench


async def only(bench: Bench, run: str) -> OpenIncident:
    (found,) = await bench.incidents(run)
    return found


def offered(found: OpenIncident) -> list[str]:
    return [option.id for option in found.opened.options]
