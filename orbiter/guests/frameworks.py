"""The frameworks whose agents can be run, how an agent of theirs is recognised, and which versions are supported.

An agent is recognised by the module and name of its class, so that looking at it imports nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from orbiter.errors import ConfigurationError


@dataclass(slots=True, frozen=True)
class Framework:
    """A framework whose agents run here."""

    name: str
    """As it is shown, and the name of our extra that installs it."""
    distribution: str
    """The package whose version counts."""
    module: str
    """The top module of its classes."""
    classes: tuple[str, ...]
    """Classes of it whose instances are agents, subclasses included."""
    importable: tuple[str, ...]
    """Names under which a user's file imports such classes, and functions that make such agents."""
    lowest: tuple[int, ...]
    """The oldest supported version."""
    below: int
    """The major version of the first one that is not supported."""
    adapter: str
    """Module and class of its `Guest`."""
    unnamed: str = ""
    """What it calls an agent that was given no name."""
    makers: tuple[str, ...] = ()
    """Top modules of other packages that make its agents."""
    graphs: tuple[str, ...] = ()
    """Of `importable`: what is called a graph, not an agent."""
    builders: tuple[str, ...] = ()
    """Classes of it whose method `compile` gives a graph."""
    decorators: tuple[str, ...] = ()
    """Names under which a user's file imports what makes a graph of a function."""
    middleware: str = ""
    """The function that gives our middleware; an agent that is made without it is recorded less finely."""
    finer_agent: str = ""
    """How the steps of such an agent are made finer, in one line."""
    finer_graph: str = ""
    """The same of a graph."""
    below_minor: int = 0
    """With `below`: the minor version, where a framework may change with each of them."""

    @property
    def install(self) -> str:
        """The command that installs a supported version."""
        return f"pip install 'orbiter-console[{self.name}]'"


FRAMEWORKS: tuple[Framework, ...] = (
    Framework(
        name="pydantic-ai",
        distribution="pydantic-ai-slim",
        module="pydantic_ai",
        classes=("AbstractAgent",),
        importable=("Agent",),
        lowest=(2, 68),
        below=3,
        adapter="orbiter.guests.pydantic_ai.agent:PydanticAIGuest",
    ),
    Framework(
        name="langgraph",
        distribution="langgraph",
        module="langgraph",
        classes=("Pregel",),
        importable=("create_agent", "create_deep_agent", "create_react_agent", "CompiledStateGraph", "Pregel"),
        lowest=(1, 2, 22),
        below=2,
        adapter="orbiter.guests.langgraph.agent:LangGraphGuest",
        unnamed="LangGraph",
        makers=("langchain", "deepagents"),
        graphs=("CompiledStateGraph", "Pregel", "create_react_agent"),
        builders=("StateGraph",),
        decorators=("entrypoint",),
        middleware="durable_middleware",
        finer_agent="One step a call: create_agent(…, middleware=[durable_middleware()])",
        finer_graph="One step a superstep. For each effect in a node: durable(function)",
    ),
    Framework(
        name="openai-agents",
        distribution="openai-agents",
        module="agents",
        classes=("Agent",),
        importable=("Agent",),
        lowest=(0, 24),
        below=0,
        below_minor=25,
        adapter="orbiter.guests.openai_agents.agent:OpenAIAgentsGuest",
    ),
)


def framework_of(value: Any) -> Framework | None:
    """The framework of an agent; None for everything else. Imports nothing."""
    return _framework_of_class(type(value))


def is_agent_class(value: Any) -> bool:
    """Whether it is a framework's own class of agents, not an agent. Imports nothing."""
    if not isinstance(value, type) or (framework := _framework_of_class(value)) is None:
        return False
    return framework_of_module(value.__module__) is framework


def _framework_of_class(kind: type) -> Framework | None:
    for found in kind.__mro__:
        for framework in FRAMEWORKS:
            if found.__name__ in framework.classes and found.__module__.partition(".")[0] == framework.module:
                return framework
    return None


def framework_of_module(module: str) -> Framework | None:
    """The framework to which a module belongs, by its name."""
    top = module.partition(".")[0]
    return next((each for each in FRAMEWORKS if top in (each.module, *each.makers)), None)


def check_version(framework: Framework) -> None:
    """Refuse a version that was not tried.

    Raises:
        ConfigurationError: It is missing, too old, or of a major version that is not known here.
    """
    try:
        version = metadata.version(framework.distribution)
    except metadata.PackageNotFoundError as exc:
        raise ConfigurationError(
            f"agents of {framework.name} need the package {framework.distribution}, which is not installed:"
            f" {framework.install}"
        ) from exc
    lowest = ".".join(map(str, framework.lowest))
    if not framework.lowest <= _release(version) < (framework.below, framework.below_minor):
        below = f"{framework.below}.{framework.below_minor}" if framework.below_minor else str(framework.below)
        raise ConfigurationError(
            f"{framework.distribution} {version} is installed; this program runs {lowest} or newer, below {below}:"
            f" {framework.install}"
        )


def _release(version: str) -> tuple[int, int, int]:
    found = re.match(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", version)
    return (int(found[1]), int(found[2] or 0), int(found[3] or 0)) if found else (0, 0, 0)
