"""Rerouting of failures within a swarm: replan, reclassify, or skip the failed agent.

Where they go is read from what the swarm's author declared (`NodeOpened.info`); how often is bounded, so that no
planner is asked for ever; that they went is an event, so that a later life does the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

from orbiter.steps import HandedBack
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.fault_taxonomy import Classification, Remedy

MAX_REROUTES = {"replan": 2, "reroute": 1}
"""How often a swarm's planner, or router, gets a failure back (DESIGN section 8); then a person does."""

RerouteKind = Literal["replan", "reroute"]
_REROUTE_KINDS: dict[Remedy, RerouteKind] = {Remedy.REPLAN: "replan", Remedy.REROUTE: "reroute"}
_ROLES: dict[RerouteKind, str] = {"replan": "planner", "reroute": "router"}


def reroute_kind(fault: Classification) -> RerouteKind | None:
    """What the fault's author asked for, if it is one of these."""
    return _REROUTE_KINDS.get(fault.proposal) if fault.proposal is not None else None


def reroute_to_swarm(
    state: DurableRun, node_id: str, fault: Classification, wish: RerouteKind
) -> ev.ControlReturned | None:
    """The way to the planner or router of the nearest swarm that has one elsewhere; None if there is none, or it was
    asked often enough.
    """
    for swarm, below, to in _swarms_with_other_agent(state, node_id, wish):
        if _reroute_count(state, swarm.id, wish) >= MAX_REROUTES[wish]:
            continue
        who = next((node.name for node in reversed(below) if node.kind == "agent"), "")
        reason = _reroute_message(fault, wish, who)
        return ev.ControlReturned(node_id=node_id, remedy=wish, scope=swarm.id, to=to, reason=reason)
    return None


def reroute_to_itself(
    state: DurableRun, node_id: str, fault: Classification, wish: RerouteKind
) -> ev.ControlReturned | None:
    """The way to the agent whose own tool failed: it plans by itself where no planner does. None where one does,
    or the agent was asked often enough.
    """
    agent = next((node for node in reversed(state.lineage(node_id)) if node.kind == "agent"), None)
    if (
        agent is None
        or any(_swarms_with_other_agent(state, node_id, wish))
        or _reroute_count(state, agent.id, wish) >= MAX_REROUTES[wish]
    ):
        return None
    reason = _reroute_message(fault, wish, "")
    return ev.ControlReturned(node_id=node_id, remedy=wish, scope=agent.id, to=agent.name, reason=reason)


def reroute_past_agent(state: DurableRun, node_id: str, fault: Classification) -> ev.ControlReturned | None:
    """The way past a failed agent: to one that stands in, or on as a failure or join policy around it says; None: none
    of them does. The innermost comes first.
    """
    said = fault.user_message or fault.technical
    lineage = state.lineage(node_id)
    for at in range(len(lineage) - 2, -1, -1):
        node = lineage[at]
        if node.info.get("in_turn"):
            names = [str(name) for name in node.info.get("members", ())]
            number = _member_number(lineage[at + 1])
            if number + 1 < len(names):
                to = names[number + 1]
                return ev.ControlReturned(node_id=node_id, remedy="stand_in", scope=node.id, to=to, reason=said)
        policy_goes_on = node.kind == "swarm" and node.info.get("failure") in ("degrade", "continue")
        if policy_goes_on or node.info.get("optional"):
            scope, member = _member_below(node, lineage[at + 1 :])
            if scope and (policy_goes_on or member in node.info.get("optional", ())):
                return ev.ControlReturned(node_id=node_id, remedy="go_on", scope=scope, reason=said)
    return None


def _member_below(container: Node, below: list[Node]) -> tuple[str, str]:
    """Who goes on after a member of a swarm or group, as the id of a node, and the member's name. In a team that is the
    call with which the lead delegated; nothing goes on without the lead.
    """
    if container.info.get("mode") != "team":
        return container.id, below[0].name
    for call, member in pairwise(below):
        if call.kind == "tool" and not call.is_step:
            return call.id, member.name
    return "", ""


def fails_at_once(state: DurableRun, node_id: str) -> bool:
    """Whether a swarm around a node, in which nothing else is to be done about its failure, says `fail`."""
    above = [node for node in state.lineage(node_id) if node.kind == "swarm" and node.info.get("failure")]
    return bool(above) and above[-1].info["failure"] == "fail"


def reroute_error(returned: ev.ControlReturned) -> HandedBack:
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


def _reroute_message(fault: Classification, wish: RerouteKind, who: str) -> str:
    """The reason, for the model that is to do better."""
    subject = f"'{who}' could not do its part" if who else "This could not be done"
    found = [f"{subject}: {fault.user_message or fault.technical}"]
    found.extend(f"Reason: {text}" for text in metadata_text(fault, "replanning_reason", "reclassification_reason"))
    found.extend(f"Needed: {text}" for text in metadata_text(fault, "required_context"))
    if fault.suggestions:
        found.append(f"Suggestions: {'; '.join(fault.suggestions)}")
    found.append("Make another plan." if wish == "replan" else "Choose another agent or another way for it.")
    return "\n".join(found)


def _swarms_with_other_agent(
    state: DurableRun, node_id: str, wish: RerouteKind
) -> Iterator[tuple[Node, list[Node], str]]:
    """Swarms around a node whose planner, or router, is another agent than the one that fails, each with its name."""
    for swarm, below in _swarms_above(state, node_id):
        to = str(swarm.info.get(_ROLES[wish], ""))
        if to and not _is_within_agent(below, to, str(swarm.info.get("mode", ""))):
            yield swarm, below, to


def _swarms_above(state: DurableRun, node_id: str) -> Iterator[tuple[Node, list[Node]]]:
    """Swarms around a node, innermost first, each with what lies between."""
    lineage = state.lineage(node_id)
    for at in range(len(lineage) - 1, -1, -1):
        if lineage[at].kind == "swarm":
            yield lineage[at], lineage[at + 1 :]


def _is_within_agent(below: list[Node], name: str, mode: str) -> bool:
    """Whether it is the wanted agent itself that fails; in a team, also not one of those that it delegated to."""
    agents = [node for node in below if node.kind == "agent"]
    if mode == "team":
        return not any(node.kind == "tool" and not node.is_step for node in below)
    return bool(agents) and agents[0].name == name


def _reroute_count(state: DurableRun, scope: str, wish: RerouteKind) -> int:
    return sum(found.remedy == wish and found.scope == scope for found in state.returned)


def _member_number(node: Node) -> int:
    """Which member of a chain a node is: its place counts them."""
    return int(node.id.rpartition("~")[2].partition(".")[0])
