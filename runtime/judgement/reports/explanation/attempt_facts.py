"""Facts of attempts: which were made, what was tried besides, and how earlier calls of the same name went."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

from runtime.judgement.amounts import format_bytes
from runtime.judgement.recovery.option_table import OPTIONS, effect_of
from runtime.judgement.reports.explanation.explained_incident import ExplainedIncident
from runtime.judgement.reports.explanation.model_choices import models_that_answered
from runtime.judgement.reports.explanation.sentence import Fact
from runtime.judgement.reports.explanation.step_facts import (
    NAME_CHARS,
    FactMaker,
    foreign,
    json_words,
    known_if,
    model_name,
)
from runtime.judgement.reports.narration import Count, Foreign, Instant, Part, Seconds
from runtime.judgement.reports.transcript import reply_message
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.events import IncidentAnswered
from runtime.record.state.fault_taxonomy import Cause

_MAX_CITED: Final = 4


def cited(case: ExplainedIncident) -> tuple[int, ...]:
    """The attempts that failed, as events: the first ones and the last."""
    found = [each.seq for each in case.tries]
    return tuple(found if len(found) <= _MAX_CITED else [*found[: _MAX_CITED - 1], found[-1]])


def _failed_alike(case: ExplainedIncident) -> Fact | None:
    """``3 of 3``: attempts that failed with this cause, of those that were made."""
    alike = sum(each.cause == case.cause.value for each in case.tries)
    return ((f"{alike} of {_attempts_made(case)}",), cited(case)) if alike and len(case.tries) > 1 else None


def _attempts_made(case: ExplainedIncident) -> int:
    return max(len(case.tries), case.tries[-1].attempt if case.tries else 0)


def _attempts(case: ExplainedIncident) -> Fact | None:
    """``4 attempts in 7s``, ``1 attempt``."""
    tries = case.tries
    if not tries:
        return None
    if len(tries) == 1 and _attempts_made(case) == 1:
        return (("1 attempt",), cited(case))
    span = (tries[-1].ended_at - tries[0].ended_at).total_seconds() + tries[0].seconds
    within = (" in ", Seconds(span)) if 0.05 <= span < 86_400 else ()
    return ((f"{_attempts_made(case)} attempts", *within), cited(case))


def _several_attempts(case: ExplainedIncident) -> Fact | None:
    return _attempts(case) if _attempts_made(case) > 1 else None


def _pauses(case: ExplainedIncident) -> Fact | None:
    waits = [each for each in case.tries if each.wait_s is not None][-5:]
    if not waits:
        return None
    parts: list[Part] = ["pause " if len(waits) == 1 else "pauses "]
    for number, each in enumerate(waits):
        parts += [", "] if number else []
        parts.append(Seconds(each.wait_s or 0.0))
    return (tuple(parts), tuple(each.seq for each in waits))


def _took(case: ExplainedIncident) -> Fact | None:
    tries = case.tries
    return ((Seconds(tries[-1].seconds),), (tries[-1].seq,)) if tries and tries[-1].seconds >= 0.05 else None


def _next_attempt(case: ExplainedIncident) -> Fact | None:
    node = case.node
    return ((Count(node.attempts + 1),), (node.began_seq,)) if node is not None and node.attempts else None


def _began(case: ExplainedIncident) -> Fact | None:
    node = case.node
    known = node is not None and node.began_at is not None and node.began_seq <= case.opened.seq
    return ((Instant(node.began_at),), (node.began_seq,)) if known and node is not None and node.began_at else None


def _compactions(case: ExplainedIncident) -> Fact | None:
    """``twice``: how often the request was made smaller."""
    made = case.node.compacted if case.node is not None else []
    times = {1: "once", 2: "twice"}.get(len(made), f"{len(made)} times")
    return ((times,), tuple(each.seq for each in made)) if made else None


def _compacted_sizes(case: ExplainedIncident) -> Fact | None:
    """``from 1.9 MB to 640 kB``."""
    made = case.node.compacted if case.node is not None else []
    if not made or not made[0].bytes_before:
        return None
    sizes = f"from {format_bytes(made[0].bytes_before)} to {format_bytes(made[-1].bytes_after)}"
    return ((sizes,), tuple(each.seq for each in made))


def _compacted_to(case: ExplainedIncident) -> Fact | None:
    """``640 kB``: the size of the conversation as the next attempt sends it, to whichever model."""
    made = case.node.compacted if case.node is not None else []
    return ((format_bytes(made[-1].bytes_after),), (made[-1].seq,)) if made and made[-1].bytes_after else None


_BYTES_OF_A_TOKEN: Final = 4


def _compacted_tokens(case: ExplainedIncident) -> Fact | None:
    """``about 160000 tokens``: the same in the unit of a model's limit, as texts go."""
    made = case.node.compacted if case.node is not None else []
    if not made or not made[-1].bytes_after:
        return None
    tokens = made[-1].bytes_after // _BYTES_OF_A_TOKEN
    rounded = round(tokens, -max(0, len(str(tokens)) - 2))
    return ((f"about {rounded} tokens",), (made[-1].seq,))


