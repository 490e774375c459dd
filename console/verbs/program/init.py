"""`init`: what a first run in a project of one's own needs.

It writes what is missing, and changes nothing that is there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from console.checks.finding import CheckContext
from console.checks.settings import check_provider_keys
from console.first_files import EXAMPLE_FILE, EXAMPLE_TASK, FileError, plan_first_files
from console.output import print_json, print_line, print_note
from console.verbs.base import BadInput, verb
from console.verbs.program.doctor import emit_finding, finding_printer
from console.workspace import workspace
from runtime.swarms.definitions import Definition
from screens.render.sanitize import sanitize_line

_SHOWN: Final = 12
"""Swarms that are named."""


@verb()
async def init(*, as_json: bool) -> int:
    """Set up this directory: find its swarms, write orbiter.toml and an example that runs, look for keys.

    Files that exist are not changed. Nothing is imported and nothing is started. Exits with 2 if a file cannot be
    written.
    """
    first = plan_first_files(workspace().root)
    try:
        wrote = first.write()
    except FileError as exc:
        raise BadInput(str(exc)) from exc
    for name in first.texts:
        if as_json:
            print_json({"file": name, "state": "written" if name in wrote else "kept"})
        else:
            print_line(f"{name}: {'written' if name in wrote else 'is there already, and was left as it is'}")
    _tell_of_swarms(first.found, as_json=as_json)
    tell = emit_finding if as_json else finding_printer()
    for finding in check_provider_keys(CheckContext(os.environ, workspace())):
        tell(finding)
    ref = first.first_swarm
    task = EXAMPLE_TASK if ref.startswith(EXAMPLE_FILE) else "what it is to do"
    print_note(f'next: orbiter-console run {sanitize_line(ref, limit=200)} "{task}", then orbiter-console')
    return 0


def _tell_of_swarms(found: Mapping[str, Definition], *, as_json: bool) -> None:
    if as_json:
        for ref, each in found.items():
            print_json({"ref": ref, "kind": each.kind, "framework": each.framework})
        return
    for ref, each in list(found.items())[:_SHOWN]:
        print_line(f"found: {sanitize_line(ref, limit=200)}: {each.label}")
        if each.hint:
            print_line(f"       -> {each.hint}")
    if len(found) > _SHOWN:
        print_line(f"found: {len(found) - _SHOWN} more")
    if not found:
        print_line(f"found: no swarm and no agent in the Python files here, so there is an example: {EXAMPLE_FILE}")
