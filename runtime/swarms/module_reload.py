"""Detects changed modules of a workspace, and unloads them before the next import.

A runtime lives for weeks while its user edits. When a run begins, modules of the workspace whose files have changed are
imported again, and with them all others of the workspace, for any of them may hold what a changed one defined. Runs
that live keep the modules they have.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from weakref import ref

from runtime.judgement.reports.tracebacks import OUR_PACKAGES

SWARM_FOLDERS = "_orbiter_user_"
"""How the names begin under which swarms' own files are imported: those are read again for every run."""
_LIBRARY_FOLDERS = frozenset({"site-packages", "dist-packages", "node_modules"})

OTHER_FOLDERS_S = 1.0
"""How often, in seconds, the listings of folders outside of the workspace are forgotten: there are many."""
_others_at = 0.0

FileStamp = tuple[int, int]
_stamps: dict[str, tuple[ModuleType, FileStamp]] = {}
"""Modules of workspaces by name, with their file's time and size when imported."""


def unload_changed(*folders: Path) -> list[str]:
    """Forget the modules from `folders` if any of their files has changed since its import; returns their names."""
    _forget_listings(folders)
    last = _last_scans.get(folders)
    # What has been imported since the last look is of no concern where nothing has changed that was there.
    if last is not None and _all_unchanged(last.found):
        return []
    known = _workspace_modules(folders)
    if _all_unchanged(known):
        return []
    for name in known:
        sys.modules.pop(name, None)
        _stamps.pop(name, None)
    _last_scans.clear()
    return sorted(known)


def _forget_listings(folders: tuple[Path, ...]) -> None:
    """Let Python look for files that are younger than its last look: in the workspace before each load, elsewhere every
    `OTHER_FOLDERS_S`. What it has listed of a folder is out of date only where a file came within the same tick of the
    file system's clock: else it sees that the folder's time has changed.
    """
    global _others_at  # noqa: PLW0603 - the one place that replaces it
    now = time.monotonic()
    if now >= _others_at:
        importlib.invalidate_caches()
        _others_at = now + OTHER_FOLDERS_S
        return
    starts = _starts(folders)
    for folder, finder in sys.path_importer_cache.copy().items():
        forget = getattr(finder, "invalidate_caches", None)  # a finder need not have it
        if forget is not None and f"{folder}{os.sep}".startswith(starts):
            forget()


def unload_same_names(folder: Path) -> list[str]:
    """Forget modules of other folders that have the name of a module in this one, and return their names: what lies
    beside a swarm's file is its own.
    """
    forgotten: list[str] = []
    start = f"{str(folder).rstrip(os.sep)}{os.sep}"
    for name, (module, _) in list(_stamps.items()):
        if _normalized(str(module.__file__)).startswith(start):
            continue
        top = f"{start}{name.partition('.')[0]}"
        if os.path.exists(f"{top}.py") or os.path.exists(f"{top}{os.sep}__init__.py"):  # noqa: PTH110 - for every run
            sys.modules.pop(name, None)
            _stamps.pop(name, None)
            forgotten.append(name)
    return forgotten


def record_imports(*folders: Path, since: float) -> None:
    """Take down what has been imported from `folders` by now, by an import that began at `since` (`time.time`)."""
    for name, (module, path) in _workspace_modules(folders).items():
        if name not in _stamps or _stamps[name][0] is not module:
            stamp = _stamp(path)
            # Written while it was being read: it is not known what was read.
            _stamps[name] = (module, stamp if stamp[0] < since * 1e9 else (0, 0))


def import_instant() -> float:
    """The instant for `record_imports`, a little early: file systems keep coarser time than clocks."""
    return time.time() - 0.02


_Found = dict[str, tuple[ModuleType, str]]


def _workspace_modules(folders: tuple[Path, ...]) -> _Found:
    """The modules of the workspace by name, with their files.

    Asked for every run, and hardly ever is another module there than the last time.
    """
    last = _last_scans.get(folders)
    if last is None or not last.holds():
        # `copy` is one operation: a list of pairs may be interrupted by a thread or a finalizer that imports.
        table = sys.modules.copy()
        found, whole = _scan(folders, table)
        last = _Scan(table, [name for name in table if name.startswith(SWARM_FOLDERS)], found)
        _last_scans.clear()
        if whole:
            _last_scans[folders] = last
    return last.found


