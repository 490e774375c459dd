"""Python, our package and the packages it stands on."""

from __future__ import annotations

import platform
import re
import sqlite3
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final

import console
from console.checks.finding import CheckContext, Finding
from runtime.service.program_version import PROGRAM_NAME

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


def check_python(world: CheckContext) -> Iterator[Finding]:
    """The interpreter, and the SQLite in it."""
    good = sys.version_info >= (3, 11)
    told = f"{platform.python_version()} at {sys.executable}, with SQLite {sqlite3.sqlite_version}"
    advice = "" if good else "make an environment with Python 3.11 or newer, and install orbiter-console there"
    yield Finding("python", "ok" if good else "fail", told, advice)


def check_program(world: CheckContext) -> Iterator[Finding]:
    """Our own package, and every package that it requires."""
    again = f"{sys.executable} -m pip install {PROGRAM_NAME}"
    where = Path(console.__file__).parent.parent
    try:
        yield Finding("program", "ok", f"{PROGRAM_NAME} {version(PROGRAM_NAME)} in {where}")
        needed = [
            found for text in requires(PROGRAM_NAME) or () if "extra ==" not in text and (found := _NAME.match(text))
        ]
    except PackageNotFoundError:
        yield Finding("program", "fail", f"{where} is not installed as {PROGRAM_NAME}", again)
        return
    there: list[str] = []
    for name in (found.group() for found in needed):
        try:
            there.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            yield Finding("packages", "fail", f"{name} is not installed in this environment", again)
    yield Finding("packages", "ok", ", ".join(there))
