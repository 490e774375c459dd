"""Facts of the run around an incident: who waits, what is done, what an earlier answer did."""

from __future__ import annotations

from typing import Final

from runtime.judgement.reports.explanation.explained_incident import ExplainedIncident
from runtime.judgement.reports.explanation.sentence import Fact
from runtime.judgement.reports.explanation.step_facts import NAME_CHARS, FactMaker, foreign, known_if, quoted
from runtime.judgement.reports.narration import Foreign, Part
from runtime.record.state.durable_run import Node

_MAX_NAMES: Final = 3
_DONE: Final = ("succeeded", "degraded")
_FAILED: Final = ("failed", "timed_out")


def _names(nodes: list[Node]) -> tuple[Part, ...]:
    """The first names, and how many more."""
    parts: list[Part] = []
    for number, node in enumerate(nodes[:_MAX_NAMES]):
        parts += [", "] if number else []
        parts.append(Foreign(node.name, NAME_CHARS))
    return (*parts, f" and {len(nodes) - _MAX_NAMES} more") if len(nodes) > _MAX_NAMES else tuple(parts)


def _name(case: ExplainedIncident) -> Fact | None:
    """The agent, group or swarm that an answer is about: the step's agent, else the node itself."""
    node = case.node
    if node is None:
        return foreign(case.opened.lineage[-1], case.here) if case.opened.lineage else None
    if node.is_step and case.agent is not None:
        node = case.agent
    return foreign(node.name, (node.opened_seq or case.opened.seq,))


def _next(case: ExplainedIncident) -> Fact | None:
    """Who gets the output of what fails here."""
    for waiter in case.waiting:
        if waiter.then:
            above = case.state.nodes.get(waiter.node_id)
            return foreign(waiter.then[0], (above.opened_seq,)) if above is not None else None
    return None


def _asker(case: ExplainedIncident) -> Fact | None:
    """Who asks: the agent whose tool does, or the tool itself."""
    if case.agent is not None:
        return foreign(case.agent.name, (case.agent.opened_seq,))
    lineage = case.opened.lineage
    return foreign(lineage[-2], case.here) if case.node is None and len(lineage) > 1 else _name(case)


def _members(case: ExplainedIncident) -> list[Node]:
    """The members of the group that failed, as they were when the incident opened."""
    node = case.node
    if node is None or node.kind not in ("group", "swarm"):
        return []
    return [case.state.nodes[each] for each in node.children]


def _ended(case: ExplainedIncident, phases: tuple[str, ...]) -> list[Node]:
    return [each for each in _members(case) if each.phase in phases and each.closed_seq > 0]


def _names_of(phases: tuple[str, ...]) -> FactMaker:
    """What finds the members that ended so, by name."""

    def fact(case: ExplainedIncident) -> Fact | None:
        found = _ended(case, phases)
        return (_names(found), tuple(each.closed_seq for each in found)) if found else None

    return fact


def _number_of(phases: tuple[str, ...]) -> FactMaker:
    """What finds how many members ended so: ``2 of 3``."""

    def fact(case: ExplainedIncident) -> Fact | None:
        found = _ended(case, phases)
        return (
            ((f"{len(found)} of {len(_members(case))}",), tuple(each.closed_seq for each in found)) if found else None
        )

    return fact


def _missing_members(case: ExplainedIncident) -> Fact | None:
    done = {each.id for each in _ended(case, _DONE)}
    found = [each for each in _members(case) if each.id not in done]
    return (_names(found), tuple(each.closed_seq or each.opened_seq for each in found)) if found else None


def _calls(found: list[Node]) -> Fact | None:
    """``3 calls``: calls of models and tools that are recorded with their result."""
    calls = [each for each in found if each.recorded and each.kind in ("llm", "tool")]
    return ((f"{len(calls)} call{'' if len(calls) == 1 else 's'}",), (calls[-1].closed_seq,)) if calls else None


def _finished_below(case: ExplainedIncident) -> Fact | None:
    """Finished calls inside the node itself: they are kept when it begins again."""
    top = case.node
    return _calls([each for _, each in case.state.walk(top.id)]) if top is not None else None


def _swarm(case: ExplainedIncident) -> Fact | None:
    return foreign(case.state.ref, (1,), 120)  # `RunCreated` is the first event of each run


# -- the rest ----------------------------------------------------------------------------------------------------------


def _at_work(case: ExplainedIncident) -> Fact | None:
    found = case.action.get("at_work")
    return (
        foreign(", ".join(map(str, found[:3])), case.here, 120) if isinstance(found, list | tuple) and found else None
    )


def _sent_on(case: ExplainedIncident) -> Fact | None:
    """How often the task went back into the swarm before."""
    made = [each for each in case.state.returned if each.seq <= case.opened.seq]
    times = "once" if len(made) == 1 else f"{len(made)} times"
    return ((times,), tuple(each.seq for each in made)) if made else None


RUN_FACTS: Final[dict[str, FactMaker]] = {
    "asker": _asker,
    "at_work": _at_work,
    "difference": quoted(lambda case: case.action.get("difference"), 160),
    "done_members": _names_of(_DONE),
    "done_of_all": _number_of(_DONE),
    "failed_members": _names_of(_FAILED),
    "failed_of_all": _number_of(_FAILED),
    "finished_below": _finished_below,
    "invokes": quoted(lambda case: case.action.get("invokes")),
    "missing_members": _missing_members,
    "name": _name,
    "next": _next,
    "sent_on": _sent_on,
    "service": quoted(lambda case: str(case.action.get("breaker") or "").partition(":")[2], 80),
    "swarm": _swarm,
    "was_changed": known_if(lambda case: case.action.get("difference")),
}
"""By the name that templates have for it."""
