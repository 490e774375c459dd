"""The options of an incident (kinds of answers): ids, labels, consequences, and for which faults each is offered.

Pure: from a classification and the kind of place it happened at, to options and the safe one among them. Screens and
the command line show what stands here and nothing else. What an answer does is in `runtime.execution.resolution`;
its parameters and reaches are in `runtime.operations`; its key is in `screens.render.key_names`.
"""

from __future__ import annotations

import json
from typing import Literal

from runtime.record.state.events import IncidentOpened, Option
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)

FaultSite = Literal["llm", "tool", "value", "agent", "group", "swarm", "run"]

OPTION_LABELS: dict[str, str] = {
    "retry": "Retry operation",
    "wait_retry": "Wait and retry",
    "switch_model": "Retry with another model",
    "edit": "Edit the arguments and retry",
    "input": "Provide corrected input",
    "grant": "Grant permission",
    "deny": "Deny, with a word to the agent",
    "result": "Provide the result by hand",
    "skip": "Skip",
    "accept": "Accept what is there",
    "extend": "Extend the budget",
    "reset": "Reset the breaker",
    "acknowledge": "Acknowledge",
    "abort": "Abort execution",
}
"""Option ids (DESIGN section 6) and their labels (seeds 002 and 003 where they have one)."""

_INPUT_BY_OPTION: dict[str, Literal["", "text", "arguments", "model", "seconds", "amount"]] = {
    "switch_model": "model",
    "edit": "arguments",
    "input": "text",
    "result": "text",
    "extend": "amount",
}

OPTIONAL_TEXT = frozenset({"deny", "skip", "abort"})
"""Options that take a text but do not need one: a word to the agent, a stand-in value, a reason."""

_DESTRUCTIVE_OPTIONS = frozenset({"skip", "accept", "acknowledge", "abort"})

STEP_KINDS: frozenset[str] = frozenset({"llm", "tool", "value"})
"""Places that touch the world; the others are scopes, whose body is done again from the start."""

_UNRETRIABLE_CAUSES = frozenset(
    {Cause.MODEL_UNKNOWN, Cause.CONTEXT_OVERFLOW, Cause.PAYLOAD_TOO_LARGE, Cause.CONFIG_INVALID}
)
"""Causes that the same call meets again however often it is made."""

_OPTIONS_AT_MODEL: dict[Cause, tuple[str, ...]] = {
    Cause.RATE_LIMITED: ("wait_retry", "retry", "switch_model"),
    Cause.QUOTA_EXHAUSTED: ("retry", "switch_model"),
    Cause.AUTH_FAILED: ("retry", "switch_model"),
    Cause.PERMISSION_DENIED: ("retry", "switch_model"),
    Cause.MODEL_UNKNOWN: ("switch_model",),
    Cause.CONTEXT_OVERFLOW: ("switch_model",),
    Cause.PAYLOAD_TOO_LARGE: ("switch_model",),
    Cause.CIRCUIT_OPEN: ("wait_retry", "reset", "switch_model"),
    Cause.LIMIT_REACHED: ("extend",),
    Cause.REFUSED: ("retry", "switch_model"),
}


def make_option(option_id: str, *, hint: str = "", label: str = "") -> Option:
    """The option as it is shown. Raises `KeyError` for an id that is none of ours."""
    return Option(
        id=option_id,
        label=label or OPTION_LABELS[option_id],
        needs=_INPUT_BY_OPTION.get(option_id, ""),
        hint=hint,
        standing=option_id == "grant",
    )


def retry_can_work(fault: Classification, where: FaultSite = "llm") -> bool:
    """Whether doing the same again may succeed, perhaps after somebody mended something outside.

    A run reads its swarm anew when it is done again, so a mended file heals even a configuration there.
    """
    if where == "run" and fault.cause is Cause.CONFIG_INVALID:
        return True
    if where == "tool" and fault.cause is Cause.ARGS_INVALID:
        return False
    return fault.cause not in _UNRETRIABLE_CAUSES and fault.persistence is not Persistence.PERMANENT


