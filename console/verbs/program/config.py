"""`config`: what is configured, and where each value comes from."""

from __future__ import annotations

import json

import click

from console.output import print_json, print_note, print_table
from console.preferences.loader import workspace_preferences
from console.verbs.base import verb
from console.workspace import workspace
from orbiter.redaction import redact
from runtime.config.configuration import DEFAULT_SOURCE
from runtime.config.environment import config_files
from runtime.config.loader import load_configuration


@verb()
@click.option("--set", "only_set", is_flag=True, help="Only what a file sets.")
async def config(*, only_set: bool, as_json: bool) -> int:
    """Show every setting as it is in force, and where it comes from: a file and its line, or the default."""
    root = workspace().root
    workspace_preferences()  # what is wrong with the console's own sections is said here too
    values = [each for each in load_configuration(root).values() if not only_set or each.source != DEFAULT_SOURCE]
    if as_json:
        for each in values:
            print_json(
                {
                    "id": each.key,
                    "value": json.loads(redact(json.dumps(each.value, default=str))),
                    "source": each.source,
                }
            )
        return 0
    print_table(
        ("setting", "value", "from"),
        [(each.key, redact(json.dumps(each.value, default=str)), each.source) for each in values],
    )
    for path in config_files(root):
        print_note(f"{path}: {'read' if path.is_file() else 'not there'}")
    return 0
