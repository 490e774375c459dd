"""The parameters of an answer, checked before anything is written. Pure but for the clock.

By option: `value` (input, result; skip may have one), `arguments` (edit), `model` (switch_model), `seconds`
(wait_retry may have them), `amount` (extend may have one), `message` (deny may have one), `value` (abort may have one:
the reason); for grant `for` (once, run, swarm, always), `subject`, `pattern`, `until`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from orbiter.errors import OrbiterError
from runtime.judgement.recovery.input_validation import (
    InvalidInput,
    check_edited,
    parse_input,
    parse_quantity,
)
from runtime.judgement.recovery.options import OPTION_LABELS
from runtime.judgement.recovery.secret_box import seal
from runtime.record.state import events as ev

LIFETIMES = ("once", "run", "swarm", "always")

_PARAMS_BY_OPTION: dict[str, frozenset[str]] = {
    "input": frozenset({"value"}),
    "result": frozenset({"value"}),
    "skip": frozenset({"value"}),
    "acknowledge": frozenset({"value"}),
    "edit": frozenset({"arguments"}),
    "switch_model": frozenset({"model"}),
    "wait_retry": frozenset({"seconds"}),
    "extend": frozenset({"amount"}),
    "deny": frozenset({"message"}),
    "abort": frozenset({"value"}),
    "grant": frozenset({"for", "subject", "pattern", "until"}),
}

_COUNT_PARAMS: dict[str, Literal["seconds", "amount"]] = {"wait_retry": "seconds", "extend": "amount"}


class InvalidCommand(OrbiterError):
    """What was asked for cannot be done as it was said; nothing was written."""


def checked_params(opened: ev.IncidentOpened, option: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as they are to be recorded.

    Raises:
        InvalidCommand: the incident does not offer the option, or a parameter is missing, wrong, or not one of its own.
    """
    offered = {found.id: found for found in opened.options}
    if option not in offered:
        known = "" if option in OPTION_LABELS else f" ({option!r} is no option at all)"
        raise InvalidCommand(f"incident {opened.incident_id} takes {', '.join(offered)}, not {option!r}{known}")
    given = dict(params)
    takes = _PARAMS_BY_OPTION.get(option, frozenset())
    if odd := sorted(given.keys() - takes):
        raise InvalidCommand(f"{option!r} does not take {odd[0]!r}: it takes {', '.join(sorted(takes)) or 'nothing'}")
    try:
        _check_option(opened, option, given)
    except InvalidInput as exc:
        raise InvalidCommand(f"{option!r}: {exc}") from exc
    return given


def _check_option(opened: ev.IncidentOpened, option: str, given: dict[str, Any]) -> None:
    if option in ("input", "result") and "value" not in given:
        raise InvalidCommand(f"{option!r} needs a value: give --value TEXT (an empty text is a value, too)")
    if option == "result" and opened.result_schema is not None:
        given["value"] = parse_input(opened.result_schema, given["value"])
    if opened.secret_key and option == "skip" and "value" in given:
        raise InvalidCommand(
            "a secret is given with input; skip leaves the question unanswered, and takes no value here"
        )
    if opened.question and option in ("input", "skip") and "value" in given:
        _typed_value(opened, given)
    elif option == "edit":
        if not isinstance(given.get("arguments"), dict):
            raise InvalidCommand(f"{option!r} needs arguments: give --arguments with a JSON object")
        before = opened.action.get("arguments")
        check_edited(opened.arguments_schema, given["arguments"], before if isinstance(before, Mapping) else {})
    elif option == "switch_model" and not given.get("model"):
        raise InvalidCommand(f"{option!r} needs a model: give --model provider:name")
    elif (name := _COUNT_PARAMS.get(option)) is not None and name in given:
        given[name] = parse_quantity(name, given[name])
    elif option == "grant":
        if given.setdefault("for", "once") not in LIFETIMES:
            raise InvalidCommand(f"a grant is for {', '.join(LIFETIMES)}; {given['for']!r} is none of these")
        if given["for"] == "once" and (wider := sorted(given.keys() & {"subject", "pattern", "until"})):
            raise InvalidCommand(
                f"a grant for once is for this very call, without {wider[0]!r}: say --for run, or longer"
            )
        if given.get("until") is not None:
            given["until"] = str(parse_expiry(given["until"]))


def _typed_value(opened: ev.IncidentOpened, given: dict[str, Any]) -> None:
    found = parse_input(opened.answer_schema, given["value"])
    given["value"] = seal(opened.secret_key, json.dumps(found)) if opened.secret_key else found


_DURATION = re.compile(r"(\d+)\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_expiry(text: Any, now: datetime | None = None) -> datetime | None:
    """When a grant ends: a date or time (ISO 8601, local where no zone is given; a date's end is meant), or a span from
    now (30m, 12h, 7d, 2w). None stays None.

    Raises:
        InvalidCommand: it is neither, or it is past.
    """
    if text is None or isinstance(text, datetime):
        return text
    now = now or ev.utc_now()
    said = str(text).strip()
    try:
        if (span := _DURATION.fullmatch(said)) is not None:
            return now + timedelta(**{_UNITS[span[2]]: int(span[1])})
        found = datetime.fromisoformat(said)
        if len(said) <= len("2027-01-31"):
            found += timedelta(days=1)
        found = found.astimezone(UTC)
    except OverflowError as exc:
        raise InvalidCommand(f"until {text!r} is in no calendar: leave it out for a grant without an end") from exc
    except ValueError as exc:
        raise InvalidCommand(
            f"until {text!r} is no date: give 2027-01-31, 2027-01-31T12:00, or a span such as 7d"
        ) from exc
    if found <= now:
        raise InvalidCommand(f"until {text!r} is past: a grant that has ended allows nothing")
    return found
