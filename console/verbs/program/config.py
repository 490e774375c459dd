"""`config`: what is configured, and where each value comes from."""

from __future__ import annotations

import json

import click

from console.output import print_json, print_note, print_table
from console.preferences.loader import workspace_preferences
from console.preferences.schema import CONSOLE_SETTINGS, Preferences
from console.verbs.base import verb
from console.workspace import workspace
from orbiter.redaction import redact
from runtime.config.configuration import DEFAULT_SOURCE, SettingValue
from runtime.config.environment import config_files
from runtime.config.loader import load_configuration


@verb()
@click.option("--set", "only_set", is_flag=True, help="Only what a file or a variable sets.")
async def config(*, only_set: bool, as_json: bool) -> int:
    """Show every setting in force, and where it comes from: a file and its line, a variable, or the default."""
    root = workspace().root
    own = _console_values(workspace_preferences())
    others = [each for each in load_configuration(root).values() if not each.key.startswith("console.")]
    values = [each for each in (*others, *own) if not only_set or each.source != DEFAULT_SOURCE]
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


def _console_values(found: Preferences) -> list[SettingValue]:
    """The settings of `[console]`, each as a file would have it."""
    return [
        SettingValue(f"console.{name}", each.written(getattr(found, name)), found.source("console", name))
        for each in CONSOLE_SETTINGS
        for name in (each.name,)
    ]
