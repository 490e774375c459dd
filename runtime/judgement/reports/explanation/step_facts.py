"""Facts of the step that failed: what was to be done, what the error says, which attempts were made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Final

from orbiter.models.endpoints import ALIASES, ENDPOINTS, Endpoint
from runtime.judgement.reports.explanation import error_text
from runtime.judgement.reports.explanation.explained_incident import ExplainedIncident
from runtime.judgement.reports.explanation.sentence import Fact, one_line, plain_words
from runtime.judgement.reports.narration import Due, Foreign, Instant, Part, Seconds

NAME_CHARS: Final = 60
SAID_CHARS: Final = 120
_VALUE_CHARS: Final = 60
_SEARCHED_CHARS: Final = 10_000
_LONGEST_HINT_S: Final = 86_400.0
"""A longer pause is not told as a time of day."""
FactMaker = Callable[[ExplainedIncident], Fact | None]
"""Finds one fact of an incident; None: it is not known."""
_PREFIX: Final = re.compile(r"^[A-Za-z_][\w.]{0,80}(?:Error|Exception|Warning|Exit|Interrupt|Failure|Denied|Timeout): ")


def foreign(text: object, events: tuple[int, ...], limit: int = NAME_CHARS) -> Fact | None:
    """A fact that is a text of others; None where there is none."""
    said = text if isinstance(text, str) else "" if text is None else json_words(text)
    return ((Foreign(said, limit),), events) if one_line(said, limit) else None


def quoted(text: Callable[[ExplainedIncident], object], limit: int = NAME_CHARS) -> FactMaker:
    """What finds a text of others that the incident itself says."""
    return lambda case: foreign(text(case), case.here, limit)


def known_if(holds: Callable[[ExplainedIncident], object]) -> FactMaker:
    """What finds a condition: a fact without words, that is known where it holds."""
    return lambda case: (("",), case.here) if holds(case) else None


def json_words(value: object) -> str:
    """A value as its JSON; what has none as its type's name."""
    try:
        return json.dumps(value, ensure_ascii=False, default=lambda each: type(each).__name__)
    except (ValueError, TypeError, RecursionError):
        return type(value).__name__


def _provider(case: ExplainedIncident) -> Fact | None:
    name, colon, _ = model_name(case).partition(":")
    return foreign(case.opened.fault.provider or (name if colon else ""), case.here)


def _endpoint(case: ExplainedIncident) -> Endpoint | None:
    known = _provider(case)
    provider = plain_words(known[0]).casefold() if known is not None else ""
    return ENDPOINTS.get(ALIASES.get(provider, provider))


def _key_variable(case: ExplainedIncident) -> Fact | None:
    """The environment variable that the provider's key is read from."""
    found = _endpoint(case)
    return ((found.key_variables[0],), case.here) if found is not None and found.key_variables else None


def _address_variable(case: ExplainedIncident) -> Fact | None:
    """The environment variable that the provider's base URL is read from, if that is missing."""
    found = _endpoint(case) if case.opened.fault.code == "missing_base_url" else None
    return ((found.url_variables[0],), case.here) if found is not None and found.url_variables else None


def model_name(case: ExplainedIncident) -> str:
    return str(case.action.get("model") or "")


def _node(case: ExplainedIncident) -> Fact | None:
    if not case.opened.lineage:
        return (("the run",), case.here) if not case.opened.node_id else None
    return foreign(case.opened.lineage[-1], case.here)


def _agent(case: ExplainedIncident) -> Fact | None:
    """The agent whose step it is; that it is the node itself is another fact (`name`)."""
    if case.agent is not None:
        return foreign(case.agent.name, (case.agent.opened_seq or case.opened.seq,))
    lineage = case.opened.lineage
    return foreign(lineage[-2], case.here) if case.node is None and len(lineage) > 1 else None


def _said_text(case: ExplainedIncident) -> str:
    fault = case.opened.fault
    text = fault.technical or case.opened.message
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return _PREFIX.sub("", first, count=1).rstrip(". ")


