"""Loads the swarm that a reference names: `module:attr` or `path.py:attr`.

Whatever goes wrong becomes a `SwarmLoadError` that says which file, which line, and what to do. A user's module that
would hide one of this program's packages, or be hidden by one, is refused by name (DESIGN section 1).
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from orbiter.guests import Guest, guest
from orbiter.guests.factories import takes_middleware
from orbiter.guests.frameworks import framework_of, is_agent_class
from orbiter.text_encoding import drop_surrogates
from orbiter.tool import Tool
from runtime.judgement.reports.tracebacks import OUR_PACKAGES
from runtime.swarms import module_reload
from runtime.swarms.compiled_source import OnceCompiledLoader
from runtime.swarms.definitions import names_in
from runtime.swarms.load_errors import SwarmLoadError, explain_error, explain_refusal, is_runnable, runnable_names
from runtime.swarms.module_reload import SWARM_FOLDERS

_added_folders: list[str] = []
"""What was put on the path for swarms."""
IMPORT_TURN_S = 1.0
"""How long, in seconds, a load keeps other loads waiting. After that they go on beside it: it may never return."""


@dataclass(slots=True, eq=False)
class _Load:
    """One load under way. `overtaken`: another load has changed what is importable, or where, meanwhile."""

    beside: Path
    began: float = field(default_factory=time.monotonic)
    since: float = field(default_factory=module_reload.import_instant)
    overtaken: bool = False


class _ImportTurns:
    """Lets loads go one after the other, because forgetting modules and importing them is one act.

    A load that takes longer than `IMPORT_TURN_S` loses its turn: no lock is held while user code runs. If the one that
    goes on beside it forgets modules, or puts another folder first on the path, the slow load is `overtaken`: it may
    hold a mixture of both, and has to be done again.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way: list[_Load] = []
        self._writes = sys.dont_write_bytecode

    def begin(self, beside: Path, folders: tuple[Path, ...]) -> _Load:
        """Wait for the turn, then forget the modules that must be imported again."""
        with self._changed:
            while (
                left := max((each.began + IMPORT_TURN_S for each in self._under_way), default=0.0) - time.monotonic()
            ) > 0:
                self._changed.wait(left)
            load = _Load(beside)
            if not self._under_way:
                # Python tells versions of a file apart by whole seconds and size only, so no bytecode is written.
                self._writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
            forgotten = [*module_reload.unload_changed(*folders), *module_reload.unload_same_names(beside)]
            for each in self._under_way:
                each.overtaken = each.overtaken or bool(forgotten) or each.beside != beside
            self._under_way.append(load)
            return load

    def end(self, load: _Load, folders: tuple[Path, ...]) -> None:
        """The import has ended, with or without an error."""
        with self._changed:
            # What another load imports at the same time was read no earlier than that one began.
            module_reload.record_imports(*folders, since=min(each.since for each in self._under_way))
            self._under_way.remove(load)
            if not self._under_way:
                sys.dont_write_bytecode = self._writes
            self._changed.notify()  # one alone can have the turn, and lets the next one know


_turns = _ImportTurns()


def absolute_ref(ref: str, root: Path) -> str:
    """`ref` with a file's path made absolute against `root`; a module's reference stays as it is.

    Raises:
        SwarmLoadError: `ref` has not the form of a reference, or names a file that is not there or whose path cannot be
            recorded.
    """
    target, _, attribute = ref.rpartition(":")
    relative = target.startswith(".") and not _is_path(target)
    if not target or not attribute or relative:
        named = _defined(ref, root)
        raise SwarmLoadError(
            f"{ref!r} is not a reference to a swarm: write path/to/file.py:name or package.module:name{named}"
        )
    if not _is_path(target):
        return ref
    real = os.path.realpath(_existing(target, root))
    if drop_surrogates(real) != real:
        raise SwarmLoadError(f"{real}: a path that is not UTF-8 cannot be recorded; rename the folder or the file")
    return f"{real}:{attribute}"


def _existing(target: str, root: Path) -> str:
    """The path of a swarm's file, which is there."""
    path = os.path.join(root, target)  # noqa: PTH118 - as text, for every run
    if not os.path.isfile(path):  # noqa: PTH113
        raise SwarmLoadError(
            f"{target}: no such file (looked in {root}); give the path of the file that defines the swarm"
        )
    return path


def _defined(ref: str, root: Path) -> str:
    """What could be named in the file, if that is all that `ref` names."""
    file = ref.strip(":")
    names = names_in(root / file) if file.endswith(".py") else []
    return f"; {file} defines: {', '.join(f'{file}:{name}' for name in names)}" if names else ""


def load_swarm(ref: str, root: Path, begun: Callable[[], None] = lambda: None) -> Any:
    """The agent or swarm that `ref` names; a callable without parameters is called for it, and an agent of another
    framework is taken in as a guest.

    This runs user code, which may never return: see `runtime.swarms.imports` for a load with a limit. `begun` is called
    when it is this load's turn.

    Raises:
        SwarmLoadError: with the file, the line and what to do; for whatever the user's code raises.
    """
    target, _, attribute = ref.rpartition(":")
    if attribute and os.path.isabs(target):  # noqa: PTH117 - as text, for every run
        _existing(target, root)  # a run has its reference as `absolute_ref` made it: its links were followed then
    else:
        ref = absolute_ref(ref, root)
    try:
        return _loaded(ref, root, begun)
    except SwarmLoadError:
        raise
    except BaseException as exc:
        raise SwarmLoadError(explain_error(exc, ref)) from exc


