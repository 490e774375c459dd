"""Failures that go back into the swarm instead of to a person: another plan, another agent, past the failed one.

Where they go is read from what the swarm's author declared (`NodeOpened.info`); how often is bounded, so that no
planner is asked for ever; that they went is an event, so that a later life does the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from orbiter.steps import HandedBack
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Node, RunState
from runtime.record.state.fault_taxonomy import Classification, Remedy

LIMITS = {"replan": 2, "reroute": 1}
"""How often a swarm's planner, or router, gets a failure back (DESIGN section 8); then a person does."""

Wish = Literal["replan", "reroute"]
_WISHES: dict[Remedy, Wish] = {Remedy.REPLAN: "replan", Remedy.REROUTE: "reroute"}
_ROLES: dict[Wish, str] = {"replan": "planner", "reroute": "router"}


def wish_of(fault: Classification) -> Wish | None:
    """What the fault's author asked for, if it is one of these."""
    return _WISHES.get(fault.proposal) if fault.proposal is not None else None


def back_to_swarm(state: RunState, node_id: str, fault: Classification, wish: Wish) -> ev.ControlReturned | None:
    """The way to the planner or router of the nearest swarm that has one elsewhere; None if there is none, or it was
    asked often enough.
    """
    for swarm, below, to in _elsewhere(state, node_id, wish):
        if _asked(state, swarm.id, wish) >= LIMITS[wish]:
            continue
        who = next((node.name for node in reversed(below) if node.kind == "agent"), "")
        reason = _words(fault, wish, who)
        return ev.ControlReturned(node_id=node_id, remedy=wish, scope=swarm.id, to=to, reason=reason)
    return None


def to_itself(state: RunState, node_id: str, fault: Classification, wish: Wish) -> ev.ControlReturned | None:
    """The way to the agent whose own tool failed: it plans by itself where nobody else does. None where somebody does,
    or it was asked often enough.
    """
    agent = next((node for node in reversed(state.lineage(node_id)) if node.kind == "agent"), None)
    if agent is None or any(_elsewhere(state, node_id, wish)) or _asked(state, agent.id, wish) >= LIMITS[wish]:
        return None
    reason = _words(fault, wish, "")
    return ev.ControlReturned(node_id=node_id, remedy=wish, scope=agent.id, to=agent.name, reason=reason)


def past(state: RunState, node_id: str, fault: Classification) -> ev.ControlReturned | None:
    """The way past a failed agent: to one that stands in, or on as the swarm's failure policy says; None if none."""
    said = fault.user_message or fault.technical
    lineage = state.lineage(node_id)
    for at in range(len(lineage) - 2, -1, -1):
        node = lineage[at]
        if node.info.get("in_turn"):
            names = [str(name) for name in node.info.get("members", ())]
            number = _number(lineage[at + 1])
            if number + 1 < len(names):
                to = names[number + 1]
                return ev.ControlReturned(node_id=node_id, remedy="stand_in", scope=node.id, to=to, reason=said)
        if node.kind == "swarm" and node.info.get("failure") in ("degrade", "continue"):
            return ev.ControlReturned(node_id=node_id, remedy="go_on", scope=node.id, reason=said)
    return None


def error_of(returned: ev.ControlReturned) -> HandedBack:
    """What is raised at the framework, now and when it is recalled."""
    return HandedBack(returned.reason, remedy=returned.remedy, scope=returned.scope, to=returned.to)


def metadata_text(fault: Classification, *names: str) -> Iterator[str]:
    """Of what the author said of the failure, what stands under `names`, as text."""
    for name in names:
        value: Any = fault.metadata.get(name)
        if isinstance(value, list):
            value = ", ".join(str(each) for each in value)
        if value:
            yield str(value)


def _words(fault: Classification, wish: Wish, who: str) -> str:
    """The reason, for the model that is to do better."""
    subject = f"'{who}' could not do its part" if who else "This could not be done"
    found = [f"{subject}: {fault.user_message or fault.technical}"]
    found.extend(f"Reason: {text}" for text in metadata_text(fault, "replanning_reason", "reclassification_reason"))
    found.extend(f"Needed: {text}" for text in metadata_text(fault, "required_context"))
    if fault.suggestions:
        found.append(f"Suggestions: {'; '.join(fault.suggestions)}")
    found.append("Make another plan." if wish == "replan" else "Choose another agent or another way for it.")
    return "\n".join(found)


def _elsewhere(state: RunState, node_id: str, wish: Wish) -> Iterator[tuple[Node, list[Node], str]]:
    """Swarms around a node whose planner, or router, is another agent than the one that fails, each with its name."""
    for swarm, below in _swarms_above(state, node_id):
        to = str(swarm.info.get(_ROLES[wish], ""))
        if to and not _inside(below, to, str(swarm.info.get("mode", ""))):
            yield swarm, below, to


def _swarms_above(state: RunState, node_id: str) -> Iterator[tuple[Node, list[Node]]]:
    """Swarms around a node, innermost first, each with what lies between."""
    lineage = state.lineage(node_id)
    for at in range(len(lineage) - 1, -1, -1):
        if lineage[at].kind == "swarm":
            yield lineage[at], lineage[at + 1 :]


def _inside(below: list[Node], name: str, mode: str) -> bool:
    """Whether it is the wanted agent itself that fails; in a team, also not one of those that it delegated to."""
    agents = [node for node in below if node.kind == "agent"]
    if mode == "team":
        return not any(node.kind == "tool" and not node.is_step for node in below)
    return bool(agents) and agents[0].name == name


def _asked(state: RunState, scope: str, wish: Wish) -> int:
    return sum(found.remedy == wish and found.scope == scope for found in state.returned)


def _number(node: Node) -> int:
    """Which member of a chain a node is: its place counts them."""
    return int(node.id.rpartition("~")[2].partition(".")[0])
