"""Which options an incident offers, most useful first, and the safe one among them.

Pure: from a classification and the kind of place it happened at. What each option is stands in `option_table`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, get_args

from runtime.judgement.comparison.file_write import FileState, written_text
from runtime.judgement.recovery.option_spec import Confirmation, FaultSite, KeyPress, OfferContext
from runtime.judgement.recovery.option_table import OPTIONS, effect_of
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
    Remedy,
)
from runtime.record.state.incident_events import IncidentAnswered, IncidentOpened, Option, OptionNeed

SERVER_APPROVAL_RULE_ID: Final = "mcp-server-approval"
"""The rule of incidents that ask whether an MCP server may be used."""

_NEEDS: Final[dict[str, OptionNeed]] = {need: need for need in get_args(OptionNeed)}
"""What `Option.needs` of an event can say."""

_TELL_LABEL: Final = "Tell the agent what to do instead"
"""What `deny` is called where no permission is asked for."""

STEP_KINDS: frozenset[str] = frozenset({"llm", "tool", "value"})
"""Places that touch the world; the others are scopes, whose body is done again from the start."""

_UNRETRIABLE_CAUSES = frozenset(
    {Cause.MODEL_UNKNOWN, Cause.CONTEXT_OVERFLOW, Cause.PAYLOAD_TOO_LARGE, Cause.CONFIG_INVALID}
)
"""Causes that the same call meets again however often it is made."""

_MENDED_OUTSIDE: Final = frozenset({"missing_base_url"})
"""Codes of what is configured in the environment: it may be right the next time, without a change of the swarm."""

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


@lru_cache(maxsize=256)
def make_option(option_id: str, *, hint: str = "", label: str = "") -> Option:
    """The option as it is shown; frozen, hence the same one for every incident that offers it.

    Raises `KeyError` for an id that the table does not have.
    """
    spec = OPTIONS[option_id]
    return Option(
        id=option_id,
        label=label or spec.label,
        needs=_NEEDS.get(spec.asked_param.need, "") if spec.asked_param is not None else "",
        hint=hint,
        standing=spec.effect == "grant",
    )


def retry_can_work(fault: Classification, where: FaultSite = "llm") -> bool:
    """Whether doing the same again may succeed, perhaps after a person mended something outside.

    A run reads its swarm again when it is repeated, so a mended file heals even a configuration there; a call reads its
    environment again.
    """
    if fault.recoverable is not None:
        return fault.recoverable
    if fault.cause is Cause.CONFIG_INVALID and (where == "run" or fault.code in _MENDED_OUTSIDE):
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

    `in_doubt`: the effect of an earlier attempt is unknown. `need`: a permission that is not granted.
    `question`: a person's input is what is missing. `in_place`: the node goes on where it is, so that an input can
    still change what comes. `partial`: something was finished that can be accepted as it is; None: as its
    cause usually leaves it.
    """
    if need:
        more = [make_option("edit", label="Grant once, with other arguments"), make_option("result")]
        if fault.rule_id == SERVER_APPROVAL_RULE_ID:
            more = []  # what is asked is whether a program may run, not what a call may do
        found = [make_option("grant", hint=need), make_option("deny"), *(more if where == "tool" else [])]
        return (*found, _skip_option(), make_option("abort")), "deny"
    if fault.rule_id == "breakpoint":
        edited = make_option("edit", label="Edit the arguments, then go on")
        told = make_option("deny", label=_TELL_LABEL)
        more = [edited, make_option("result"), told] if where == "tool" else []
        return (make_option("retry", label="Go on"), *more, _skip_option(), make_option("abort")), "abort"
    if fault.rule_id == "stall.no-progress":
        return (make_option("acknowledge", label="Let it go on"), make_option("abort")), "acknowledge"
    if question or (fault.cause is Cause.MISSING_INPUT and fault.proposal is not Remedy.REPLAN):
        # Code that asks out of a call can also be told, as the call's result, that there will be no answer.
        more = [make_option("deny")] if where == "tool" else []
        return (make_option("input"), *more, _skip_option(question=True), make_option("abort")), "abort"
    if in_doubt:
        known = (_happened_option(), _not_happened_option())
        return (*known, _skip_option(), make_option("abort")), "abort"
    return tuple(_by_cause(fault, where, in_place=in_place, partial=partial)), "abort"


def needs_look(opened: IncidentOpened, option_id: str) -> bool:
    """Whether the option would repeat what may have happened: then the operator who says so has looked at this very
    one, and no answer to another can say it.
    """
    unknown = "tool" in opened.action and opened.fault.effect in (Effect.UNKNOWN, Effect.APPLIED)
    spec = OPTIONS.get(option_id)
    return spec is not None and spec.repeats and (opened.in_doubt or unknown)


def confirmation_of(
    opened: IncidentOpened, option_id: str, *, runs: int = 1, file: FileState | None = None
) -> Confirmation | None:
    """Why an operator confirms the option with a second key at this incident; None where its key is enough.

    It is confirmed where it ends or drops something, may do a thing twice, or lets a call begin that was held back for
    a look and that cannot be taken back: a tool's at a breakpoint, and one that may overwrite a file. A grant that
    lasts is confirmed, too; its lifetime decides that. A plain retry is not.

    Args:
        opened: the incident.
        option_id: the option.
        runs: how many runs wait for the same breaker.
        file: what the file is that the call would write; None: not known, so it may be there.
    """
    spec = OPTIONS.get(option_id)
    holds: dict[Confirmation, bool] = {
        "always": True,
        "in doubt": opened.in_doubt,
        "shared": runs > 1,
        "breakpoint": opened.fault.rule_id == "breakpoint" and "tool" in opened.action,
        "overwrites": file not in ("new", "same") and written_text(opened.action) is not None,
    }
    return next((each for each in spec.confirm if holds[each]), None) if spec is not None else None


