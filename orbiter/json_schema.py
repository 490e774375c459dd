"""Checking values against JSON Schemas: arguments for tools that bring a schema of their own, answers to questions.

`jsonschema` checks, in the draft that ``$schema`` names, else 2020-12. Schemas come from servers and packages, so
there are limits: a ``$ref`` is followed inside the schema and never fetched; patterns are run by RE2, in linear time;
the size and depth of a schema, and the work that one check may take, are bounded. Whatever cannot be evaluated refuses
nothing: a pattern that RE2 does not know (one with a look-ahead), a malformed keyword, a reference that leads nowhere,
what lies beyond a limit, `unevaluatedProperties` beside `patternProperties`. Arguments are refused for a reason that
can be told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

    from orbiter._internal.schema_problems import SchemaProblem

__all__ = ["find_problems", "locate_problems", "size_of"]

MAX_SCHEMA_SIZE = 20_000
"""Objects, lists and values of a schema; a larger one is not checked against."""
MAX_DEPTH = 100
"""Keywords inside one another, in a schema and while it is applied."""
MAX_WORK = 50_000
"""Keywords that one check applies, and as many again for each 2,500 values that it is given."""
MAX_PROBLEMS = 50
"""Problems that are told."""
NAMED_SCHEMAS = frozenset({"properties", "$defs", "definitions", "patternProperties"})
"""Keywords whose value has a schema for each name."""
PLAIN_VALUES = frozenset({"default", "const", "enum", "examples"})
"""Keywords whose value is data, and not a schema, whatever it looks like."""
_MAX_PATTERN_SIZE = 2_000


def find_problems(schema: Mapping[str, Any], value: Any) -> list[str]:
    """What is wrong with `value`, one text for each place; empty if it fits."""
    return [problem.sentence for problem in locate_problems(schema, value)]


def locate_problems(schema: Mapping[str, Any], value: Any) -> list[SchemaProblem]:
    """What is wrong with `value`, and where; empty if it fits."""
    if size_of(schema, MAX_SCHEMA_SIZE, MAX_DEPTH) > MAX_SCHEMA_SIZE:
        return []
    token = _check.set(_Check(schema, MAX_WORK + 20 * size_of(value, 1_000_000, 1_000_000)))
    found: list[ValidationError] = []
    try:
        for error in islice(_validator(schema).iter_errors(value), MAX_PROBLEMS):
            found.append(error)  # noqa: PERF402 - what was found until a limit was reached counts
    except Exception:  # noqa: S110 - a limit, or an invalid schema: neither refuses anything
        pass
    finally:
        _check.reset(token)
    from orbiter._internal.schema_problems import describe_errors

    return describe_errors(found)


class _LimitReached(Exception):
    """One check has taken all the work, or gone to all the depth, that it may."""


@dataclass(slots=True)
class _Check:
    """One check under way: work that is left, how deep it is, and how many keywords could not be evaluated."""

    schema: Mapping[str, Any]
    left: int
    depth: int = 0
    unknown: int = 0


_check: ContextVar[_Check] = ContextVar("orbiter_json_schema_check")


def size_of(value: Any, most: int, depth: int) -> int:
    """How many values a JSON value consists of; more than `most` where it is larger, or deeper than `depth`."""
    count, level = 0, [value]
    for _ in range(depth):
        count += len(level)
        if not level or count > most:
            return count
        level = [
            each
            for outer in level
            if isinstance(outer, Mapping | list | tuple)
            for each in (outer.values() if isinstance(outer, Mapping) else outer)
        ]
    return most + 1 if level else count


def _validator(schema: Mapping[str, Any]) -> Validator:
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    named = isinstance(schema.get("$schema"), str)
    draft = validator_for(schema, default=Draft202012Validator) if named else Draft202012Validator
    guarded, formats = _guarded_draft(draft)
    made: Validator = guarded(schema, registry=Registry(), format_checker=formats)
    return made


@lru_cache
def _guarded_draft(draft: Any) -> tuple[Any, Any]:
    """A draft whose every keyword counts its work and can do no harm, and its formats."""
    from jsonschema import FormatChecker, validators

    ours = {
        "required": _required,
        "properties": _properties,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
        "unevaluatedProperties": partial(_unevaluated_properties, draft.VALIDATORS.get("unevaluatedProperties")),
    }
    keywords = {**draft.VALIDATORS, **{name: ours[name] for name in ours.keys() & draft.VALIDATORS.keys()}}
    types = draft.TYPE_CHECKER.redefine("array", lambda _, value: isinstance(value, list | tuple))
    formats = FormatChecker(())
    formats.checkers = {**draft.FORMAT_CHECKER.checkers, "date-time": (_is_date_time, ValueError), "uri": (_is_uri, ())}
    extend: Any = validators.extend
    made = extend(draft, {name: _guarded(name, run) for name, run in keywords.items()}, type_checker=types)
    return made, formats


_TURNS = frozenset({"not", "oneOf", "if", "contains", "unevaluatedProperties", "unevaluatedItems"})
"""Keywords that refuse because something fits: where that could not be evaluated, they refuse nothing."""


def _guarded(name: str, run: Any) -> Any:
    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        check = _check.get()
        check.left -= 1 + (len(value) // 8 if isinstance(value, list | dict) else 0)
        if check.left < 0 or check.depth >= MAX_DEPTH:
            raise _LimitReached
        check.depth += 1
        unknown = check.unknown
        try:
            errors = run(validator, value, instance, schema) or ()
            if name in _TURNS:
                errors = list(errors)
                errors = errors if check.unknown == unknown else ()
            yield from errors
        except (_LimitReached, RecursionError) as exc:
            raise _LimitReached from exc
        except Exception:  # the keyword is malformed, or leads nowhere
            check.unknown += 1
        finally:
            check.depth -= 1

    return keyword


# --- keywords ---------------------------------------------------------------------------------------------------------


def _error(message: str) -> ValidationError:
    from jsonschema import ValidationError

    return ValidationError(message)


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        yield from (_error(name) for name in names if name not in instance)


_NOTHING: dict[str, Any] = {"not": {}}
"""The schema ``false``, for which jsonschema does not say where it stands."""


def _properties(validator: Any, properties: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    for name, inner in properties.items() if isinstance(instance, dict) else ():
        if name in instance:
            yield from validator.descend(
                instance[name], _NOTHING if inner is False else inner, path=name, schema_path=name
            )


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, item in instance.items():
        if name in properties or _any_matches(patterns, name):
            continue
        if allowed is False:
            yield _error(name)
        else:
            yield from validator.descend(item, allowed, path=name)


def _any_matches(patterns: Iterable[str], name: str) -> bool:
    """Whether a name fits one of the patterns; one that cannot be read may be the one that it fits."""
    return any((found := _compiled(pattern)) is None or found.search(name) is not None for pattern in patterns)


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    check = _check.get()
    for pattern, inner in patterns.items():
        check.left -= len(instance) // 8
        found = _compiled(pattern)
        for name, item in instance.items() if found is not None else ():
            if found.search(name) is not None:
                yield from validator.descend(item, _NOTHING if inner is False else inner, path=name)


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str):
        found = _compiled(pattern)
        if found is None:
            _check.get().unknown += 1
        elif found.search(instance) is None:
            yield _error(pattern)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    """A pattern for RE2; None if it is invalid, too long, or needs more than linear time."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        # JavaScript, whose patterns they are, writes code points otherwise.
        return re2.compile(_CODE_POINT.sub(r"\\x{\1}", pattern), options) if len(pattern) <= _MAX_PATTERN_SIZE else None
    except re2.error:
        return None


