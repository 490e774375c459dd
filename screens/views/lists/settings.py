"""Rows of the settings page: each value and where it comes from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from screens.render.layout import Column, Row, span
from screens.views.shared.render_context import RenderContext

SETTING_COLUMNS: Final = (
    Column("setting", width=29, grow=1),
    Column("value", width=28, grow=3),
    Column("from", width=14, grow=2, drop=1),
)
THEME_KEY_PREFIX: Final = "theme:"
"""Begins the key of a row that stands for a theme."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One of them. `value` and `source` may be foreign. `theme` names the theme that enter chooses here."""

    group: str
    name: str
    value: str
    source: str = ""
    theme: str = ""
    chosen: bool = False


def settings_rows(settings: Sequence[Setting], context: RenderContext) -> list[Row]:
    """A heading for each group, and a row for each setting."""
    rows: list[Row] = []
    for group, members in groupby(settings, key=lambda setting: setting.group):
        rows.append(Row(f"group:{group}", (span(f" {group}", "ink-accent", bold=True),), heading=True))
        rows += [_row(setting, context) for setting in members]
    return rows


def _row(setting: Setting, context: RenderContext) -> Row:
    ink = "ink-strong" if setting.chosen else "ink"
    mark = f"{context.glyphs.cursor} " if setting.chosen else "  "
    key = f"{THEME_KEY_PREFIX}{setting.theme}" if setting.theme else f"{setting.group}/{setting.name}"
    return Row(
        key,
        (
            span(f"{mark}{context.sanitize_line(setting.name, 60)}", ink, bold=setting.chosen),
            span(context.sanitize_line(setting.value, 300), ink),
            span(context.sanitize_line(setting.source, 200), "ink-muted"),
        ),
    )