def _called_nothing(case: ExplainedIncident) -> Fact | None:
    """Known if no call of a tool is recorded below the node, and the node is one that calls tools."""
    node = case.node
    if node is None or node.is_step:
        return None
    below = [each for _, each in case.state.walk(node.id)]
    models = [each.closed_seq for each in below if each.kind == "llm" and each.closed_seq]
    if not models or any(each.kind not in ("llm", "agent") for each in below):
        return None
    return (("",), tuple(models[-_MAX_CITED:]))


def _own_answers(case: ExplainedIncident) -> Fact | None:
    """``twice``: how often the agent whose answer does not fit has answered; replies that call tools do not count."""
    node = case.node
    if node is None or node.kind != "agent" or case.cause is not Cause.OUTPUT_INVALID:
        return None
    calls = [each for _, each in case.state.walk(node.id) if each.kind == "llm" and each.closed_seq and each.recorded]
    made = [each.closed_seq for each in calls if not reply_message(each).calls]
    times = {1: "once", 2: "twice"}.get(len(made), f"{len(made)} times")
    return ((times,), tuple(made[-_MAX_CITED:])) if made else None


def _stood_in(case: ExplainedIncident) -> Fact | None:
    """The last model that stood in, as recorded."""
    made = case.node.fell_back if case.node is not None else []
    return foreign(made[-1].to_model, (made[-1].seq,), 80) if made else None


def _passed_over(case: ExplainedIncident) -> Fact | None:
    made = case.node.fell_back if case.node is not None else []
    named = [text for each in made for text in each.passed_over]
    return foreign("; ".join(named), tuple(each.seq for each in made if each.passed_over), 160) if named else None


_WHO: Final = {"console": "the operator ", "cli": "the operator ", "mcp": "the agent ", "rule": "the rule "}
"""What stands before the name of who answered, by the way it came."""


def _last_answer(case: ExplainedIncident) -> IncidentAnswered | None:
    given = [each.answer for each in case.earlier() if each.answer is not None]
    return given[-1] if given else None


def _answered_before(case: ExplainedIncident) -> Fact | None:
    """Who answered an earlier incident of this node, and how: ``the operator ada chose Retry operation``."""
    answer = _last_answer(case)
    if answer is None:
        return None
    spec = OPTIONS.get(answer.option)
    who: tuple[Part, ...] = ("a rule",)
    if answer.by.name:
        who = (_WHO.get(answer.by.channel, ""), Foreign(answer.by.name, 40))
    parts = (*who, " chose ", spec.label if spec is not None else Foreign(answer.option, 40))
    return (tuple(part for part in parts if part != ""), (answer.seq,))


def _after_answer(case: ExplainedIncident) -> Fact | None:
    """``: 2, then 1 after the operator ada chose Retry operation``: attempts that an answer led to."""
    answer, made = _last_answer(case), case.tries
    found = _answered_before(case)
    after = sum(each.seq > answer.seq for each in made) if answer is not None else 0
    if found is None or not 0 < after < len(made):
        return None
    words, events = found
    return ((f": {len(made) - after}, then {after} more after ", *words), events)


def _retried_by_hand(case: ExplainedIncident) -> Fact | None:
    """How often an operator had this node try again, if it failed again."""
    given = [each.answer for each in case.earlier() if each.answer is not None]
    again = [each for each in given if effect_of(each.option) in ("retry", "wait_retry")]
    times = "a retry" if len(again) == 1 else f"{len(again)} retries"
    return ((f"{times} by hand",), tuple(each.seq for each in again)) if again else None


