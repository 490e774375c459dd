"""What a runtime does where its journal has lost its end, or is not at its path any more."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NoReturn

from runtime.record.journal import Displaced, JournalError
from runtime.record.journal_care import JournalCare
from runtime.worker.rescue import (
    explain_displaced,
    explain_overwritten,
    leave_note,
    rescue,
    rescue_overwritten,
)

log = logging.getLogger(__name__)


async def sign_journal(journal: JournalCare) -> None:
    """Let the journal notice that it is overwritten in place; a warning where it cannot."""
    try:
        await journal.sign()
    except JournalError as exc:
        log.warning("that the journal is overwritten in place might not be noticed: %s", exc)


async def check_for_loss(journal: JournalCare) -> None:
    """Nothing goes on by itself from a journal that has lost its end: an operator looks first.

    Raises:
        JournalError: it has, and the runs cannot be frozen.
    """
    try:
        missing = await journal.look_for_loss()
    except JournalError as exc:  # a file that is damaged elsewhere, too: what of it can be used is
        log.error("whether the journal has lost its newest events cannot be told: %s", exc)  # noqa: TRY400
        return
    if missing:
        frozen = await journal.stand_still(missing)
        told = "the journal has lost its newest events: %s. Everything is frozen until an operator has looked: %s"
        log.error(told, missing, ", ".join(frozen) or "no run was under way")


async def end_displaced(journal: JournalCare, state_dir: Path, displaced: str) -> NoReturn:
    """Keep what the journal has, where its files are not those of the state directory any more.

    Raises:
        Displaced: always; it says what happened and what to do.
    """
    if not journal.displaced():
        raise Displaced(f"{displaced}: this runtime ends; its journal is whole, and its runs stay as they are")
    if journal.overwritten():
        kept, whole = await rescue_overwritten(journal, state_dir)
        text = explain_overwritten(displaced, state_dir, kept, whole=whole)
    else:
        kept = await rescue(journal, state_dir)
        text = explain_displaced(displaced, state_dir, kept)
    leave_note(kept, text)
    raise Displaced(text)
