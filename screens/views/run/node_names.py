"""The names in a node's path."""

from __future__ import annotations

from functools import lru_cache

from runtime.record.state.durable_run import DurableRun, Node
from screens.views.shared.render_context import RenderContext


@lru_cache(maxsize=4096)
def names_in(node_id: str) -> tuple[str, ...]:
    """The names from the root down, as `orbiter.steps.segment` wrote them: ``name~place``, with three signs escaped."""
    return tuple(_unescaped(part.rpartition("~")[0] or part) for part in node_id.split("/")) if node_id else ()


def shown_name(node: Node, state: DurableRun) -> str:
    """What a node is called: a swarm without a name of its own by its name in the file."""
    if node.kind == "swarm" and node.id in state.roots and is_made_up(node.name):
        return state.ref.rpartition(":")[2] or node.name
    return node.name


def is_made_up(name: str) -> bool:
    """Whether a swarm has no name of its own: it is called after its first agent then, ``swarm(planner...)``."""
    return name.startswith("swarm(") and name.endswith("...)")


def _unescaped(name: str) -> str:
    return name.replace("%7E", "~").replace("%2F", "/").replace("%25", "%")


def path_words(node_id: str, context: RenderContext) -> str:
    """`reporter › write_report`: the names of a path without its root, clean; of a root alone its name."""
    names = names_in(node_id)
    return context.glyphs.crumb.join(context.name(name) for name in names[1:] or names)


def place_words(node_id: str, context: RenderContext, *, root: bool = True) -> str:
    """`researcher · write_file`: the last two names of a path, clean; empty for the run itself, and for its root where
    that is not to be named.
    """
    names = names_in(node_id) if root else names_in(node_id)[1:]
    return context.glyphs.dot.join(context.name(name) for name in names[-2:])
