"""A commented `orbiter.toml` to begin with: every setting of a workspace with its default, switched off."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pydantic.fields import FieldInfo

from runtime.config.schema import Settings

_SECTIONS: Final = ("runtime", "analysis", "permissions", "budgets", "errors", "notices", "redaction")
"""Those that one begins with. Hosts, prices, rules, guests and servers are tables of their own."""
_WIDTH: Final = 100
_HEAD: Final = """\
# Settings of this workspace for orbiter-console. All of them are optional: what stands behind a # is the default.
# Take the # away to change one. `orbiter-console config` shows what is in force, and where it comes from.
# Keys of model providers do not belong here: set them in the environment, or name a file with runtime.env_file.
"""
_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)]*\)")


def settings_template() -> str:
    """The text of the file; it is valid TOML, and so is each setting once its ``#`` is taken away."""
    parts = [_HEAD]
    for section in _SECTIONS:
        default = getattr(Settings(), section)
        described = [
            (name, field, getattr(default, name))
            for name, field in type(default).model_fields.items()
            if field.description
        ]
        lines = [line for name, field, value in described for line in _setting(name, field, value)]
        if lines:
            parts.append("\n".join([f"[{section}]", *lines, ""]))
    return "\n".join(parts)


def _setting(name: str, field: FieldInfo, value: Any) -> list[str]:
    said = " ".join(_LINK.sub(r"\1", field.description or "").split())
    written = _toml(value)
    if written is None:  # a table, or what has no default: named, not written out
        return [*_comment(f"{name}: {said}"), ""]
    return [*_comment(said), f"# {field.alias or name} = {written}", ""]


def _comment(text: str) -> list[str]:
    lines: list[str] = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > _WIDTH:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{word}"
    return [f"## {line}" for line in lines]


def _toml(value: Any) -> str | None:
    """A value as TOML writes it; None for what has no short form there."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple | list | frozenset) and all(isinstance(each, str) for each in value):
        return "[" + ", ".join(json.dumps(each, ensure_ascii=False) for each in sorted(value)) + "]"
    return None