def press_of(opened: IncidentOpened, option_id: str, *, runs: int = 1, file: FileState | None = None) -> KeyPress:
    """What the key of an option does first at this incident.

    Args:
        opened: the incident.
        option_id: the option; one of a newer program opens a field if its incident says that it needs something.
        runs: how many runs wait for the same breaker.
        file: what the file is that the call would write; None: not known.
    """
    if confirmation_of(opened, option_id, runs=runs, file=file) is not None:
        return "asks"
    if option_id in OPTIONS:
        return OPTIONS[option_id].press
    return "opens" if any(each.needs for each in opened.options if each.id == option_id) else "acts"


def ends_run(answer: IncidentAnswered) -> bool:
    """Whether an answer ends the whole run, and not a branch of it."""
    return effect_of(answer.option) == "abort" and answer.reach == "run"


def _by_cause(fault: Classification, where: FaultSite, *, in_place: bool, partial: bool | None) -> list[Option]:
    labels = {"deny": _TELL_LABEL}
    if fault.cause in (Cause.OUTPUT_INVALID, Cause.LOOP_DETECTED):
        labels["input"] = "Tell the agent what to correct"  # what is asked for is a word to it, not an input
    if fault.cause is Cause.ARGS_INVALID:
        labels["edit"] = OPTIONS["input"].label  # with the form of the tool's arguments (seed 003)
    ids = _option_ids(fault, where, in_place=in_place)
    found = [make_option(each, label=labels.get(each, "")) for each in ids]
    if where == "tool" and fault.effect in (Effect.UNKNOWN, Effect.APPLIED):
        # It may have happened: what a person knows of it comes first, and repeating it is said to need a look.
        again = {each: _not_happened_option(each) for each in ("retry", "wait_retry")}
        known = {"result": _happened_option(), **again}
        found = [known.get(each.id, each) for each in found]
        found.sort(key=lambda each: each.id != "result")
    finished = fault.cause in _PARTIAL_RESULT_CAUSES if partial is None else partial
    context = OfferContext(fault, where, in_place, finished)
    found += [make_option(spec.id) for spec in OPTIONS.values() if spec.offered is not None and spec.offered(context)]
    if where not in ("swarm", "run"):
        found.append(_skip_option())
    if fault.impact is Impact.PROCESS:
        found = [make_option("acknowledge")]
    return [*found, make_option("abort")]


def _option_ids(fault: Classification, where: FaultSite, *, in_place: bool) -> list[str]:
    if where in STEP_KINDS:
        return _options_at_step(fault, where)
    ids: list[str] = []
    corrects = fault.cause is Cause.ARGS_INVALID and where != "run"  # what is given is the input of the body
    if corrects or (in_place and fault.cause in (Cause.LOOP_DETECTED, Cause.OUTPUT_INVALID)):
        ids.append("input")
    if where == "agent" and fault.cause is Cause.RATE_LIMITED and retry_can_work(fault, where):
        ids.append("wait_retry")
    if fault.cause is Cause.LOOP_DETECTED or (retry_can_work(fault, where) and not _is_fixed_limit(fault)):
        ids.append("retry")
    if where == "agent" and in_place and fault.cause is Cause.OUTPUT_INVALID:
        ids.append("result")
    return ids


def _is_fixed_limit(fault: Classification) -> bool:
    """Whether a limit stands until it is extended; a limit of a guest's framework may be one that a retry widens."""
    return fault.cause is Cause.LIMIT_REACHED and fault.proposal is not Remedy.RETRY


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
    if (fault.retry_after_s or fault.cause is Cause.RATE_LIMITED) and "wait_retry" not in ids:
        ids.insert(0, "wait_retry")
    if retry_can_work(fault, where):
        return ids
    return [each for each in ids if each not in ("retry", "wait_retry")]


def _happened_option() -> Option:
    return make_option("result", hint="if you checked that it DID happen: give its result")


def _not_happened_option(option_id: str = "retry") -> Option:
    return make_option(option_id, hint="only if you checked that it did NOT happen; it runs again")


def _skip_option(*, question: bool = False) -> Option:
    if question:
        return make_option("skip", hint="the code that asked gets no answer, unless you give a value")
    return make_option("skip", hint="what comes next gets an empty text, or the value you give")


def why_no_retry(fault: Classification) -> str:
    """A sentence for the report where `retry` is not offered; empty where it is."""
    if fault.recoverable is False:
        return "Retrying cannot help: the error says that it is not recoverable."
    if fault.cause is Cause.MODEL_UNKNOWN:
        return "Retrying cannot help: the provider does not know this model."
    if fault.cause in (Cause.CONTEXT_OVERFLOW, Cause.PAYLOAD_TOO_LARGE):
        return "Retrying cannot help: the same request is as long the next time."
    if fault.cause is Cause.ARGS_INVALID:
        return "Retrying cannot help: the same arguments are refused the next time."
    if _is_fixed_limit(fault):
        return "Retrying cannot help: the limit is reached until it is extended."
    if fault.cause is Cause.CIRCUIT_OPEN:
        return "Retrying now cannot help: calls are held back until the breaker lets one through."
    if fault.cause is Cause.MISSING_INPUT and fault.proposal is not Remedy.REPLAN:
        return "Retrying cannot help: the same question would be asked."
    if fault.cause is Cause.CONFIG_INVALID:
        return "Retrying cannot help before the configuration is changed."
    if fault.persistence is Persistence.PERMANENT:
        return "Retrying cannot help: the same call fails the same way."
    return ""