def _said(case: ExplainedIncident) -> Fact | None:
    found = foreign(_said_text(case), case.here, SAID_CHARS)
    if found is None or '"' in plain_words(found[0]):  # quotes within quotes are hard to read
        return found
    return (('"', *found[0], '"'), found[1])


def _exception(case: ExplainedIncident) -> Fact | None:
    return foreign(_exception_name(case), case.here)


def _exception_name(case: ExplainedIncident) -> str:
    """The class of what was raised, out of what wrapped it."""
    return case.opened.fault.exception or case.opened.error_type


def _where(case: ExplainedIncident) -> Fact | None:
    fault = case.opened.fault
    if fault.http_status is not None:
        code = (" ", Foreign(fault.code, 60)) if fault.code and fault.code != str(fault.http_status) else ()
        return ((f"HTTP {fault.http_status}", *code), case.here)
    words, number = error_text.errno_in(_error_words(case))
    if words:
        return ((Foreign(words, 80), f" (errno {number})"), case.here)
    return _exception(case)


def _error_words(case: ExplainedIncident) -> str:
    opened = case.opened
    return "\n".join((opened.fault.technical, opened.message, *opened.causes))


def _host(case: ExplainedIncident) -> Fact | None:
    arguments = case.action.get("arguments")
    given = " ".join(str(each) for each in arguments.values()) if isinstance(arguments, Mapping) else ""
    return foreign(error_text.host_in(_error_words(case)) or error_text.host_in(given), case.here, 80)


def _host_argument(case: ExplainedIncident) -> Fact | None:
    """The host, if an argument of the call names it."""
    arguments = case.action.get("arguments")
    if not isinstance(arguments, Mapping):
        return None
    return foreign(error_text.host_in(" ".join(str(each) for each in arguments.values())), case.here, 80)


def _refusing(case: ExplainedIncident) -> Fact | None:
    """The host, if it refused the connection: nothing listens there."""
    reason = error_text.connection_reason(f"{_error_words(case)} {case.opened.error_type}")
    return _host(case) if reason == error_text.REFUSED else None


def _refusing_argument(case: ExplainedIncident) -> Fact | None:
    """The same, if an argument of the call names it."""
    return _host_argument(case) if _refusing(case) is not None else None


def _connection_reason(case: ExplainedIncident) -> Fact | None:
    words = error_text.connection_reason(f"{_error_words(case)} {case.opened.error_type}")
    return ((words,), case.here) if words else None


def _frame(case: ExplainedIncident) -> Fact | None:
    found = error_text.raising_frame(case.opened.traceback, _exception_name(case))
    if found is None:
        return None
    return ((Foreign(found.file, 60), ":", Foreign(found.line, 8), ", ", Foreign(found.function, 60)), case.here)


def _own_frame(case: ExplainedIncident) -> Fact | None:
    """The frame, if it is one of the user's code: what refuses a setting is often ours, and tells nothing of it."""
    found = error_text.raising_frame(case.opened.traceback, _exception_name(case))
    return _frame(case) if found is not None and found.own else None


def _hint(case: ExplainedIncident) -> Fact | None:
    hint = case.opened.fault.retry_after_s
    return ((Seconds(hint),), case.here) if hint else None


def _hint_until(case: ExplainedIncident) -> Fact | None:
    """When a pause that was asked for is over."""
    due = pause_end(case)
    return ((Instant(due),), case.here) if due is not None else None


def _hint_left(case: ExplainedIncident) -> Fact | None:
    """``24s``: how long that is from now; ``until 09:01:37`` where the time is not known."""
    due = pause_end(case)
    return ((Due(due),), case.here) if due is not None else None


def pause_end(case: ExplainedIncident) -> datetime | None:
    """When the pause is over that was asked for; it counts from the refusal. None where none was."""
    hint = case.opened.fault.retry_after_s
    if not hint or not 0 < hint < _LONGEST_HINT_S or case.opened.seq <= 0:
        return None
    return case.opened.ts + timedelta(seconds=hint)


