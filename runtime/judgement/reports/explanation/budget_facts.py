"""Facts of a limit that is used up: whose it is, what was spent, what extending it would cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import median
from typing import Any, Final

from runtime.judgement.amounts import format_cost
from runtime.judgement.recovery.budget_extension import (
    MembersLeft,
    counted_kinds,
    members_left,
    proposed_extension,
    quantity_words,
)
from runtime.judgement.reports.explanation.explained_incident import ExplainedIncident
from runtime.judgement.reports.explanation.sentence import Fact, Sentence
from runtime.judgement.reports.explanation.step_facts import NAME_CHARS, FactMaker, foreign, json_words, known_if
from runtime.judgement.reports.narration import Foreign, Part
from runtime.judgement.reports.transcript import reply_message
from runtime.record.state.durable_run import Node

_COST: Final = "max_total_cost_usd"
LIMIT_WORDS: Final = {
    "max_steps": "steps",
    "max_tool_calls": "tool calls",
    "max_llm_calls": "model calls",
    _COST: "cost limit",
    "max_total_tokens": "tokens",
    "max_wall_time_s": "time",
}
"""A limit's name in sentences, by its name in the configuration."""


_MOST_USERS: Final = 3
"""So many agents are named."""
_MOST_NAMED: Final = 2
"""So many that have not begun are named; more are counted."""
_SHORT_NAME_CHARS: Final = 24
_HUNGRY_TIMES, _HUNGRY_LEAST = 2, 8
"""Who has used so many times what the others did, and so much at least, may be in a loop."""
_LEAST_ALIKE: Final = 3
_LATEST_CALLS: Final = 3
_CALL_CHARS: Final = 60


def _budget(case: ExplainedIncident) -> Mapping[str, Any]:
    found = case.action.get("budget")
    return found if isinstance(found, Mapping) else {}


def _limit_owner(case: ExplainedIncident) -> Fact | None:
    of = _budget(case).get("of")
    return (("the run",), case.here) if of == "the run" else foreign(of, case.here)


def _limit_name(case: ExplainedIncident) -> Fact | None:
    said = str(_budget(case).get("limit") or "")
    if said in LIMIT_WORDS:
        return ((LIMIT_WORDS[said],), case.here)
    limit = case.opened.fault.limit
    return ((limit.value.replace("_", " "),), case.here) if limit is not None and not said else None


def _used_of_allowed(case: ExplainedIncident) -> Fact | None:
    """``20 of 20``."""
    about = _budget(case)
    used, allowed = quantity_words(about.get("limit"), about.get("used")), _allowed_words(case)
    return ((f"{used} of {allowed}",), case.here) if used and allowed else None


def _allowed_words(case: ExplainedIncident) -> str:
    about = _budget(case)
    return quantity_words(about.get("limit"), about.get("allowed"))


def _extension(case: ExplainedIncident) -> Fact | None:
    """How much more is proposed."""
    amount = proposed_extension(case.opened, case.state)
    said = quantity_words(_budget(case).get("limit"), amount)
    return ((said,), case.here) if said else None


def _members_left(case: ExplainedIncident) -> Fact | None:
    """``those done took 4 calls each: 4 for editor, 3 for writer``: what the proposed amount is the sum of."""
    about = _budget(case)
    found = _left(case)
    if found is None:
        return None
    parts: list[Part] = [f"those done took {found.each} call{'' if found.each == 1 else 's'} each"]
    if found.to_come:
        each = " each" if len(found.to_come) > 1 else ""
        parts += [f": {found.each}{each} for ", *_few_names(found.to_come)]
    named, rest = found.at_work[:_MOST_USERS], found.at_work[_MOST_USERS:]
    for name, used in named:
        parts += [", " if len(parts) > 1 else ": ", f"{found.more_for(used)} for ", Foreign(name, _SHORT_NAME_CHARS)]
    if rest:
        parts.append(f", {sum(found.more_for(used) for _, used in rest)} for {len(rest)} others")
    root = case.state.nodes.get(str(about.get("scope") or "") or case.state.roots[0])
    return (tuple(parts), (root.opened_seq if root else case.opened.seq,))


def _left(case: ExplainedIncident) -> MembersLeft | None:
    about = _budget(case)
    if proposed_extension(case.opened, case.state) is None:
        return None
    return members_left(case.state, str(about.get("scope") or ""), str(about.get("limit") or ""))