_NOT_KNOWN: Final = ": it is not known whether it took effect"


def _doubt(case: ExplainedIncident) -> Fact | None:
    """``had begun when its process ended``: why the effect of a call is not known, as the runtime says it."""
    name = f"{case.node.name if case.node is not None else case.action.get('tool', '')} "
    said = case.opened.message
    if not said.startswith(name) or not said.endswith(_NOT_KNOWN):
        return None
    return foreign(said.removeprefix(name).removesuffix(_NOT_KNOWN), case.here, 120)


# -- calls before this one ---------------------------------------------------------------------------------------------


def _median(case: ExplainedIncident) -> Fact | None:
    """How long earlier calls of the same name took, in the middle."""
    node = case.node
    if node is None:
        return None
    done = [
        (each, (each.closed_at - each.opened_at).total_seconds())
        for each in case.state.nodes.values()
        if each.is_step and each.name == node.name and each.kind == node.kind and each.phase == "succeeded"
        if each.closed_at is not None and each.opened_at is not None and each.attempts == 1 and each.by is None
    ]
    spent = [took for _, took in done if took >= 0.05]
    return ((Seconds(median(spent)),), tuple(each.closed_seq for each, _ in done)[:_MAX_CITED]) if spent else None


def _other_model(case: ExplainedIncident) -> Fact | None:
    """Another model that answered in this run."""
    now = model_name(case)
    for used, node in models_that_answered(case) if now else ():
        if used != now:
            return foreign(used, (node.opened_seq, node.began_seq, node.closed_seq), 80)
    return None


def _own_calls(state: DurableRun, agent: Node) -> Iterator[Node]:
    """The tools that an agent called, oldest first; not what agents called to which it delegated."""
    for child in agent.children:
        node = state.nodes[child]
        if node.kind == "tool":
            yield node
        elif node.kind != "agent":
            yield from _own_calls(state, node)


def _same_calls(case: ExplainedIncident) -> Fact | None:
    """``book 5 times``: the call that the agent that is in a loop made most often."""
    top = case.agent
    if top is None:
        return None
    alike: dict[tuple[str, str], list[int]] = {}
    for node in _own_calls(case.state, top):
        if 0 < node.opened_seq <= case.opened.seq:
            given = node.requested.get("arguments") if node.is_step else node.info.get("task")
            alike.setdefault((node.name, json_words(given)), []).append(node.opened_seq)
    if not alike:
        return None
    (name, _), seqs = max(alike.items(), key=lambda item: len(item[1]))
    if len(seqs) < 2:
        return None
    return ((Foreign(name, NAME_CHARS), f" {len(seqs)} times"), tuple(seqs[-_MAX_CITED:]))


ATTEMPT_FACTS: Final[dict[str, FactMaker]] = {
    "after_answer": _after_answer,
    "answered_before": _answered_before,
    "attempts": _attempts,
    "began": _began,
    "compacted_sizes": _compacted_sizes,
    "called_nothing": _called_nothing,
    "compacted_to": _compacted_to,
    "compacted_tokens": _compacted_tokens,
    "compactions": _compactions,
    "doubt": _doubt,
    "failed_alike": _failed_alike,
    "may_have_happened": known_if(lambda case: case.may_have_happened),
    "key_missing": known_if(lambda case: case.opened.fault.code == "missing_api_key"),
    "key_refused": known_if(lambda case: case.cause is Cause.AUTH_FAILED),
    "median": _median,
    "next_attempt": _next_attempt,
    "overflows": known_if(lambda case: case.cause is Cause.CONTEXT_OVERFLOW),
    "own_answers": _own_answers,
    "no_attempt": known_if(lambda case: case.node is not None and case.node.is_step and not case.node.attempts),
    "end_known": known_if(lambda case: not case.opened.in_doubt),
    "not_an_attempt": known_if(lambda case: _after_answer(case) is None),
    "other_model": _other_model,
    "passed_over": _passed_over,
    "pauses": _pauses,
    "retried_by_hand": _retried_by_hand,
    "same_calls": _same_calls,
    "several_attempts": _several_attempts,
    "stood_in": _stood_in,
    "took": _took,
}
"""By the name that templates have for it."""
