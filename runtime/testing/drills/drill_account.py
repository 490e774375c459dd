"""The account of a drill: what came about, what healed by itself, what asked, and what was lost or doubled."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runtime.record.state.durable_run import DurableRun, Node
from runtime.testing.drills.call_log import CallEntry
from runtime.testing.drills.drill_file import Drill


@dataclass(slots=True, frozen=True)
class DrillAccount:
    """Each entry is a line for people. `lost` and `doubled` must be empty."""

    run_id: str
    state: str
    happened: tuple[str, ...]
    missed: tuple[str, ...]
    healed: tuple[str, ...]
    asked: tuple[str, ...]
    lost: tuple[str, ...]
    doubled: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was lost and nothing done twice."""
        return not (self.lost or self.doubled)

    def as_json(self) -> dict[str, Any]:
        """The account as JSON has it."""
        return {"drill": {name: list(each) if isinstance(each, tuple) else each for name, each in asdict(self).items()}}


def account_of(drill: Drill, state: DurableRun, entries: Sequence[CallEntry]) -> DrillAccount:
    """Hold the journal against the log of the calls.

    Args:
        drill: The faults.
        state: The run, as its journal tells it.
        entries: The log of the calls.
    """
    times = Counter(each.fault for each in entries if each.what in ("injected", "killed"))
    for number, fault in enumerate(drill.faults):
        if fault.permission:
            times[number] = sum(_was_refused(node, fault.permission) for node in state.nodes.values())
    happened = [f"{fault} ({times[n]} ×)" for n, fault in enumerate(drill.faults) if times[n]]
    missed = [str(fault) for n, fault in enumerate(drill.faults) if not times[n]]
    done: dict[str, list[CallEntry]] = defaultdict(list)
    for entry in entries:
        if entry.what == "done":
            done[entry.node_id].append(entry)
    return DrillAccount(
        run_id=state.id,
        state=state.shown_phase,
        happened=tuple(happened),
        missed=tuple(missed),
        healed=tuple(_healed(state, entries)),
        asked=tuple(_asked(state)),
        lost=tuple(_lost(state, done)),
        doubled=tuple(_doubled(state, done)),
    )


def _was_refused(node: Node, permission: str) -> bool:
    verb = permission.partition(":")[0].rpartition(" ")[2]
    fault = node.fault
    return (
        fault is not None
        and fault.rule_id == "permission-policy"
        and str(fault.metadata.get("permission", "")).partition(":")[0] == verb
    )


def _healed(state: DurableRun, entries: Iterable[CallEntry]) -> Iterator[str]:
    if state.lives > 1 and any(each.what == "killed" for each in entries):
        yield f"the run went on in another process, {state.lives} in all"
    for node in state.nodes.values():
        if not node.is_step or node.incidents or not node.recorded:
            continue
        if node.phase == "succeeded" and node.tries:
            causes = ", ".join(dict.fromkeys(each.cause.replace("_", " ") for each in node.tries))
            yield f"{node.id}: {causes}; attempt {node.attempts} succeeded"
        elif node.fault is not None and node.by is None:
            yield f"{node.id}: {node.fault.cause.value.replace('_', ' ')}; the model was told, and went on"


def _asked(state: DurableRun) -> Iterator[str]:
    for incident in state.incidents.values():
        answer = incident.answer
        how = f"answered {answer.option}" if answer is not None else incident.closed or "waits for an answer"
        yield f"{incident.opened.incident_id} at {incident.opened.node_id or 'the run'}: {incident.opened.what} ({how})"


def _lost(state: DurableRun, done: dict[str, list[CallEntry]]) -> Iterator[str]:
    """Calls that came back and of which the journal knows nothing, nor asks a person about."""
    for node_id in done:
        node = state.nodes.get(node_id)
        if node is None:
            yield f"{node_id}: it was carried out, and the journal has no such step"
        elif not (node.recorded or node.incidents or node.in_flight is not None or node.hooks_due):
            yield f"{node_id}: it was carried out, and the journal has no end of it"
    if state.phase in ("completed", "degraded"):
        for node in state.nodes.values():
            if not node.terminal:
                yield f"{node.id}: the run is {state.phase}, and this has no end"


def _doubled(state: DurableRun, done: dict[str, list[CallEntry]]) -> Iterator[str]:
    """Calls that must not be made twice and were, without an answer that let them be."""
    for node_id, calls in done.items():
        again = [each for each in calls if not each.repeatable][1:]
        node = state.nodes.get(node_id)
        answered = sum(
            state.incidents[each].answer is not None for each in (node.incidents if node is not None else ())
        )
        if len(again) > answered:
            yield f"{node_id}: carried out {len(again) + 1} times, with {answered} answers that let it be repeated"