def _few_names(names: tuple[str, ...]) -> tuple[Part, ...]:
    """``reviewer and editor``, ``5 agents``."""
    if len(names) > _MOST_NAMED:
        return (f"{len(names)} agents",)
    first, *rest = (Foreign(name, _SHORT_NAME_CHARS) for name in names)
    return (first, *(part for each in rest for part in (" and ", each)))


def _hungry_name(case: ExplainedIncident) -> str:
    """The agent at work that has used far more than those that are done, if there is one."""
    found = _left(case)
    if found is None:
        return ""
    name, used = max(found.at_work, key=lambda each: each[1], default=("", 0))
    return "" if used < max(_HUNGRY_TIMES * found.each, _HUNGRY_LEAST) else name


def _hungry(case: ExplainedIncident) -> Fact | None:
    """``writer``: see `_hungry_name`."""
    name = _hungry_name(case)
    nodes = case.state.nodes.values() if name else ()
    last = [node.opened_seq for node in nodes if node.agent == name and node.opened_seq]
    return ((Foreign(name, _SHORT_NAME_CHARS),), (max(last),)) if last else None


def _alike_answers(case: ExplainedIncident) -> Fact | None:
    """``12``: so many of the latest answers of the agent that may be in a loop are the same; None below three."""
    found = [node for node in _hungry_steps(case) if node.kind == "llm"]
    said = [(message.text, message.calls) for message in map(reply_message, found)]
    alike = next((number for number, each in enumerate(reversed(said)) if each != said[-1]), len(said))
    if alike < _LEAST_ALIKE or not any(said[-1]):
        return None
    return ((str(alike),), tuple(node.closed_seq for node in found[-alike:]))


def _hungry_steps(case: ExplainedIncident) -> list[Node]:
    """The calls that the agent that may be in a loop has made, oldest first."""
    name = _hungry_name(case)
    if not name:
        return []
    steps = (node for node in case.state.nodes.values() if node.kind in ("llm", "tool") and node.is_step)
    return [node for node in steps if node.agent == name and 0 < node.closed_seq < case.opened.seq]


def latest_calls(case: ExplainedIncident) -> tuple[Sentence, ...]:
    """The latest calls of an agent that may be in a loop, oldest first: what is looked at before a limit is raised."""
    return tuple(Sentence(_call_parts(node), (node.closed_seq,)) for node in _hungry_steps(case)[-_LATEST_CALLS:])


def _call_parts(node: Node) -> tuple[Part, ...]:
    """``"three cities"``; ``search({"city": "Basel"})`` for the tools that a model asks for, and for a tool's call."""
    if node.kind == "tool":
        arguments = json_words(node.requested.get("arguments"))
        return (Foreign(node.name, NAME_CHARS), "(", Foreign(arguments, _CALL_CHARS), ")")
    message = reply_message(node)
    if message.calls:
        asked = ", ".join(f"{name}({arguments})" for name, arguments in message.calls)
        return ("asks for ", Foreign(asked, _CALL_CHARS))
    return ('"', Foreign(message.text or node.output, _CALL_CHARS), '"')


def _top_users(case: ExplainedIncident) -> Fact | None:
    """``writer 12, planner 4, searcher 4``: the agents by what the limit counts of them, so that they add up to it."""
    scope = str(_budget(case).get("scope") or "")
    if scope and scope not in case.state.nodes:
        return None
    calls: Counter[str] = Counter()
    last: dict[str, int] = {}
    for _, node in case.state.walk(scope):
        if node.id == case.opened.node_id or not (0 < node.opened_seq < case.opened.seq) or not node.agent:
            continue  # what waits is not counted yet
        if node.is_step and node.attempts and node.kind in counted_kinds(_budget(case).get("limit")):
            calls[node.agent] += 1
            last[node.agent] = node.opened_seq
    top = calls.most_common()
    if len(top) < 2:
        return None
    named, rest = (top, []) if len(top) <= _MOST_USERS else (top[: _MOST_USERS - 1], top[_MOST_USERS - 1 :])
    parts: list[Part] = []
    for number, (agent, count) in enumerate(named):
        parts += [", "] if number else []
        parts += [Foreign(agent, NAME_CHARS), f" {count}"]
    if rest:
        parts.append(f", {len(rest)} others {sum(count for _, count in rest)}")
    return (tuple(parts), tuple(last[agent] for agent, _ in named))