class _Scan(NamedTuple):
    """What was found among which modules. Of them `own` are swarms' own files, imported again for every run."""

    modules: dict[str, Any]
    own: list[str]
    found: _Found

    def holds(self) -> bool:
        """Whether the same modules are there, under the same names; swarms' own may be others."""
        for name in self.own:
            self.modules[name] = sys.modules.get(name)
        return sys.modules == self.modules  # by identity, where nothing has changed


_last_scans: dict[tuple[Path, ...], _Scan] = {}
"""The last one, by its folders. No more are kept: it keeps modules alive."""


def _scan(folders: tuple[Path, ...], table: Mapping[str, ModuleType]) -> tuple[_Found, bool]:
    """Look at all modules. False beside what was found: one of them is being imported now, and was passed over."""
    found: _Found = {}
    whole = True
    starts = _starts(folders)
    places = _places(folders)
    # A process has thousands of modules: those that were looked at before, and are not the workspace's, are passed over
    # at once.
    others = places.others
    for name, module in [each for each in table.items() if others.get(each[0]) is not each[1]]:
        known = places.own.get(name)
        if known is not None and known[0]() is module:
            found[name] = (module, known[1])
            continue
        if name.startswith(SWARM_FOLDERS) or not issubclass(type(module), ModuleType):
            continue
        # Read off the module's own dict: an attribute of it may be user code (PEP 562), or load it (LazyLoader).
        space = object.__getattribute__(module, "__dict__")
        if getattr(space.get("__spec__"), "_initializing", False):
            whole = False  # another load is importing it now, and Python looks for it here when it is done
            continue
        file = space.get("__file__")
        inside = isinstance(file, str) and _normalized(file).startswith(starts)
        path = Path(file) if inside else None
        if path is None or not _is_workspace_file(name, path, folders):
            others[name] = module
        else:
            places.own[name] = (ref(module), str(path))
            found[name] = (module, str(path))
    return found, whole


@lru_cache(maxsize=64)
def _starts(folders: tuple[Path, ...]) -> tuple[str, ...]:
    """How the paths of files in these folders begin."""
    return tuple(f"{str(folder).rstrip(os.sep)}{os.sep}" for folder in folders)


class _Places(NamedTuple):
    """The modules that were looked at for some folders, by name. Those of the workspace are not kept alive."""

    own: dict[str, tuple[ref[ModuleType], str]]
    others: dict[str, ModuleType]


@lru_cache(maxsize=64)
def _places(_folders: tuple[Path, ...]) -> _Places:
    return _Places({}, {})


def _normalized(file: str) -> str:
    """As `Path` writes it. A path is made only of what it would write in another way: it takes longer than all else."""
    odd = "//" in file or "/./" in file or file.startswith("./") or file.endswith(("/", "/."))
    return str(Path(file)) if odd or not file else file


def _is_workspace_file(name: str, path: Path, folders: tuple[Path, ...]) -> bool:
    """Whether a module's file is one of the workspace: no swarm's own, none of ours, no library."""
    if name == "__main__" or name.startswith(SWARM_FOLDERS) or name.partition(".")[0] in OUR_PACKAGES:
        return False
    inside = next((path.relative_to(folder) for folder in folders if path.is_relative_to(folder)), None)
    return inside is not None and not any(part in _LIBRARY_FOLDERS or part.startswith(".") for part in inside.parts)


def _all_unchanged(known: _Found) -> bool:
    for name, (module, path) in known.items():
        seen = _stamps.get(name)
        if seen is not None and seen[0] is module and seen[1] != _stamp(path):
            return False
    return True


def _stamp(path: str) -> FileStamp:
    try:
        found = os.stat(path)  # noqa: PTH116 - for every run
    except OSError:
        return (-1, -1)
    return found.st_mtime_ns, found.st_size
