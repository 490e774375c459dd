"""Exports of many runs, each a file of its own in one directory."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from console.verbs.base import BadInput, cli_origin, operations_on
from console.workspace import workspace
from runtime.config.loader import load_configuration, load_env_file
from runtime.operations.requests.reports import ExportRun
from runtime.record.journal import Journal
from runtime.record.journal_care import BeforeForgetting


def run_exporter(journal: Journal, directory: Path) -> BeforeForgetting:
    """What writes the export of a run to `directory`, which is made if it is not there.

    Raises:
        BadInput: the directory cannot be made; or, later, a file in it cannot be written.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise BadInput(f"{directory} cannot be made: {exc.strerror or exc}") from exc
    load_env_file(load_configuration(workspace().root))  # its secrets are to be known
    operations = operations_on(journal)

    async def export(run_id: str) -> None:
        text = (await operations.run(ExportRun(run_id=run_id), cli_origin())).text
        _write(directory / f"{quote(run_id, safe='')}.jsonl", text)

    return export


def _write(path: Path, text: str) -> None:
    """Have the whole text on disk under this name, or nothing. For its owner alone: what no pattern finds is in it."""
    part = path.with_name(f".{path.name}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as exc:
        raise BadInput(f"{path} cannot be written: {exc.strerror or exc}; no run was deleted after that") from exc
