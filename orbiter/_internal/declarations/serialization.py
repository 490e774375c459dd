"""What agents and swarms need to be written as JSON, and read.

Code is named by dotted path, never pickled: what has no importable name is refused.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from orbiter.errors import AgentError
from orbiter.tool import FunctionTool, Tool


class SerialisationError(AgentError, ValueError):
    """Something cannot be written as JSON, or read from it. Also a `ValueError`."""


def dotted_path(thing: Any, owner: str) -> str:
    """``package.module.name`` of a function, class or module-level object, checked by looking it up.

    Raises:
        SerialisationError: It cannot be imported by a name: a lambda, a closure, something local or renamed.
    """
    module, name = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    if not name or "<" in name or _find(module, name) is None:
        raise _not_importable_error(thing, owner, f"'{module}.{name}' cannot be imported")
    return f"{module}.{name}"


def tool_path(tool: Any, owner: str) -> str:
    """The dotted path from which `import_tool` makes an equal tool: of its function, or of its class.

    Raises:
        SerialisationError: No path makes an equal tool.
    """
    if not isinstance(tool, FunctionTool):
        path = dotted_path(type(tool), owner)
        try:
            same = vars(type(tool)()) == vars(tool)
        except TypeError:
            same = False
        if not same:
            raise _not_importable_error(tool, owner, "it was made with arguments of its own")
        return path
    path = dotted_path(tool.__wrapped__, owner)
    found = import_dotted(path, owner)
    made = found if isinstance(found, FunctionTool) else FunctionTool(found)
    if made is not tool and (made.name, made.to_schema(), made.traits) != (tool.name, tool.to_schema(), tool.traits):
        raise _not_importable_error(tool, owner, f"'{path}' is another tool")
    return path


def import_tool(path: str, owner: str) -> Any:
    """The tool, or the function to make one of, that a dotted path names.

    Raises:
        SerialisationError: It leads nowhere.
    """
    found = import_dotted(path, owner)
    return found() if isinstance(found, type) and issubclass(found, Tool) else found


def _not_importable_error(thing: Any, owner: str, why: str) -> SerialisationError:
    return SerialisationError(
        f"{owner}: {thing!r} cannot be serialised: {why}", suggestion="Define it at the top level of a module."
    )


def _find(module: str, name: str) -> Any:
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found


def import_dotted(path: str, owner: str) -> Any:
    """What a dotted path names.

    Raises:
        SerialisationError: It leads nowhere.
    """
    parts = path.replace(":", ".").split(".")
    for split in range(len(parts) - 1, 0, -1):
        found = _find(".".join(parts[:split]), ".".join(parts[split:]))
        if found is not None:
            return found
    raise SerialisationError(f"{owner}: '{path}' cannot be imported", suggestion="Is its module on the import path?")
