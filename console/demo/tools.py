"""The demo's tools: ordinary functions over the files of the current directory.

Each call leaves a line in `calls.jsonl`, so that anybody can see what was carried out, and that nothing was twice.
"""

from __future__ import annotations

import json
import os
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from console.demo.catalogue import note_refused
from console.demo.report_place import state_dir
from orbiter.ask import ask_operator
from orbiter.tool import ToolError, tool
from runtime.swarms.python_source import parse_module

MAX_FILES = 200
MAX_BYTES = 64 * 1024
LONG_LINE = 120
READABLE = frozenset({".py", ".md", ".rst", ".txt", ".toml", ".json", ".yaml", ".yml", ".cfg", ".ini", ".sh", ".tcss"})


def calls() -> list[dict[str, Any]]:
    """What the tools of all demos of this workspace were called with, in order."""
    path = state_dir() / "demo" / "calls.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _count(name: str, **arguments: Any) -> None:
    path = state_dir() / "demo" / "calls.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:  # one write of one line: parallel calls do not mix theirs
        file.write(json.dumps({"tool": name, **arguments}) + "\n")


def _inside(path: str) -> Path:
    """`path` under the current directory, or an error that the model can act on."""
    root = Path.cwd().resolve()
    found = (root / path).resolve()
    if not found.is_relative_to(root):
        raise ToolError(f"{path} is outside {root}: name a path relative to that directory")
    return found


@tool(idempotent=True)
def list_files(folder: str = ".") -> list[str]:
    """List the text files below a folder, smallest first.

    Args:
        folder: A folder, relative to the working directory.
    """
    _count("list_files", folder=folder)
    top = _inside(folder)
    if not top.is_dir():
        raise ToolError(f"{folder} must be a folder of the working directory")
    found: list[Path] = []
    for place, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")) and name != "node_modules")
        found += [Path(place, name) for name in files if Path(name).suffix in READABLE and not name.startswith(".")]
        if len(found) >= MAX_FILES:
            break
    sized = sorted((path.stat().st_size, path.relative_to(top).as_posix()) for path in found if path.is_file())
    return [name if folder == "." else f"{folder}/{name}" for size, name in sized[:MAX_FILES] if size]


@tool(idempotent=True)
def read_file(path: str) -> str:
    """Read the beginning of a text file.

    Args:
        path: A file, relative to the working directory.
    """
    _count("read_file", path=path)
    try:
        with _inside(path).open("rb") as file:
            return file.read(MAX_BYTES).decode("utf-8", errors="replace")
    except OSError as exc:
        raise ToolError(f"{path} cannot be read: {exc.strerror}") from exc


@tool(idempotent=True)
def check_file(path: str) -> dict[str, Any]:
    """Check that a file is sound: its encoding, its syntax where that is known, long lines, trailing blanks.

    Args:
        path: A file, relative to the working directory.
    """
    _count("check_file", path=path)
    try:
        raw = _inside(path).read_bytes()[:MAX_BYTES]
    except OSError as exc:
        raise ToolError(f"{path} cannot be read: {exc.strerror}") from exc
    text = raw.decode("utf-8", errors="replace")
    lines = text.splitlines()
    problems = []
    if "\ufffd" in text:
        problems.append("is not UTF-8 throughout")
    if len(raw) < MAX_BYTES and (wrong := _syntax_error(path, text)):
        problems.append(wrong)
    if long := sum(len(line) > LONG_LINE for line in lines):
        problems.append(f"{long} lines longer than {LONG_LINE}")
    if trailing := sum(line != line.rstrip() for line in lines):
        problems.append(f"{trailing} lines with trailing blanks")
    return {"path": path, "lines": len(lines), "problems": problems}


def _syntax_error(path: str, text: str) -> str:
    parsers: dict[str, Callable[[str], Any]] = {".py": parse_module, ".json": json.loads, ".toml": tomllib.loads}
    parse = parsers.get(Path(path).suffix)
    if parse is None:
        return ""
    try:
        parse(text)
    except (SyntaxError, ValueError) as exc:
        return f"does not parse: {exc}"
    return ""


@tool(idempotent=True, failure="fail", timeout=10.0, retry_policy={"max_attempts": 2, "delay_seconds": 0.5})
def fetch_index(url: str) -> str:
    """Fetch the index of known projects from the catalogue on this machine.

    Args:
        url: Where the catalogue listens, on the loopback address.
    """
    _count("fetch_index", url=url)
    if not url.startswith(("http://127.0.0.1:", "http://localhost:")):
        raise ToolError(f"{url}: the catalogue is on this machine, at http://127.0.0.1:…")
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:  # noqa: S310 - the scheme and host were looked at above
            return bytes(reply.read(MAX_BYTES)).decode("utf-8", errors="replace")
    except urllib.error.URLError:
        note_refused(url)
        raise


@tool(idempotent=True)
async def ask_reader() -> str:
    """Ask for whom the report is written; only a person knows."""
    _count("ask_reader")
    return str(await ask_operator("For whom is the report? A name or a team, for its first line."))


@tool(permissions=("fs.write:{path}",), risk="writes a file")
def write_report(path: str, text: str) -> str:
    """Write the report. Needs leave to write that file.

    Args:
        path: The file to write.
        text: The whole report, in Markdown.
    """
    _count("write_report", path=path)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return f"wrote {len(text.encode())} bytes to {path}"
