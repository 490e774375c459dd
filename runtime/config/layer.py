"""A layer of settings: what one place says, laid over what others say. For the settings of the runtime and of the
console, so it loads neither schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from orbiter.errors import ConfigurationError
from orbiter.parsing.toml_text import InvalidToml, KeyPath, line_of_key, parse_toml
from orbiter.text_input import UnreadableText, read_text


class SettingsLayer(Struct, frozen=True):
    """Settings from one place: a file with the lines of its keys, a variable, the command line."""

    place: str
    data: Mapping[str, Any]
    lines: Mapping[KeyPath, int] = {}

    @classmethod
    def from_file(cls, path: Path, refusal: type[ConfigurationError]) -> SettingsLayer:
        """What a TOML file says.

        Args:
            path: The file.
            refusal: What is raised where it cannot be read or is not TOML; the message names the file.
        """
        try:
            return cls(str(path), *parse_toml(read_text(path)))
        except InvalidToml as exc:
            raise refusal(f"{path}: {exc}") from exc
        except UnreadableText as exc:
            raise refusal(str(exc)) from exc

    def location(self, at: KeyPath) -> str:
        """``FILE:LINE`` of a key, or of what is nearest above it."""
        line = line_of_key(at, self.lines)
        return f"{self.place}:{line}" if line is not None else self.place

    def lay_over(
        self,
        onto: dict[str, Any],
        sources: dict[KeyPath, str],
        data: Mapping[str, Any] | None = None,
        path: KeyPath = (),
        *,
        tables: bool = False,
    ) -> None:
        """Put this layer over what is there, key by key, and note where each value stands.

        Args:
            onto: What is there; changed in place.
            sources: Where each value stands, by its path; changed in place.
            data: A part of the layer; None: all of it.
            path: Where that part stands.
            tables: Note where each table stands, too; else only the values in it have a place.
        """
        for key, value in (self.data if data is None else data).items():
            at = (*path, key)
            if isinstance(value, Mapping):
                if not isinstance(onto.get(key), dict):
                    onto[key] = {}
                self.lay_over(onto[key], sources, value, at, tables=tables)
                if tables:
                    sources[at] = self.location(at)
                continue
            onto[key] = value
            for old in [each for each in sources if each[: len(at)] == at]:
                del sources[old]
            sources[at] = self.location(at)
            for below in self.lines:
                if len(below) > len(at) and below[: len(at)] == at:  # what stands in an array of tables
                    sources[below] = self.location(below)


def source_of(sources: Mapping[KeyPath, str], path: KeyPath) -> str:
    """Where a value stands: itself, or what is nearest above it; empty where neither was given."""
    return next((sources[path[:end]] for end in range(len(path), 0, -1) if path[:end] in sources), "")


def place_prefix(sources: Mapping[KeyPath, str], path: KeyPath) -> str:
    """``FILE:LINE: `` of a value, of what is nearest above it, or of the first below it; empty where none was given."""
    place = source_of(sources, path)
    place = place or next((place for each, place in sources.items() if each[: len(path)] == path), "")
    return f"{place}: " if place else ""


def dotted_key(path: KeyPath) -> str:
    """A path as it is written in the file: ``errors.policies[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if part.replace("-", "_").isidentifier() else f'"{part}"'
            text += f".{name}" if text else name
    return text
