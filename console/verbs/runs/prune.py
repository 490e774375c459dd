"""`prune`: let finished runs go, by age and by size."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path

import click

from console.output import print_json, print_line, print_note
from console.verbs.base import BadInput, open_for_reading, open_for_writing, verb
from console.verbs.runs.export_directory import run_exporter
from console.workspace import workspace
from runtime.record.journal_care import JournalCare
from runtime.record.places import journal_exists
from screens.render.formatting import pluralize

_AGES = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


@verb(reads=True)
@click.option(
    "--older-than", metavar="AGE", help="Finished runs without a change for this long, such as 30d, 12h, 90m or 8w."
)
@click.option(
    "--max-size",
    metavar="SIZE",
    help="Then the oldest ones, until the data takes at most this space, such as 500M or 2G.",
)
@click.option(
    "--export", "directory", metavar="DIR", help="Before a run is deleted, write its export to this directory."
)
@click.option(
    "--whole-partitions",
    is_flag=True,
    help="Of a workspace on Postgres: leave old runs for later whose partition cannot go as a whole yet.",
)
@click.option("--dry-run", is_flag=True, help="Only print the runs that would be deleted; nothing is changed.")
async def prune(
    *,
    older_than: str | None,
    max_size: str | None,
    directory: str | None,
    whole_partitions: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Delete finished runs, and print their ids. A run that is not finished is never deleted.

    With --export each run is first written to the file RUN.jsonl in DIR, redacted, as `export RUN -o FILE` does. Open
    it with: replay FILE
    """
    if older_than is None and max_size is None:
        raise BadInput("say which runs: for example --older-than 30d, --max-size 500M, or both")
    if whole_partitions and older_than is None:
        raise BadInput("--whole-partitions belongs to --older-than: say how old, for example --older-than 30d")
    age = _age(older_than) if older_than is not None else None
    size = _size(max_size) if max_size is not None else None
    look_only = dry_run or not journal_exists(workspace().state)
    opening: AbstractAsyncContextManager[JournalCare | None] = open_for_reading() if look_only else open_for_writing()
    async with opening as journal:
        if journal is None:
            print_note("nothing was run here yet")
            return 0
        export = run_exporter(journal, Path(directory)) if directory is not None and not dry_run else None
        gone = await journal.prune(
            older_than=age, max_bytes=size, export=export, whole_partitions=whole_partitions, dry_run=dry_run
        )
    for run_id in gone:
        if as_json:
            print_json({"id": run_id, "state": "would be forgotten" if dry_run else "forgotten"})
        else:
            print_line(run_id)
    print_note(f"{pluralize(len(gone), 'run')} {'would be ' if dry_run else ''}forgotten")
    return 0


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([mhdw])", text.strip().lower())
    if found is None:
        raise BadInput(f"{text!r} is not an age: must be a number and m, h, d or w, for example 30d")
    try:
        return float(found[1]) * _AGES[found[2]]
    except OverflowError as exc:
        raise BadInput(f"{text!r} is longer ago than any run") from exc


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?)(?:i?b)?", text.strip().lower())
    if found is None:
        raise BadInput(f"{text!r} is not a size: must be bytes, or a number and K, M or G, for example 500M")
    try:
        return int(float(found[1]) * _SIZES[found[2]])
    except OverflowError as exc:
        raise BadInput(f"{text[:20]!r}… is more than any disk holds: write a size as in 500M") from exc
