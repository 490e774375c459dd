"""What a replay shows: whether the failed step passes, whether something new went wrong, which steps differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from runtime.judgement.comparison.comparison_types import NodeDifference
from runtime.judgement.comparison.run_comparison import compare_runs
from runtime.record.state.durable_run import DurableRun, Incident, Node
from runtime.testing.failure_replay import Replay, alike

_PATHS = 8
"""Paths of steps that differ, in the example of how to allow them."""
_OF_THE_RECORD = frozenset({"state", "given by", "error"})
"""Fields of a step that a repair changes by itself: it is not compared with how the failure left them."""


@dataclass(slots=True, frozen=True)
class Verdict:
    """`problems` and `differences` in words; empty where the code passes."""

    problems: tuple[str, ...]
    differences: tuple[NodeDifference, ...]

    @property
    def passed(self) -> bool:
        return not self.problems and not self.differences

    def text(self) -> str:
        r"""What is wrong, for the person who reads the test's output. It goes to a terminal: what would steer one is
        written out, as ``\x1b``.
        """
        lines = list(self.problems)
        for each in self.differences:
            how = {"only_left": " is not reached any more", "only_right": " is new"}.get(each.how, " differs")
            lines.append(f"the step {each.node_id} ({each.kind}){how}")
            for field in each.fields:
                lines += [f"    {field.field}", f"      recorded  {field.left}", f"      now       {field.right}"]
        if self.differences:
            paths = [each.node_id for each in self.differences[:_PATHS]]
            lines.append(f"to accept these differences: allow_changed={paths!r}")
        return "\n".join(map(_printable, lines))


def _printable(line: str) -> str:
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)


def judge(replayed: Replay, allow_changed: Collection[str] = ()) -> Verdict:
    """Judge a replay.

    Args:
        replayed: The replay.
        allow_changed: Paths (patterns as in a shell) of steps that may differ from the record.
    """
    problems = tuple(dict.fromkeys(_problems(replayed)))
    return Verdict(problems, tuple(_differences(replayed, tuple(allow_changed))))


def _problems(replayed: Replay) -> Iterator[str]:
    state, target = replayed.state, replayed.target
    if replayed.timed_out:
        busy = ", ".join(state.busy) or "no step"
        yield f"the replay did not come to an end in its time: {busy} was under way"
    told = False
    for incident in state.open_incidents:
        said = _incident_problem(replayed, incident)
        if said:
            told = told or _under(incident.opened.node_id, target)
            yield said
    if not told and (said := _target_problem(replayed)):
        yield said
    if state.phase in ("failed", "aborted") and replayed.recorded.state.phase != state.phase:
        yield f"the run {state.phase}: {state.error}"


def _incident_problem(replayed: Replay, incident: Incident) -> str:
    node_id = incident.opened.node_id
    if node_id in replayed.calls.ended:
        return ""
    if node_id in replayed.calls.missing:
        return f"the step {node_id}: {replayed.calls.missing[node_id]}"
    fault = incident.opened.fault
    said = f"{fault.cause.value.replace('_', ' ')}: {incident.opened.what}"
    if _under(node_id, replayed.target):
        return f"the step {node_id} still fails: {said}"
    known = alike(replayed.recorded, replayed.state, incident)
    if known is not None and known.answer is None:
        return ""
    return f"a new incident opened at {node_id or 'the run'}: {said}"


def _target_problem(replayed: Replay) -> str:
    state, target = replayed.state, replayed.target
    if not target:
        passed = state.phase in ("completed", "degraded") or bool(replayed.calls.ended)
        return "" if passed else f"the run does not pass: it is {state.phase}"
    node = state.nodes.get(target)
    if node is None:
        return f"the step {target} was not reached: the run took another way, or ended before it"
    if _passed(node):
        return ""
    why = f": {node.error}" if node.error else ""
    if node.phase == "failed" and node.fault is not None:
        return f"the step {target} fails still: {node.fault.cause.value.replace('_', ' ')}{why}"
    return f"the step {target} does not pass: it is {node.phase}{why}"


def _passed(node: Node) -> bool:
    return node.phase in ("succeeded", "degraded") and (node.fault is None or not node.is_step)


def _under(node_id: str, target: str) -> bool:
    return f"{node_id}/".startswith(f"{target}/") if target else not node_id


def _differences(replayed: Replay, allowed: tuple[str, ...]) -> Iterator[NodeDifference]:
    recorded, state = replayed.recorded.state, replayed.state
    for each in compare_runs(recorded, state).nodes:
        if _under(each.node_id, replayed.target) or any(fnmatchcase(each.node_id, one) for one in allowed):
            continue
        counted = _counted(each, replayed, recorded, state)
        if counted is not None:
            yield counted


def _inside_recorded_tool(node_id: str, replayed: Replay) -> bool:
    """Whether a node is inside a tool that answered from the record: what happened in it then does not happen now."""
    around = replayed.recorded.state.lineage(node_id)[:-1]
    return any(node.is_step and node.id not in replayed.calls.made for node in around)


def _counted(each: NodeDifference, replayed: Replay, recorded: DurableRun, state: DurableRun) -> NodeDifference | None:
    """The difference as far as the code makes it; None where it only follows from the repair or the record's end."""
    if _inside_recorded_tool(each.node_id, replayed):
        return None
    if each.how == "only_left":
        parent = recorded.nodes[each.node_id].parent_id
        found = state.nodes.get(parent)
        ended = found.phase in ("succeeded", "degraded") if found is not None else not parent and state.terminal
        return each if ended else None
    if each.how == "only_right":
        at_end = {*replayed.calls.ended, *replayed.calls.missing}
        told = any(f"{one}/".startswith(f"{each.node_id}/") for one in at_end)
        return None if told or replayed.recorded.cut_short(each.node_id) else each
    was, now = recorded.nodes[each.node_id], state.nodes[each.node_id]
    if not was.is_step:
        same_end = was.phase == now.phase == "succeeded" and not _under(replayed.target, each.node_id)
        fields = tuple(field for field in each.fields if field.field == "output") if same_end else ()
    else:
        fields = tuple(
            field
            for field in each.fields
            if field.field not in _OF_THE_RECORD
            and not field.field.startswith("used ")
            and (not field.field.startswith("result") or each.node_id in replayed.calls.made)
        )
    return (
        NodeDifference(
            node_id=each.node_id, kind=each.kind, name=each.name, agent=each.agent, how=each.how, fields=fields
        )
        if fields
        else None
    )
