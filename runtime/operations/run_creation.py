"""Creates runs: what a run is given is checked; it is frozen at once where a freeze stands for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from runtime.execution.failures.errors_in_force import parse_errors
from runtime.execution.gates.budget import parse_run_budget
from runtime.execution.secret_vault import make_redactor
from runtime.operations.answer_params import InvalidCommand
from runtime.record.ids import new_id
from runtime.record.journal import Journal, StaleSequence
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.operator_terms import DEFAULT_QUEUE, QUEUE_NAME
from runtime.record.state.run_title import run_title


def checked_queue(name: str) -> str:
    """The name of a queue, as it was given.

    Raises:
        InvalidCommand: no queue can have it.
    """
    if re.match(QUEUE_NAME, name) is None:
        raise InvalidCommand(
            f"{name[:80]!r} cannot be the name of a queue: it is made of letters, digits, '.', '_' and '-', for example"
            " gpu"
        )
    return name


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """A run's own settings, with its limits and its error configuration as they are kept.

    Raises:
        InvalidCommand: its `budget` or its `errors` cannot be used.
    """
    checked = dict(options)
    try:
        if "budget" in checked:
            checked["budget"] = parse_run_budget(checked["budget"])
    except ValueError as exc:
        raise InvalidCommand(str(exc)) from exc
    try:
        if "errors" in checked:
            checked["errors"] = parse_errors(checked["errors"])
    except ValueError as exc:
        raise InvalidCommand(f"errors: {exc}") from exc
    return checked


def queue_of(ref: str, queues: Mapping[str, str]) -> str:
    """The queue of a swarm's runs. `queues`: those of swarms, by their references or the ends of them."""
    fits = [name for name in queues if ref == name or ref.endswith(f"/{name}")]
    return queues[max(fits, key=len)] if fits else DEFAULT_QUEUE


def one_line_title(given: str, ref: str, input: str, patterns: Iterable[str]) -> str:
    """The title that is recorded: one line. Secrets of an input are masked: titles go where inputs do not."""
    return " ".join(given.split()) or make_redactor(patterns).text(run_title("", ref, input))


async def create_run(journal: Journal, asked: ev.RunCreated) -> str:
    """Ask for a run; returns its id, a new one where `asked` has none. Beginning a run that is there already changes
    nothing.
    """
    ref, given = asked.ref, asked.run_id
    while True:
        run_id = given or f"{ev.utc_now():%y%m%d-%H%M%S}-{new_id(4)}"
        created = replace(asked, run_id=run_id)
        frozen = await _frozen_by(journal, ref)
        summary = fold_events([created, frozen] if frozen is not None else [created]).summary()
        new = await journal.create(created, summary, frozen=frozen)
        if new or given:
            break  # else another run of this second has the same id: of a thousand at once some would be lost
    # Said between our look and our write: the process that said it has perhaps listed the runs before this one was
    # there.
    if new and frozen is None and (frozen := await _frozen_by(journal, ref)) is not None:
        await _retry_if_stale(journal, run_id, frozen)
    elif new and frozen is not None and await _frozen_by(journal, ref) is None:
        await _retry_if_stale(journal, run_id, ev.RunThawed(by=asked.by))
    return run_id


async def _retry_if_stale(journal: Journal, run_id: str, event: ev.JournalEvent) -> None:
    with suppress(StaleSequence):  # the process that set or lifted the freeze has found the run, too
        await journal.post(run_id, event, effective=True)


async def _frozen_by(journal: Journal, ref: str) -> ev.RunFrozen | None:
    freezes = await journal.freezes()
    told = freezes.get(ref) or freezes.get("")
    return ev.RunFrozen(reason=told.reason, by=told.by) if told is not None else None
