"""Checks the parameters of an answer against the table of options and the incident. Pure: the time is given.

The prompt, bulk answers, the linear mode, the command line and the link check with it, so none of them takes what
another refuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from runtime.judgement.recovery.input_validation import InvalidInput, check_edited, parse_input, parse_quantity
from runtime.judgement.recovery.option_spec import OptionParam, OptionSpec
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.record.state.events import IncidentOpened


def schema_of(opened: IncidentOpened, param: OptionParam) -> Mapping[str, Any] | None:
    """The schema of the incident that a text must fit; None where any text will do."""
    return {"answer": opened.answer_schema, "result": opened.result_schema}.get(param.schema)


def check_params(opened: IncidentOpened, option: str, params: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The parameters in their types, with defaults. What an option of a newer program takes is left as it is.

    Raises:
        InvalidInput: a parameter is missing, wrong, or not one of the option's; the message says what is right.
    """
    given = dict(params)
    spec = OPTIONS.get(option)
    if spec is None:
        return given
    takes = sorted(param.name for param in spec.params)
    if odd := sorted(given.keys() - set(takes)):
        raise InvalidInput(f"{option!r} does not take {odd[0]!r}: it takes {', '.join(takes) or 'nothing'}")
    for param in spec.params:
        if param.name in given:
            given[param.name] = _checked(opened, spec, param, given[param.name], now)
        elif param.required:
            raise InvalidInput(_missing(spec, param))
        elif param.default is not None:
            given[param.name] = param.default
    if spec.effect == "grant" and given["for"] == "once" and (wider := sorted(given.keys() - {"for"})):
        raise InvalidInput(
            f"a grant for once covers this call only, and takes no {wider[0]!r}: say --for run, or longer"
        )
    return given


def _missing(spec: OptionSpec, param: OptionParam) -> str:
    return f"{spec.id!r} needs {param.noun}: give --{param.name} {param.example}"


def _checked(opened: IncidentOpened, spec: OptionSpec, param: OptionParam, value: Any, now: datetime) -> Any:
    if param.kind == "text":
        return _checked_text(opened, spec, param, value)
    if param.kind == "json":
        if not isinstance(value, dict):
            raise InvalidInput(_missing(spec, param))
        before = opened.action.get("arguments")
        check_edited(opened.arguments_schema, value, before if isinstance(before, Mapping) else {})
    elif param.kind == "model" and not value:
        raise InvalidInput(_missing(spec, param))
    elif param.kind in ("number", "duration"):
        return parse_quantity(param.name, value, zero=param.kind == "duration")
    elif param.kind == "choice" and value not in (values := [each.value for each in param.choices]):
        raise InvalidInput(f"{param.name}: {value!r} is not one of these: {', '.join(values)}")
    elif param.kind == "date" and value is not None:
        return str(parse_expiry(value, now))
    return value


def _checked_text(opened: IncidentOpened, spec: OptionSpec, param: OptionParam, value: Any) -> Any:
    schema = schema_of(opened, param)
    if param.schema == "result" and schema is not None:
        return parse_input(schema, value)
    if param.schema != "answer":
        return value
    if opened.secret_key and spec.effect != "input":
        raise InvalidInput(
            f"a secret is given with input; {spec.id} leaves the question unanswered, and takes no value here"
        )
    return parse_input(schema, value) if opened.question else value


_SPAN = re.compile(r"(\d+)\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_expiry(text: Any, now: datetime) -> datetime | None:
    """When a grant ends: a date or time (ISO 8601, local where no zone is given; a date's end is meant), or a span from
    `now` (30m, 12h, 7d, 2w). None stays None.

    Raises:
        InvalidInput: it is neither, or it is past.
    """
    if text is None or isinstance(text, datetime):
        return text
    said = str(text).strip()
    try:
        if (span := _SPAN.fullmatch(said)) is not None:
            return now + timedelta(**{_UNITS[span[2]]: int(span[1])})
        found = datetime.fromisoformat(said)
        if len(said) <= len("2027-01-31"):
            found += timedelta(days=1)
        found = found.astimezone(UTC)
    except OverflowError as exc:
        raise InvalidInput(
            f"until {text!r} is out of range (years 1 to 9999): leave it out for a grant without an end"
        ) from exc
    except ValueError as exc:
        raise InvalidInput(
            f"until {text!r}: must be a date or a span, for example 2027-01-31, 2027-01-31T12:00 or 7d"
        ) from exc
    if found <= now:
        raise InvalidInput(f"until {text!r} is past: a grant that has ended allows nothing")
    return found
