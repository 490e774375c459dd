"""Two runs, compared by path: nodes that differ, in the order of the tree, and the first of them.

A node's path means the same in every run of a swarm, so nodes are matched by it and never by their texts. Times, tokens
and cost are not compared. What only follows from a difference that is told already is not told again: a later question
to a model is known by a digest of what is new in it, which the results before it make.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from orbiter.redaction import REDACTED
from runtime.judgement.comparison.comparison_types import (
    DifferenceKind,
    FieldDifference,
    NodeDifference,
    RunComparison,
)
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.rewind import place_of
from runtime.record.state.run_data import ForkOrigin

SHOWN_CHARS: Final = 240
"""Characters of a value that are shown, from shortly before the first that differs."""
_BEFORE: Final = 60
_DERIVED: Final = frozenset({"digest", "count"})
"""What a model's request is known by, which follows from the results before it."""
_IDS: Final = frozenset({"id", "tool_call_id"})


def compare_runs(left: DurableRun, right: DurableRun) -> RunComparison:
    """Compare two runs.

    Args:
        left: The run that the other is compared with: the earlier one, the record, the origin of a fork.
        right: The other run.
    """
    compared = _Compared(left, right)
    nodes = tuple(compared.differences(left.roots, right.roots))
    forked = (run.fork_origin for run, other in ((right, left), (left, right)) if run.fork_origin.run_id == other.id)
    origin = next(forked, ForkOrigin())
    whole = [
        difference
        for name, was, now in (
            ("swarm", left.ref, right.ref),
            ("input", left.input, right.input),
            ("state", left.shown_phase, right.shown_phase),
            ("output", left.output, right.output),
            ("error", left.error, right.error),
        )
        if (difference := field_difference(name, was, now)) is not None
    ]
    return RunComparison(
        left=left.id,
        right=right.id,
        same=compared.same,
        nodes=nodes,
        run=tuple(whole),
        origin=origin.run_id,
        forked_at=origin.node_id,
    )


class _Compared:
    """One comparison on its way: the runs, and how many steps were found equal."""

    def __init__(self, left: DurableRun, right: DurableRun) -> None:
        self._left = left
        self._right = right
        self.same = 0

    def differences(self, left: Sequence[str], right: Sequence[str]) -> Iterator[NodeDifference]:
        """Those of siblings and all below them, in declared order."""
        parted = False
        for node_id in sorted({*left, *right}, key=_order):
            was, now = self._left.nodes.get(node_id), self._right.nodes.get(node_id)
            if was is None or now is None:
                found = was or now
                assert found is not None
                yield _named(found, "only_left" if now is None else "only_right")
                parted = True
                continue
            below = list(self.differences(was.children, now.children))
            own = tuple(_fields(was, now, follows=parted))
            if own and (was.is_step or not below):
                yield _named(now, "changed", own)
            elif was.is_step and not own:
                self.same += 1
            yield from below
            # What a result that cannot be compared in full leads to is not known either.
            parted = parted or bool(own or below) or _is_masked(was) or _is_masked(now)


def _order(node_id: str) -> tuple[int, int, str]:
    seq, par = place_of(node_id)
    return seq, -1 if par is None else par, node_id


def _named(node: Node, how: DifferenceKind, fields: tuple[FieldDifference, ...] = ()) -> NodeDifference:
    return NodeDifference(node_id=node.id, kind=node.kind, name=node.name, agent=node.agent, how=how, fields=fields)


def _fields(was: Node, now: Node, *, follows: bool) -> Iterator[FieldDifference]:
    """What differs of two nodes with the same path; `follows`: something before them in their parent does."""
    pairs: list[tuple[str, Any, Any]] = [("kind", was.kind, now.kind), ("name", was.name, now.name)]
    if was.is_step:
        pairs.append(("agent", was.agent, now.agent))
        masked = _is_masked(was) or _is_masked(now)
        told = "messages" in was.requested and "messages" in now.requested
        derived = _DERIVED if follows or masked or told else frozenset()
        pairs += _members("", was.requested, now.requested, without=derived)
        pairs += _members("used ", was.effective, now.effective)
    pairs.append(("state", was.phase, now.phase))
    if was.is_step and was.recorded and now.recorded:
        pairs += _results(was.result, now.result)
        pairs.append(("given by", _giver(was), _giver(now)))
    elif not was.is_step:
        pairs += [("output", was.output, now.output), ("error", was.error, now.error)]
    for name, one, other in pairs:
        if (difference := field_difference(name, one, other)) is not None:
            yield difference


def _giver(node: Node) -> str:
    return "a person or a rule" if node.by is not None else "the step"


def _members(
    prefix: str, was: Mapping[str, Any], now: Mapping[str, Any], without: frozenset[str] = frozenset()
) -> list[tuple[str, Any, Any]]:
    names = sorted({*was, *now} - without - _IDS)
    return [(f"{prefix}{name}", was.get(name), now.get(name)) for name in names]


def _results(was: Any, now: Any) -> list[tuple[str, Any, Any]]:
    """A result's members apart, where it has any; the tokens of a reply are not compared, nor the ids of its calls."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        without = frozenset({"usage", "provider_data", "reply", "texts"})
        return _members("result ", _without_call_ids(was), _without_call_ids(now), without)
    return [("result", was, now)]


def _without_call_ids(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """A reply whose calls have no ids: a provider gives each call another one."""
    calls = result.get("tool_calls")
    if not isinstance(calls, list):
        return result
    return {**result, "tool_calls": [_without_id(call) for call in calls]}


def _without_id(call: Any) -> Any:
    return {name: value for name, value in call.items() if name != "id"} if isinstance(call, dict) else call


def _is_masked(node: Node) -> bool:
    """Whether a secret was taken out of it: what is derived from its texts is not what it was derived from."""
    return REDACTED in _as_text(node.requested) or REDACTED in _as_text(node.result)


def field_difference(name: str, was: Any, now: Any) -> FieldDifference | None:
    """Both values as text, cut around the first place that differs; None where they are equal.

    Args:
        name: What the field is called.
        was: The left value, as JSON has it.
        now: The right value.
    """
    if was == now:
        return None
    one, other = _as_text(was), _as_text(now)
    if one == other:
        return None
    at = next((n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    begin = max(0, (min(len(one), len(other)) if at is None else at) - _BEFORE)
    return FieldDifference(field=name, left=_cut(one, begin), right=_cut(other, begin))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _cut(text: str, begin: int) -> str:
    if len(text) <= SHOWN_CHARS:
        return text
    shown = text[begin : begin + SHOWN_CHARS]
    return f"{'…' if begin else ''}{shown}{'…' if begin + SHOWN_CHARS < len(text) else ''}"