def options_for(
    fault: Classification,
    where: FaultSite = "llm",
    *,
    in_doubt: bool = False,
    need: str = "",
    question: bool = False,
    in_place: bool = True,
    partial: bool | None = None,
) -> tuple[tuple[Option, ...], str]:
    """The options of an incident, most useful first, and the id of its safe default.

    `in_doubt`: the effect of an earlier attempt is unknown. `need`: a permission that nobody granted.
    `question`: a person's input is what is missing. `in_place`: the node goes on where it is, so that an input can
    still change what comes. `partial`: something was finished that can be accepted as it is; None: as its
    cause usually leaves it.
    """
    if need:
        return (make_option("grant", hint=need), make_option("deny"), _skip_option(where), make_option("abort")), "deny"
    if fault.rule_id == "breakpoint":
        more = [make_option("edit"), make_option("result")] if where == "tool" else []
        return (make_option("retry", label="Go on"), *more, _skip_option(where), make_option("abort")), "abort"
    if fault.rule_id == "stall.no-progress":
        return (make_option("acknowledge", label="Let it go on"), make_option("abort")), "acknowledge"
    if question or fault.cause is Cause.MISSING_INPUT:
        return (make_option("input"), _skip_option(where, question=True), make_option("abort")), "abort"
    if in_doubt:
        return (make_option("result"), _verified_option(), _skip_option(where), make_option("abort")), "abort"
    return tuple(_by_cause(fault, where, in_place=in_place, partial=partial)), "abort"


def wording_of(opened: IncidentOpened, option_id: str) -> str:
    """The very words that this answer is an answer to; empty where it is one to every incident that is the same.

    A fingerprint leaves out paths, names and numbers: whoever permits one file has not permitted every other. And a
    permission that names no object (`shell`) says nothing of what is to be done: there the call itself counts.
    """
    if option_id == "input":
        return opened.question
    if option_id != "grant":
        return ""
    need, action = str(opened.action.get("permission", "")), opened.action
    if ":" in need:
        return need
    arguments = json.dumps(action.get("arguments", {}), ensure_ascii=False, sort_keys=True, default=str)
    return f"{need}: {action.get('tool', '')} {arguments}" if need else ""


def needs_look(opened: IncidentOpened, option_id: str) -> bool:
    """Whether the option would repeat what may have happened: then whoever says so has looked at this very one, and
    no answer to another can say it.
    """
    unknown = "tool" in opened.action and opened.fault.effect in (Effect.UNKNOWN, Effect.APPLIED)
    return option_id in _REPEATING_OPTIONS and (opened.in_doubt or unknown)


_REPEATING_OPTIONS = frozenset({"retry", "wait_retry", "edit"})


def is_destructive(opened: IncidentOpened, option_id: str, *, runs: int = 1) -> bool:
    """Whether the option ends or drops something, or may repeat an effect: an operator confirms it with a second key.

    `runs`: how many runs wait for the same breaker. A grant that lasts is confirmed, too; its lifetime decides that.
    """
    if option_id == "retry":
        return opened.in_doubt
    return option_id in _DESTRUCTIVE_OPTIONS or (option_id == "reset" and runs > 1)


_CONSEQUENCES: dict[str, str] = {
    "abort": "Ends the run. What is done stays on record. {rewind} starts again from any step.",
    "skip": "It is not done. {rewind} on its step starts again from there.",
    "accept": "It ends with the results that are there, without the others.",
    "acknowledge": "It is left as it is.",
    "reset": "Calls go out again at once, for every run that waits for this breaker.",
    "retry": "Does it again. If it did happen, it happens twice.",
}
"""What a second key confirms, by option."""


def consequence_text(option: str, rewind: str = "R") -> str:
    """What an option will do that has to be confirmed; `rewind` is what starts a run again from a step."""
    return _CONSEQUENCES.get(option, "").format(rewind=rewind)


def _by_cause(fault: Classification, where: FaultSite, *, in_place: bool, partial: bool | None) -> list[Option]:
    labels = {"deny": "Tell the agent what to do instead"}
    ids = _option_ids(fault, where, in_place=in_place, partial=partial)
    found = [make_option(each, label=labels.get(each, "")) for each in ids]
    if where == "tool" and fault.effect in (Effect.UNKNOWN, Effect.APPLIED):
        # It may have happened: what a person knows of it comes first, and repeating it is said to need a look.
        found = [_verified_option() if each.id == "retry" else each for each in found]
        found.sort(key=lambda each: each.id != "result")
    if where not in ("swarm", "run"):
        found.append(_skip_option(where))
    if fault.impact is Impact.PROCESS:
        found = [make_option("acknowledge")]
    return [*found, make_option("abort")]


