"""`config`: what is configured, and where each value comes from."""

from __future__ import annotations

import json
import os

import click

from console.output import print_json, print_note, print_table
from console.preferences.loader import workspace_preferences
from console.preferences.schema import ALL_SECTIONS, CONSOLE_SETTINGS, Preferences
from console.verbs.base import verb
from console.workspace import workspace
from orbiter.parsing.near_names import did_you_mean
from orbiter.redaction import redact
from runtime.config.configuration import DEFAULT_SOURCE, SettingValue
from runtime.config.environment import config_files, variable_name
from runtime.config.loader import load_configuration
from runtime.config.schema_keys import variables
from screens.render.sanitize import sanitize_line


@verb()
@click.option("--set", "only_set", is_flag=True, help="Only what a file or a variable sets.")
async def config(*, only_set: bool, as_json: bool) -> int:
    """Show every setting in force, and where it comes from: a file and its line, a variable, or the default."""
    root = workspace().root
    own = _console_values(workspace_preferences())
    found = load_configuration(root)
    others = [each for each in found.values() if not each.key.startswith("console.")]
    values = [each for each in (*others, *own) if not only_set or each.source != DEFAULT_SOURCE]
    for sentence in found.refused_hosts().values():
        print_note(sentence)
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
    for sentence in _unknown_variables():
        print_note(sentence)
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


def _unknown_variables() -> list[str]:
    """A sentence for each variable that is named as a setting is, and sets none."""
    known = {*variables(), *(each.variable for each in CONSOLE_SETTINGS)}
    found = []
    for name in sorted(os.environ.keys() - known):
        section = next((each for each in ALL_SECTIONS if name.startswith(variable_name((each, "")))), "")
        if section:
            meant = did_you_mean(
                name, [each for each in known if each.startswith(variable_name((section,)))], form="${}"
            )
            found.append(f"${sanitize_line(name, limit=100)} sets nothing; {meant}".rstrip("; "))
    return found
