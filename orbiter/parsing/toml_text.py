"""TOML that a person wrote, and the line of each key in it, for error messages; `tomllib` does not say it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from orbiter.parsing.nesting import check_toml, check_value

KeyPath = tuple[str | int, ...]

# Patterns are compiled where a file is read: most workspaces have none.
_NAME = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEY = rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*="
_KEY_PART = r""""((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+)"""
_HEADER = r"\s*(\[\[|\[)\s*(.+?)\s*\]{1,2}\s*(?:#.*)?$"


class InvalidToml(ValueError):
    """A text is not TOML, or is nested too deeply. The message reads on from the file's name."""


def parse_toml(text: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """What a TOML text says, and the line of each key (see `key_lines`).

    Raises:
        InvalidToml: it cannot be read; the message says why, with line and column where they are known.
    """
    import tomllib  # only where a file is read

    try:
        check_toml(text)
        found = tomllib.loads(text)
        check_value(found)
    except tomllib.TOMLDecodeError as exc:
        raise InvalidToml(f"not valid TOML: {exc}") from exc
    except ValueError as exc:  # nested too deeply; a number that is too long
        raise InvalidToml(str(exc)) from exc
    return found, key_lines(text)


def key_lines(text: str) -> dict[KeyPath, int]:
    """Line numbers, from 1, by path; an element of an array of tables has its index in the path.

    Only for text that `tomllib` could read. Keys inside of inline tables stand under the key that holds the table.
    """
    found: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, line in _statements(text):
        header = re.match(_HEADER, line)
        if header is not None:
            table = _header_path(_split_key(header[2]), counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            found.setdefault(table, number)
            continue
        key = re.match(_KEY, line)
        if key is not None:
            found.setdefault((*table, *_split_key(key[1])), number)
    return found


def line_of_key(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """The line of a path, or of the nearest thing above it that has one."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


def _header_path(parts: KeyPath, counts: dict[KeyPath, int]) -> KeyPath:
    """A header's path, with the index of the last element wherever it leads through an array of tables."""
    found: KeyPath = ()
    for at, part in enumerate(parts):
        found = (*found, part)
        if found in counts and at < len(parts) - 1:
            found = (*found, counts[found])
    return found


def _split_key(text: str) -> KeyPath:
    return tuple(quoted or literal or bare for quoted, literal, bare in re.findall(_KEY_PART, text))


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Lines that begin a statement: none that stand inside of a long text or a list."""
    depth, fence = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if not depth and not fence:
            yield number, line
            if re.match(_HEADER, line):
                continue
        depth, fence = _scan_line(line, depth, fence)


_TOKENS = r'"""|\'\'\'|"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*|[\[\]{}]'


def _scan_line(line: str, depth: int, fence: str) -> tuple[int, str]:
    """How deep in brackets, and in which long text, the next line begins."""
    at = 0
    while True:
        if fence:
            end = line.find(fence, at)
            if end < 0:
                return depth, fence
            at, fence = end + 3, ""
        found = re.compile(_TOKENS).search(line, at)
        if found is None:
            return depth, fence
        mark, at = found[0], found.end()
        if mark in ('"""', "'''"):
            fence = mark
        else:
            depth += (mark in "[{") - (mark in "]}")
