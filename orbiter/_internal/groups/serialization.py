"""Agents and swarms as JSON. Code is named by dotted path, never pickled: what has no importable name is refused."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from orbiter.errors import AgentError

if TYPE_CHECKING:
    from orbiter.agent import Agent
    from orbiter.swarm import Swarm

A = TypeVar("A", bound="Agent")
S = TypeVar("S", bound="Swarm")

_PLAIN = ("model", "max_steps", "temperature", "max_tokens")


class SerialisationError(AgentError, ValueError):
    """Something cannot be written as JSON, or read from it. Also a `ValueError`."""


def dotted_path(thing: Any, owner: str) -> str:
    """``package.module.name`` of a function, class or module-level object, checked by looking it up.

    Raises:
        SerialisationError: It cannot be imported by a name: a lambda, a closure, something local or renamed.
    """
    module, name = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    if not name or "<" in name or _found(module, name) is None:
        raise _unnamed(thing, owner, f"'{module}.{name}' cannot be imported")
    return f"{module}.{name}"


def tool_path(tool: Any, owner: str) -> str:
    """The dotted path from which `agent_from_dict` makes an equal tool: of its function, or of its class.

    Raises:
        SerialisationError: There is none: what would be made is another tool.
    """
    from orbiter.tool import FunctionTool

    if not isinstance(tool, FunctionTool):
        path = dotted_path(type(tool), owner)
        try:
            same = vars(type(tool)()) == vars(tool)
        except TypeError:
            same = False
        if not same:
            raise _unnamed(tool, owner, "it was made with arguments of its own")
        return path
    path = dotted_path(tool.__wrapped__, owner)
    found = import_dotted(path, owner)
    made = found if isinstance(found, FunctionTool) else FunctionTool(found)
    if made is not tool and (made.name, made.to_schema(), made.traits) != (tool.name, tool.to_schema(), tool.traits):
        raise _unnamed(tool, owner, f"'{path}' is another tool")
    return path


def _unnamed(thing: Any, owner: str, why: str) -> SerialisationError:
    return SerialisationError(
        f"{owner}: {thing!r} cannot be serialised: {why}", suggestion="Define it at the top level of a module."
    )


def _found(module: str, name: str) -> Any:
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
        found = _found(".".join(parts[:split]), ".".join(parts[split:]))
        if found is not None:
            return found
    raise SerialisationError(f"{owner}: '{path}' cannot be imported", suggestion="Is its module on the import path?")


def agent_to_dict(agent: Agent, _inside: tuple[str, ...] = ()) -> dict[str, Any]:
    """See `Agent.to_dict`."""
    owner = f"Agent '{agent.name}'"
    if agent.name in _inside:
        raise SerialisationError(f"{owner}: handoffs go round in a circle: {' -> '.join((*_inside, agent.name))}")
    if not isinstance(agent.instructions, str):
        raise SerialisationError(f"{owner}: callable instructions cannot be serialised", suggestion="Use a string.")
    if any(agent.hook_manager.has_hooks(point) for point in _points()):
        raise SerialisationError(f"{owner}: hooks cannot be serialised", suggestion="Add them after from_dict().")
    for name in ("memory", "context", "classify_error", "get_retry_policy"):
        if vars(agent).get(name) is not None:
            raise SerialisationError(f"{owner}: {name} cannot be serialised", suggestion="Set it after from_dict().")
    inside = (*_inside, agent.name)
    return {
        "name": agent.name,
        "instructions": agent.instructions,
        **{name: getattr(agent, name) for name in _PLAIN},
        "tools": [tool_path(tool, owner) for tool in agent.tools.values()],
        "handoffs": [agent_to_dict(other, inside) for other in agent.handoffs.values()],
        "output_type": dotted_path(agent.output_type, owner) if agent.output_type is not None else None,
        "fallbacks": list(agent.fallbacks),
        "failure": {place: getattr(agent.failure, place) for place in ("model", "tool", "agent")},
    }


def agent_from_dict(kind: type[A], data: Mapping[str, Any]) -> A:
    """See `Agent.from_dict`."""
    fields = dict(data)
    if not isinstance(fields.get("name"), str):
        raise SerialisationError("An agent needs a 'name'", context={"keys": sorted(map(str, data))})
    owner = f"Agent '{fields['name']}'"
    known = {"name", "instructions", *_PLAIN, "tools", "handoffs", "output_type", "fallbacks", "failure"}
    unknown = set(fields) - known
    if unknown:
        raise SerialisationError(f"{owner}: unknown keys {sorted(unknown)}; known are {sorted(known)}")
    fields["tools"] = [_tool(import_dotted(path, owner)) for path in fields.get("tools") or ()]
    fields["handoffs"] = [agent_from_dict(kind, each) for each in fields.get("handoffs") or ()]
    if fields.get("output_type") is not None:
        fields["output_type"] = import_dotted(fields["output_type"], owner)
    return kind(**fields)


def _tool(found: Any) -> Any:
    from orbiter.tool import Tool

    return found() if isinstance(found, type) and issubclass(found, Tool) else found


def _points() -> Any:
    from orbiter.hooks import HookPoint

    return HookPoint


def swarm_to_dict(swarm: Swarm) -> dict[str, Any]:
    """See `Swarm.to_dict`."""
    agents = []
    for agent in swarm.agents.values():
        if not hasattr(agent, "hook_manager"):
            raise SerialisationError(
                f"Swarm '{swarm.name}': '{agent.name}' is a {type(agent).__name__} and cannot be serialised",
                suggestion="Only swarms of plain agents can.",
            )
        agents.append(agent_to_dict(agent))
    described = {"agents": agents, "flow": swarm.flow, "mode": swarm.mode, "max_handoffs": swarm.max_handoffs}
    return {**described, **_recovery_to_dict(swarm)}


def _recovery_to_dict(swarm: Swarm) -> dict[str, Any]:
    """What is said of failures in it, where anything is."""
    rescue = swarm.rescue
    stand_ins = {name: [agent_to_dict(each) for each in chain] for name, chain in rescue.agents.items()}
    fallbacks = {**{model: list(chain) for model, chain in rescue.models.items()}, **stand_ins}
    found = {"planner": rescue.planner, "router": rescue.router, "fallbacks": fallbacks, "budget": dict(rescue.budget)}
    return {name: value for name, value in found.items() if value}


def swarm_from_dict(kind: type[S], data: Mapping[str, Any]) -> S:
    """See `Swarm.from_dict`. Handoffs lead to the swarm's own agents where they have the same name."""
    from orbiter.agent import Agent

    unknown = set(data) - {"agents", "flow", "mode", "max_handoffs", "planner", "router", "fallbacks", "budget"}
    if unknown:
        raise SerialisationError(f"A swarm has no keys {sorted(unknown)}")
    agents = [agent_from_dict(Agent, each) for each in data.get("agents", ())]
    by_name = {agent.name: agent for agent in agents}
    for agent in agents:
        agent.handoffs = {name: by_name.get(name, other) for name, other in agent.handoffs.items()}
    return kind(
        agents=agents,
        flow=data.get("flow"),
        mode=data.get("mode", "workflow"),
        max_handoffs=data.get("max_handoffs", 10),
        planner=data.get("planner"),
        router=data.get("router"),
        fallbacks={
            name: [each if isinstance(each, str) else agent_from_dict(Agent, each) for each in chain]
            for name, chain in (data.get("fallbacks") or {}).items()
        },
        budget=data.get("budget"),
    )