def _loaded(ref: str, root: Path, begun: Callable[[], None]) -> Any:
    target, _, attribute = ref.rpartition(":")
    module = _import_fresh(target, root, begun)
    found = _attribute(module, attribute, target)
    made = not is_runnable(found) and callable(found)
    if made:
        found = guest(found) if takes_middleware(found) else found()
    if framework_of(found) is not None:
        found = guest(found)
    if isinstance(found, Guest) and not found.name:
        found.name = attribute.rpartition(".")[2]
    if not is_runnable(found) or not callable(getattr(found, "run", None)):
        raise SwarmLoadError(explain_refusal(found, ref, module, made=made))
    return found


def _import_fresh(target: str, root: Path, begun: Callable[[], None]) -> ModuleType:
    """The module, imported again if files of the workspace have changed."""
    beside = Path(target).parent if _is_path(target) else root
    whole = _resolved(root)
    folders = (root, whole, beside)
    while True:
        load = _turns.begin(beside, folders)
        try:
            begun()
            module = _from_file(Path(target), root, whole) if _is_path(target) else _from_name(target, root)
        except BaseException:
            if not load.overtaken:
                raise
        else:
            if not load.overtaken:
                return module
        finally:
            _turns.end(load, folders)


@lru_cache(maxsize=64)
def _resolved(root: Path) -> Path:
    """Without symbolic links. A workspace stays where it is while a process has it."""
    return root.resolve()


def _is_path(target: str) -> bool:
    return target.endswith(".py") or "/" in target


def _from_file(path: Path, root: Path, whole: Path) -> ModuleType:
    """The module of a file; `whole` is `root` without symbolic links."""
    if path.stem in OUR_PACKAGES:
        ours = importlib.import_module(path.stem).__file__
        raise SwarmLoadError(f"{path} would hide {ours}, a package of this program: rename the file")
    # A name that depends on the path: two files of the same name in one runtime do not become each other.
    name = f"{SWARM_FOLDERS}{hashlib.sha256(str(path).encode()).hexdigest()[:12]}_{path.stem}"
    loader = OnceCompiledLoader(name, str(path)) if path.suffix == ".py" else None
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None or spec.loader is None:
        raise SwarmLoadError(f"{path} must be a Python file, for example swarm.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path).startswith((f"{str(root).rstrip(os.sep)}{os.sep}", f"{str(whole).rstrip(os.sep)}{os.sep}")):
        _on_sys_path(root)  # a file of a package imports the package by its name, as under `python -m`
    _on_sys_path(path.parent)
    try:
        spec.loader.exec_module(module)
    except BaseException as exc:
        if sys.modules.get(name) is module:
            del sys.modules[name]
        raise SwarmLoadError(explain_error(exc, str(path))) from exc
    return module


def _from_name(name: str, root: Path) -> ModuleType:
    top = name.partition(".")[0]
    _on_sys_path(root)
    if top in OUR_PACKAGES:
        for candidate in (root / f"{top}.py", root / top / "__init__.py"):
            ours = importlib.import_module(top).__file__
            if candidate.is_file() and ours is not None and candidate.resolve() != Path(ours).resolve():
                raise SwarmLoadError(f"{candidate} is hidden by {ours}, a package of this program: rename it")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as exc:
        if exc.name is not None and (name == exc.name or name.startswith(f"{exc.name}.")):
            raise SwarmLoadError(
                f"module {name!r} was not found (looked in {root} and in this Python's packages)"
            ) from exc
        raise SwarmLoadError(explain_error(exc, name)) from exc
    except BaseException as exc:
        raise SwarmLoadError(explain_error(exc, name)) from exc


def _on_sys_path(folder: Path) -> None:
    """Let modules in `folder` be found: after all that was there before, so that a user's file never takes the place
    of a package of ours, but before the folders of other swarms.
    """
    name = str(folder)
    if name in sys.path:
        if name not in _added_folders:
            return
        sys.path.remove(name)
    elif name not in _added_folders:
        _added_folders.append(name)
    first = next((index for index, each in enumerate(sys.path) if each in _added_folders), len(sys.path))
    sys.path.insert(first, name)


def _attribute(module: ModuleType, attribute: str, target: str) -> Any:
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise SwarmLoadError(f"{target} has no {attribute!r}; {runnable_names(module)}")
        found = getattr(found, part)
    if is_runnable(found):
        return found
    if inspect.iscoroutinefunction(found) or not (_needs_no_arguments(found) or takes_middleware(found)):
        raise SwarmLoadError(explain_refusal(found, f"{target}:{attribute}", module))
    return found


def _needs_no_arguments(found: Any) -> bool:
    """Whether it can be called for a swarm."""
    if isinstance(found, Tool) or is_agent_class(found):
        return False
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError):
        return False
    return True
