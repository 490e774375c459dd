"""`export --test`: a record of a run, and a test that replays it, as two files side by side."""

from __future__ import annotations

import os
import re
from pathlib import Path

from console.output import print_note
from console.verbs.base import BadInput
from console.workspace import workspace
from runtime.judgement.reports.export_file import read_export
from runtime.testing.generated_tests import NothingFailed, record_text, text_of_tests
from screens.render.sanitize import sanitize_line


def write_test(text: str, directory: Path, incident_id: str, *, over: bool) -> None:
    """Write both files.

    Args:
        text: The export of the whole run.
        directory: Where the files go; made if it is not there.
        incident_id: The only incident that is tested; empty: all of them.
        over: Whether files that are there are written over.

    Raises:
        BadInput: a file is there already or cannot be written, or nothing failed in the run.
    """
    root = workspace().root
    found = read_export(text)
    name = "test_" + re.sub(r"\W+", "_", f"{_swarm(found.state().ref)}_{incident_id or found.header.run_id}").lower()
    test, record = directory / f"{name}.py", directory / f"{name}.jsonl"
    try:
        body = text_of_tests(found, record.name, os.path.relpath(root, directory.resolve()), incident_id)
    except NothingFailed as exc:
        raise BadInput(str(exc)) from exc
    for path in (test, record):
        if path.exists() and not over:
            raise BadInput(f"{path} is there already: give --force to replace it")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        record.touch(mode=0o600)
        record.write_text(record_text(text, root, Path.home()), encoding="utf-8")
        test.write_text(body, encoding="utf-8")
    except OSError as exc:
        raise BadInput(f"{directory} cannot be written to: {exc.strerror or exc}; give a folder") from exc
    print_note(f"written: {sanitize_line(str(test))}, and its record {record.name}; run it with: pytest {test}")


def _swarm(ref: str) -> str:
    """What the swarm is called in names of files."""
    target, _, attribute = ref.rpartition(":")
    return f"{Path(target).stem.rpartition('.')[2]}_{attribute}" if attribute != "swarm" else Path(target).stem
