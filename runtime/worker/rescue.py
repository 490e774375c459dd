"""Rescues the journal of a state directory that is removed, moved or replaced while a runtime works in it.

What is kept is a state directory itself (`.orbiter.rescued-…`, beside the one that is gone). Its journal holds
everything that the runtime had recorded when it ended, and a note says what happened.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from runtime.record.journal import JournalError
from runtime.record.journal_care import DAMAGED_FILE, JournalCare
from runtime.record.places import journal_exists
from runtime.record.user_directories import shared_state

log = logging.getLogger(__name__)

NOTE_NAME = "README.txt"
T = TypeVar("T")


async def rescue(journal: JournalCare, state_dir: Path) -> Path:
    """Copy what the journal has open into a directory of its own; which one.

    Raises:
        JournalError: no place takes it.
    """
    made, _ = await _in_first_place(state_dir, journal.rescue)
    return made


async def rescue_overwritten(journal: JournalCare, state_dir: Path) -> tuple[Path, bool]:
    """As `rescue`, for a journal whose files were overwritten in place; also, whether the copy is whole.

    Raises:
        JournalError: no place takes it.
    """
    return await _in_first_place(state_dir, journal.rescue_overwritten)


async def _in_first_place(state_dir: Path, copy: Callable[[Path], Awaitable[T]]) -> tuple[Path, T]:
    """Make a directory in the first place that takes the copy; it, and what `copy` returned."""
    refusals: list[str] = []
    for place in _candidate_paths(state_dir):
        try:
            made = _make_directory(place)
            return made, await copy(made)
        except (OSError, JournalError) as exc:
            refusals.append(f"{place}: {exc}")
    raise JournalError(f"what was recorded could not be kept: {'; '.join(refusals)}")


def explain_displaced(what: str, state_dir: Path, kept: Path) -> str:
    """What happened to the state directory, and what to do."""
    return (
        f"{what}: nothing new was begun, and the runtime ends. Everything that it had recorded is kept in {kept}. "
        f"To look at it: orbiter-console --state {kept} runs. To go on with it: orbiter-console --state {kept}, or, "
        f"while no runtime works there, move it to {state_dir}"
    )


def explain_overwritten(what: str, state_dir: Path, kept: Path, *, whole: bool) -> str:
    """What happened to the journal, and what to do."""
    begin = f"{what}: nothing new was begun, and the runtime ends. The file is left as it is now. "
    go_on = f"To go on with the file that is there now: orbiter-console --state {state_dir}"
    if whole:
        return (
            f"{begin}Everything that it had recorded is kept in {kept}. To look at it, or go on with it: "
            f"orbiter-console --state {kept}. {go_on}"
        )
    return (
        f"{begin}What it had recorded cannot be read back as a whole: what is left is kept in {kept} ({DAMAGED_FILE} "
        f"and the log). {go_on}"
    )


def leave_note(kept: Path, text: str) -> None:
    """Write what happened beside what was kept."""
    try:
        (kept / NOTE_NAME).write_text(f"{text}.\n")
    except OSError as exc:
        log.warning("%s cannot be written: %s", kept / NOTE_NAME, exc)


def rescue_directories(state_dir: Path) -> list[Path]:
    """Directories in which something of this state directory was kept, oldest first."""
    return sorted(
        found
        for place in _candidate_paths(state_dir)
        for found in (place.parent.glob(f"{place.name}-*") if place.parent.is_dir() else ())
        if journal_exists(found) or (found / DAMAGED_FILE).exists()
    )


def _candidate_paths(state_dir: Path) -> Iterator[Path]:
    """Where a directory for it may be, best first, without the time at the end of its name."""
    state = Path(os.path.abspath(state_dir))  # noqa: PTH100 - not through links, which may lead elsewhere by now
    yield state.with_name(f"{state.name}.rescued")
    with suppress(RuntimeError):  # an account without a home
        digest = hashlib.sha256(os.fsencode(state)).hexdigest()[:16]
        yield shared_state() / "rescued" / digest


def _make_directory(place: Path) -> Path:
    """A new directory for the owner alone. One above it is made in the owner's home only."""
    if place.parent.name == "rescued":
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1, 100):
        made = place.with_name(f"{place.name}-{stamp}" + (f"-{number}" if number > 1 else ""))
        with suppress(FileExistsError):
            made.mkdir(mode=0o700)
            return made
    raise FileExistsError(f"{place}-{stamp} exists")
