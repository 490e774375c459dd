"""`classify`: how errors would be judged, for people who debug their rules."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from console.exit_codes import BAD_INPUT
from console.output import print_json, print_line, print_note
from console.verbs.base import BadInput, verb
from console.workspace import workspace
from orbiter.parsing.nesting import NestedTooDeeply, check_json
from runtime.config.loader import load_configuration
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.reports.classification_trace import trace_classification
from screens.render.sanitize import sanitize_line


@verb()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, allow_dash=True), metavar="[FILE]...")
async def classify(files: tuple[Path, ...], *, as_json: bool) -> int:
    """Show how each error of a list would be classified.

    Reads JSON lines from the files, or from stdin: `provider, status, type, code, message, where, headers, body`, or
    `exception` as "ClassName: text"; an `id` is copied to the output. A line that is not a JSON object gets an error
    that names it; the other lines are still classified, and the exit code is 2.
    """
    errors = load_configuration(workspace().root).errors
    wrong = 0
    for name in files or (Path("-"),):
        with _open_source(name) as source:
            wrong += await asyncio.to_thread(_all, source, str(name), errors, as_json=as_json)
    if wrong:
        which = "line is not a JSON object" if wrong == 1 else "lines are not JSON objects"
        print_note(f"{wrong} {which}: write one error per line")
    return BAD_INPUT if wrong else 0


@contextmanager
def _open_source(name: Path) -> Iterator[BinaryIO]:
    if str(name) == "-":
        yield sys.stdin.buffer
        return
    try:
        source = name.open("rb")
    except OSError as exc:
        raise BadInput(f"cannot read {sanitize_line(str(name))}: {exc.strerror or exc}") from exc
    with source:
        yield source


def _all(source: BinaryIO, name: str, errors: FaultHandling, *, as_json: bool) -> int:
    """Judge every line; returns how many could not be read."""
    wrong = 0
    for number, line in enumerate(source, 1):
        if not line.strip():
            continue
        try:
            record = _parse_record(line)
        except ValueError as exc:
            wrong += 1
            found: dict[str, Any] = {"error": str(exc), "line": number, "file": name}
        else:
            found = trace_classification(record, rules=errors.rules, policy=errors.policy_for)
            if "id" in record:
                found = {"id": record["id"], **found}
        if as_json:
            print_json(found)
        else:
            print_line(_in_words(found, number))
    return wrong


def _parse_record(line: bytes) -> Mapping[str, Any]:
    """The object on a line.

    Raises:
        ValueError: it is not one, saying what it is instead.
    """
    try:
        text = line.decode("utf-8-sig")
        check_json(text)
        found = json.loads(text, parse_constant=str, parse_float=_finite_number)
    except UnicodeDecodeError as exc:
        raise ValueError(f"not UTF-8: byte {exc.start + 1} of the line") from exc
    except json.JSONDecodeError as exc:
        raise ValueError(f"not JSON: {exc.msg} at column {exc.colno}") from exc
    except NestedTooDeeply as exc:
        raise ValueError(f"the line {exc}") from exc
    if not isinstance(found, dict):
        raise ValueError(f"a JSON {type(found).__name__}, not an object")  # noqa: TRY004 - of what was read, not a bug
    return found


def _finite_number(digits: str) -> float | str:
    """A number; as text where JSON has no such number, since an `id` of it is printed."""
    found = float(digits)
    return found if math.isfinite(found) else digits


def _in_words(found: Mapping[str, Any], number: int) -> str:
    if "error" in found:
        return f"line {found['line']}: {found['error']}"
    waits = f" after {found['delay_s']:g} s" if found["delay_s"] is not None else ""
    head = f"{found.get('id', f'line {number}')}: {found['cause']}, {found['persistence']}, {found['impact']}"
    return (
        f"{head}\n  then: {found['remedy']}{waits} ({found['reason']})\n"
        f"  options: {', '.join(found['options'])}\n  rule: {found['rule_id']}"
    )