def _call(case: ExplainedIncident) -> Fact | None:
    """The call as it would be written: its tool, and its arguments, short values first."""
    tool, arguments = case.action.get("tool"), case.action.get("arguments")
    if not isinstance(tool, str) or not isinstance(arguments, Mapping):
        return None
    parts: list[Part] = [Foreign(tool, NAME_CHARS), "("]
    ordered = sorted(arguments.items(), key=lambda item: len(json_words(item[1])) > _VALUE_CHARS)
    for number, (name, value) in enumerate(ordered[:4]):
        parts += [", " if number else "", Foreign(str(name), 40), "=", Foreign(json_words(value), _VALUE_CHARS)]
    parts.append(", ...)" if len(ordered) > 4 else ")")
    return (tuple(each for each in parts if each != ""), case.here)


def _also_needs(case: ExplainedIncident) -> Fact | None:
    """``net:example.com:443``, ``net:example.com:443 and 2 more``: what the call needs besides, and lacks."""
    needs = case.action.get("also_needs")
    if not isinstance(needs, list) or not needs:
        return None
    more = (f" and {len(needs) - 1} more",) if len(needs) > 1 else ()
    return ((Foreign(str(needs[0]), NAME_CHARS), *more), case.here)


def _largest(case: ExplainedIncident) -> Fact | None:
    """The longest argument of the call, where one is long."""
    arguments = case.action.get("arguments")
    if not isinstance(arguments, Mapping) or not arguments:
        return None
    name, value = max(arguments.items(), key=lambda item: len(json_words(item[1])))
    size = len(json_words(value))
    return ((Foreign(str(name), 40), f", {size} characters"), case.here) if size >= 1_000 else None


_WORD: Final = re.compile(r"[^\W\d_][\w./:-]{2,60}\w")


def _unknown_name(case: ExplainedIncident) -> Fact | None:
    """``"releases" in sql, but names "release"``: a name of an argument that the error does not know."""
    arguments = case.action.get("arguments")
    if not isinstance(arguments, Mapping):
        return None
    given = {str(name): set(_WORD.findall(json_words(value)[:_SEARCHED_CHARS])) for name, value in arguments.items()}
    said = _said_text(case)[:_SEARCHED_CHARS]
    for word in error_text.unknown_names(said):
        named = next((name for name, words in given.items() if word in words), None)
        if named is None:
            continue
        near = get_close_matches(word, [each for each in _WORD.findall(said) if each != word], n=1, cutoff=0.75)
        hint = (', but names "', Foreign(near[0], 40), '"') if near else ()
        return (('"', Foreign(word, 40), '" in ', Foreign(named, 40), *hint), case.here)
    return None


STEP_FACTS: Final[dict[str, FactMaker]] = {
    "address_variable": _address_variable,
    "agent": _agent,
    "also_needs": _also_needs,
    "author": quoted(lambda case: case.opened.fault.author_message, 300),
    "call": _call,
    "connection_reason": _connection_reason,
    "exception": _exception,
    "frame": _frame,
    "has_arguments": known_if(lambda case: case.action.get("arguments")),
    "hint": _hint,
    "hint_left": _hint_left,
    "hint_source": quoted(lambda case: case.opened.fault.hint_source),
    "hint_until": _hint_until,
    "host": _host,
    "host_argument": _host_argument,
    "in_own_code": known_if(_own_frame),
    "is_call": known_if(lambda case: isinstance(case.action.get("arguments"), Mapping)),
    "key_variable": _key_variable,
    "largest": _largest,
    "message": quoted(lambda case: case.opened.message or case.opened.fault.user_message, 200),
    "model": quoted(model_name, 80),
    "model_bare": quoted(lambda case: model_name(case).partition(":")[2], 80),  # without its provider
    "need": quoted(lambda case: case.action.get("permission"), 160),
    "node": _node,
    "object": quoted(lambda case: str(case.action.get("permission", "")).partition(":")[2], 160),
    "own_frame": _own_frame,
    "provider": _provider,
    "question": quoted(lambda case: case.opened.question, 300),
    "refusing": _refusing,
    "refusing_argument": _refusing_argument,
    "rule_says": quoted(lambda case: case.opened.fault.rule_message, 200),
    "said": _said,
    "tool": quoted(lambda case: case.action.get("tool")),
    "unknown_name": _unknown_name,
    "where": _where,
}
"""By the name that templates have for it."""
