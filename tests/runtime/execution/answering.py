"""What tests of answers need: the one incident of a run, and what it offers."""

from __future__ import annotations

from runtime.record.inbox_row import InboxRow
from tests.runtime.bench import Bench


async def only(bench: Bench, run: str) -> InboxRow:
    (found,) = await bench.incidents(run)
    return found


def offered(found: InboxRow) -> list[str]:
    return [option.id for option in found.opened.options]