def _option_ids(fault: Classification, where: FaultSite, *, in_place: bool, partial: bool | None) -> list[str]:
    if where in STEP_KINDS:
        return _options_at_step(fault, where)
    ids: list[str] = []
    if in_place and fault.cause in (Cause.LOOP_DETECTED, Cause.OUTPUT_INVALID, Cause.ARGS_INVALID):
        ids.append("input")
    if fault.cause is Cause.LOOP_DETECTED or (retry_can_work(fault, where) and fault.cause is not Cause.LIMIT_REACHED):
        ids.append("retry")
    if where == "agent" and in_place and fault.cause is Cause.OUTPUT_INVALID:
        ids.append("result")
    if where in ("group", "swarm") and (fault.cause in _PARTIAL_RESULT_CAUSES if partial is None else partial):
        ids.append("accept")
    return ids


_PARTIAL_RESULT_CAUSES = frozenset({Cause.DEPENDENCY_FAILED, Cause.LIMIT_REACHED})
"""Causes that usually leave finished members behind."""


def _options_at_step(fault: Classification, where: FaultSite) -> list[str]:
    if where == "llm" or (where != "tool" and fault.origin is Origin.MODEL):
        ids = [*_OPTIONS_AT_MODEL.get(fault.cause, ("retry", "switch_model")), "result"]
    elif fault.cause is Cause.LIMIT_REACHED:
        ids = ["extend", "result", "deny"]
    elif fault.cause is Cause.CIRCUIT_OPEN:
        ids = ["wait_retry", "reset", "result", "deny"]
    else:
        ids = ["retry", "edit", "result", "deny"] if where == "tool" else ["retry", "result"]
        if where == "tool" and fault.cause in (Cause.ARGS_INVALID, Cause.CONFIG_INVALID):
            ids = ["edit", "retry", "result", "deny"]
    if fault.retry_after_s and "wait_retry" not in ids:
        ids.insert(0, "wait_retry")
    if retry_can_work(fault, where):
        return ids
    return [each for each in ids if each not in ("retry", "wait_retry")]


def _verified_option() -> Option:
    return make_option("retry", label="Verified: retry operation", hint="only after checking that it did not happen")


def _skip_option(where: FaultSite, *, question: bool = False) -> Option:
    if question:
        hint = "whoever asked is told that nobody answered, unless you give a value"
        return make_option("skip", label="Do not answer", hint=hint)
    what = {"llm": "Skip this agent", "agent": "Skip this agent", "group": "Skip this group"}
    return make_option(
        "skip", label=what.get(where, "Skip this call"), hint="those after it get an empty value, or the one you give"
    )


def why_no_retry(fault: Classification) -> str:
    """A sentence for the report where `retry` is not offered; empty where it is."""
    if fault.cause is Cause.MODEL_UNKNOWN:
        return "Retrying cannot help: the provider does not know this model."
    if fault.cause in (Cause.CONTEXT_OVERFLOW, Cause.PAYLOAD_TOO_LARGE):
        return "Retrying cannot help: the same request is as long the next time."
    if fault.cause is Cause.ARGS_INVALID:
        return "Retrying cannot help: the same arguments are refused the next time."
    if fault.cause is Cause.LIMIT_REACHED:
        return "Retrying cannot help: the limit is reached until it is extended."
    if fault.cause is Cause.CIRCUIT_OPEN:
        return "Retrying now cannot help: calls are held back until the breaker lets one through."
    if fault.cause is Cause.MISSING_INPUT:
        return "Retrying cannot help: the same question would be asked."
    if fault.cause is Cause.CONFIG_INVALID:
        return "Retrying cannot help before the configuration is changed."
    if fault.persistence is Persistence.PERMANENT:
        return "Retrying cannot help: the same call fails the same way."
    return ""
