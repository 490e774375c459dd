"""What to say of a reference that leads to no agent and no swarm: one line with the place and what to do. Pure."""

from __future__ import annotations

import inspect
import re
import traceback
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Final

import orbiter
from orbiter import models
from orbiter._internal.user_code import text_with_timeout
from orbiter.errors import OrbiterError
from orbiter.guests.frameworks import FRAMEWORKS, framework_of, framework_of_module
from orbiter.tool import Tool
from runtime.judgement.reports.tracebacks import is_user_code

_CANNOT_IMPORT: Final = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<package>[\w.]+)'")
"""What Python says where a module is there and a name in it is not; its exception has the name from 3.12 on."""


class SwarmLoadError(OrbiterError):
    """A swarm's reference does not lead to a swarm."""


def is_runnable(found: Any) -> bool:
    """Whether it is an agent or a swarm, or looks like one. Classes of agents, modules such as `asyncio` and tools of
    LangChain have `run` too.
    """
    if framework_of(found) is not None:
        return True
    return hasattr(found, "run") and not isinstance(found, type | ModuleType) and not _is_langchain_tool(found)


def explain_refusal(found: Any, ref: str, module: ModuleType, *, made: bool = False) -> str:
    """What to say of a value that is not an agent or a swarm. `made`: a function that `ref` names gave it."""
    attribute = ref.rpartition(":")[2]
    if _is_builder(found):
        return (
            f"{ref} {'gives' if made else 'is'} a graph that is not compiled: name what compile() gives,"
            f" as in graph = {attribute if attribute.isidentifier() and not made else 'builder'}.compile()"
        )
    if inspect.iscoroutinefunction(found):
        return (
            f"{ref} is an async function, and an agent is made before there is a loop: write it with def,"
            f" as in def {attribute}(): return Agent(...)"
        )
    return (
        f"{ref} {'gives' if made else 'is'} {_kind(found)}, not an agent or a swarm:"
        f" {'let it return one' if made else 'name the variable that holds one'}; {runnable_names(module)}"
    )


def runnable_names(module: ModuleType) -> str:
    """What to name instead."""
    names = [name for name, value in vars(module).items() if _is_named(value)]
    return (
        f"it defines: {', '.join(names)}"
        if names
        else "it defines nothing that runs: write an agent or a swarm into it, as in swarm = Swarm(agents=[...])"
    )


def explain_error(exc: BaseException, where: str) -> str:
    """What a user's file raised while it was loaded: the innermost line of user code, what was raised, and what to do.
    `where` stands where none of the lines is user code.
    """
    if isinstance(exc, OSError) and exc.filename == where:  # not what its code does: the file itself
        return f"{where} cannot be read: {exc.strerror}"
    if isinstance(exc, SyntaxError):
        line = f", line {exc.lineno}" if exc.lineno else ""  # 0 or None: the error is of the whole file
        return f"{exc.filename or where}{line}: {exc.msg}: correct it and try again"
    frames = [frame for frame in traceback.extract_tb(exc.__traceback__) if is_user_code(frame.filename)]
    place = f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else where
    said = " ".join(text_with_timeout(exc).split())
    if isinstance(exc, OrbiterError) and said:  # it says what to do
        do = exc.suggestion or ""
        return f"{place}: {said}. {do}" if do and do not in said else f"{place}: {said}"
    what = f"{type(exc).__name__}: {said}" if said else type(exc).__name__
    return f"{place}: {what}: {_remedy(exc)}"


def _remedy(exc: BaseException) -> str:
    """What to do about an error in a user's file."""
    if not isinstance(exc, ImportError):
        return "correct it and try again"
    if (missing := _CANNOT_IMPORT.match(str(exc))) is not None:
        return _where_it_is(missing["name"], missing["package"])
    framework = framework_of_module(exc.name or "")
    return "install what it needs into this environment" + (f": {framework.install}" if framework is not None else "")


def _where_it_is(name: str, package: str) -> str:
    """Where to import a name from that the module does not have."""
    homes = _homes_of(name) if package.partition(".")[0] == orbiter.__name__ else []
    if homes:
        return f"write: from {homes[0]} import {name}"
    return f"correct the name, or install the version of {package} that has it"


def _homes_of(name: str) -> list[str]:
    """The public modules of the framework that offer this name."""
    packages = {"orbiter.": orbiter.__path__, "orbiter.models.": models.__path__}
    names = [each.name for prefix, path in packages.items() for each in iter_modules(path, prefix) if not each.ispkg]
    return [each for each in names if name in getattr(import_module(each), "__all__", ())]


def _is_named(value: Any) -> bool:
    """Whether a module's variable is worth naming."""
    return framework_of(value) is not None or (is_runnable(value) and callable(value.run))


def _kind(found: Any) -> str:
    if isinstance(found, Tool) or _is_langchain_tool(found):
        return "a tool"
    if isinstance(found, type):
        return "a class"
    if callable(found):
        return "a function that takes arguments"
    kind = type(found).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def _is_builder(found: Any) -> bool:
    """Whether `compile` makes a graph of it."""
    return _is_one_of(found, {(each.module, name) for each in FRAMEWORKS for name in each.builders})


def _is_langchain_tool(found: Any) -> bool:
    return _is_one_of(found, {("langchain_core", "BaseTool")})


def _is_one_of(found: Any, classes: set[tuple[str, str]]) -> bool:
    """Whether it is of one of the classes, each told by its top module and its name."""
    return any((each.__module__.partition(".")[0], each.__name__) in classes for each in type(found).__mro__)