_STOPS_MODELS: Final = frozenset({"max_steps", "max_llm_calls", _COST, "max_total_tokens"})
"""Limits that the first call of a model reaches again."""


def _next_stops(case: ExplainedIncident) -> Fact | None:
    """Known if the agent that comes next is under the limit that is used up, and calls a model first."""
    about = _budget(case)
    used, allowed = about.get("used"), about.get("allowed")
    full = isinstance(used, int | float) and isinstance(allowed, int | float) and used >= allowed
    if not full or about.get("limit") not in _STOPS_MODELS:
        return None
    above = next((each.node_id for each in case.waiting if each.then), "")
    scope = str(about.get("scope") or "")
    under = not scope or any(each.id == scope for each in case.state.lineage(above))
    return (("",), case.here) if above and under else None


def _turns(case: ExplainedIncident) -> Fact | None:
    """``2 of 5``: members of the outermost swarm that are done."""
    root = case.state.nodes.get(case.state.roots[0]) if case.state.roots else None
    if root is None or root.kind not in ("swarm", "group") or root.info.get("mode", "workflow") != "workflow":
        return None
    members = {str(each) for each in root.info.get("members", ())}
    done = [node for _, node in case.state.walk(root.id) if node.name in members and node.closed_seq and node.terminal]
    names = {node.name for node in done}
    return (
        ((f"{len(names)} of {len(members)}",), (root.opened_seq, *(each.closed_seq for each in done))) if done else None
    )


def _extended(case: ExplainedIncident) -> Fact | None:
    """What the limit would be with what is proposed."""
    amount, allowed = proposed_extension(case.opened, case.state), _budget(case).get("allowed")
    if amount is None or not isinstance(allowed, int | float):
        return None
    return ((quantity_words(_budget(case).get("limit"), allowed + amount),), case.here)


def _priced(case: ExplainedIncident) -> list[Node]:
    """Model calls under the limit whose price is known, in the order in which they began."""
    scope = str(_budget(case).get("scope") or "")
    if not _budget(case) or (scope and scope not in case.state.nodes):
        return []
    under = (node for _, node in case.state.walk(scope) if node.kind == "llm" and node.opened_seq > 0)
    return [node for node in under if node.cost_usd is not None and 0 < node.closed_seq < case.opened.seq]


def _spent(case: ExplainedIncident) -> Fact | None:
    """``$0.04``: what the model calls under the limit cost; `at least` where the price of some is unknown."""
    found = _priced(case)
    if not found or _budget(case).get("limit") == _COST:  # then the limit itself says it
        return None
    total = format_cost(sum(node.cost_usd or 0.0 for node in found))
    least = "at least " if case.state.unpriced_calls else ""
    return ((f"{least}{total}",), (found[-1].closed_seq,))


def _extension_cost(case: ExplainedIncident) -> Fact | None:
    """What the proposed extension would cost if calls cost what they did so far; None where that cannot be told."""
    found, amount = _priced(case), proposed_extension(case.opened, case.state)
    if not found or not amount or case.state.unpriced_calls:
        return None
    costs = [node.cost_usd or 0.0 for node in found]
    tokens = sum(node.input_tokens + node.output_tokens for node in found)
    match _budget(case).get("limit"):
        case "max_llm_calls":
            each = median(costs)
        case "max_total_tokens" if tokens:
            each = sum(costs) / tokens
        case _:
            return None
    return ((format_cost(each * amount).replace("<", "less than "),), (found[-1].closed_seq,))


BUDGET_FACTS: Final[dict[str, FactMaker]] = {
    "alike_answers": _alike_answers,
    "alike_answers_known": known_if(lambda case: _alike_answers(case) is not None),
    "extended": _extended,
    "extension": _extension,
    "extension_cost": _extension_cost,
    "hungry": _hungry,
    "limit_name": _limit_name,
    "limit_owner": _limit_owner,
    "members_left": _members_left,
    "next_stops": _next_stops,
    "spent": _spent,
    "top_users": _top_users,
    "turns": _turns,
    "used_of_allowed": _used_of_allowed,
}
"""By the name that templates have for it."""
