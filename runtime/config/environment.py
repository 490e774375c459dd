"""The environment: variables that are settings, and what a background runtime has of its own (interpreter, `env_file`).

Standard library only: it is needed before it is known whether the rest can be imported.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orbiter.parsing.toml_text import InvalidToml, KeyPath, parse_toml
from orbiter.text_input import UnreadableText, read_text
from runtime.record.user_directories import config_home

_MAX_FILE_BYTES = 1024 * 1024
"""Bytes of an `env_file`: Linux takes no more for a whole environment than some of these."""
_ASSIGNMENT_LINE = r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}


class InvalidEnvironment(ValueError):
    """An interpreter or an `env_file` that cannot be used; the message names it and says what to do."""


CONFIG_FILE = "orbiter.toml"


def config_files(workspace: Path, environ: Mapping[str, str] | None = None) -> tuple[Path, Path]:
    """The user's configuration file and the workspace's, whether or not they are there."""
    env = os.environ if environ is None else environ
    return config_home(env) / "orbiter" / CONFIG_FILE, workspace / CONFIG_FILE


def variable_name(path: KeyPath) -> str:
    """The environment variable of a setting: ``ORBITER_ERRORS_MAX_ATTEMPTS`` for ``errors.max_attempts``."""
    return "_".join(("orbiter", *map(str, path))).upper()


def variable_value(text: str) -> Any:
    """What a variable says: a value as `orbiter.toml` has it, else the text as it is, which needs no quotes."""
    try:
        return parse_toml(f"value = {text}")[0]["value"]
    except InvalidToml:
        return text


def configured_python(workspace: Path, environ: Mapping[str, str] | None = None) -> str:
    """The interpreter that is configured; empty where none is. A file that cannot be read is passed over: the code that
    reads all of it says so.
    """
    found = ""
    for path in config_files(workspace, environ):
        try:
            section = parse_toml(read_text(path))[0].get("runtime")
        except ValueError:
            continue
        if isinstance(section, dict) and isinstance(section.get("python"), str):
            found = section["python"] or found
    return (os.environ if environ is None else environ).get(variable_name(("runtime", "python"))) or found


def find_interpreter(workspace: Path, setting: str = "", environ: Mapping[str, str] | None = None) -> Path:
    """The Python that runs the workspace's swarms: the setting, `$VIRTUAL_ENV`, the workspace's `.venv`, else our own.

    Raises:
        InvalidEnvironment: the one that was chosen is not there.
    """
    env = os.environ if environ is None else environ
    setting = setting or configured_python(workspace, env)
    if setting:
        chosen = Path(setting).expanduser()
        return _existing_python(chosen if chosen.is_absolute() else workspace / chosen, "the setting 'python'")
    if active := env.get("VIRTUAL_ENV"):
        return _existing_python(Path(active) / "bin" / "python", "$VIRTUAL_ENV")
    local = workspace / ".venv" / "bin" / "python"
    return local if local.exists() else Path(sys.executable)


def _existing_python(path: Path, source: str) -> Path:
    if not os.access(path, os.X_OK):
        raise InvalidEnvironment(f"{source} must name a program that can be run, but names {path}: correct or unset it")
    return path


def read_env_file(path: Path) -> dict[str, str]:
    """Variables of an `env_file`: ``NAME=value`` lines, with comments, ``export``, and single or double quotes.

    Raises:
        InvalidEnvironment: naming the file and the line; never the value, which may be a key.
    """
    try:
        text = read_text(path, most=_MAX_FILE_BYTES)
    except UnreadableText as exc:
        raise InvalidEnvironment(f"cannot read env_file: {exc}") from exc
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = re.fullmatch(_ASSIGNMENT_LINE, stripped)
        if match is None:
            raise InvalidEnvironment(f"{path}, line {number}: write NAME=value, as in OPENAI_API_KEY=abc")
        if "\0" in stripped:
            raise InvalidEnvironment(f"{path}, line {number}: a variable cannot hold a NUL byte; remove it")
        found[match["name"]] = _parse_value(match["value"], f"{path}, line {number}")
    return found


def _parse_value(text: str, where: str) -> str:
    if text[:1] not in {"'", '"'}:
        return re.split(r"\s+#", text, maxsplit=1)[0].strip()
    quote = text[0]
    pattern = r"'(?P<inside>[^']*)'" if quote == "'" else r'"(?P<inside>(?:[^"\\]|\\.)*)"'
    match = re.fullmatch(pattern + r"\s*(?:#.*)?", text)
    if match is None:
        raise InvalidEnvironment(f"{where}: the value's {quote} is not closed, or something follows it")
    inside = match["inside"]
    if quote == "'":
        return inside
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), inside)