_CODE_POINT = re.compile(r"(?<!\\)\\u\{?([0-9A-Fa-f]{4,6})\}?")


def _unevaluated_properties(run: Any, validator: Any, inner: Any, instance: Any, schema: Any) -> Any:
    check = _check.get()
    if "patternProperties" in json.dumps(check.schema, default=str):  # jsonschema would run the patterns itself
        check.unknown += 1
        return ()
    return run(validator, inner, instance, schema)


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if wanted is True and isinstance(instance, list | tuple):
        seen = set()
        for item in instance:
            if (known := _hashable(item)) in seen:
                yield _error("")
                return
            seen.add(known)


def _hashable(value: Any) -> Any:
    """A value that equals another exactly where JSON says so: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(value, bool):
        return (bool, value)
    if isinstance(value, dict):
        return frozenset((name, _hashable(each)) for name, each in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def _is_date_time(value: object) -> bool:
    """Whether a text is a date with a time. The offset may be missing, as pydantic has it."""
    return not isinstance(value, str) or (len(value) > 10 and datetime.fromisoformat(value) is not None)


_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`\x00-\x20\x7f]+")


def _is_uri(value: object) -> bool:
    """Whether a text has a scheme and none of the characters that RFC 3986 never allows."""
    return not isinstance(value, str) or _URI.fullmatch(value) is not None
