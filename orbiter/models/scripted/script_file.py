"""Scripts in YAML (or JSON, which is YAML): the words are those of Python, errors name file, line and key."""

from __future__ import annotations

import threading
from pathlib import Path

from orbiter.models.scripted.replies import Script
from orbiter.models.scripted.script_reader import ScriptReader
from orbiter.models.types import ModelError
from orbiter.text_input import UnreadableText, read_text

_cache: dict[Path, tuple[tuple[int, int], dict[str, Script]]] = {}
_lock = threading.Lock()


def load_script(path: str, part: str = "") -> Script:
    """The script in a file; of several (under ``scripts:``), the one named `part`.

    A file is read again when it has changed; else the same `Script` is handed out, with its count of attempts.

    Raises:
        ModelError: The file is missing (code `model_not_found`) or has a mistake (code `invalid_script`), with file,
            line, key, and the nearest key that exists.
    """
    file = Path(path).expanduser().resolve()
    try:
        stat = file.stat()
        stamp = (stat.st_mtime_ns, stat.st_size)
        with _lock:
            known = _cache.get(file)
            if known is None or known[0] != stamp:
                known = _cache[file] = (stamp, parse_scripts(read_text(file), where=path))
    except (OSError, UnreadableText) as exc:
        raise ModelError(
            f"Cannot read script file '{path}': {exc}",
            provider="scripted",
            model=path,
            code="model_not_found",
            type="not_found_error",
            where="client",
            hint=f"The path is taken from the current directory; looked at {file}.",
        ) from exc
    scripts = known[1]
    if part in scripts:
        return scripts[part]
    if not part and len(scripts) == 1:
        return next(iter(scripts.values()))
    names = ", ".join(f"{path}#{name}" for name in scripts)
    raise ModelError(
        f"No script '{part}' in '{path}'" if part else f"'{path}' has several scripts: which one?",
        provider="scripted",
        model=path,
        code="model_not_found",
        type="not_found_error",
        where="client",
        hint=f"Name one of: {names}",
    )


def parse_scripts(text: str, *, where: str = "<text>") -> dict[str, Script]:
    """All scripts of a YAML text, by name; a text that is one script has it under the empty name.

    Raises:
        ModelError: A mistake (code `invalid_script`).
    """
    return ScriptReader(text, where).scripts()
