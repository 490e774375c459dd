"""Prompts of the linear mode: asks line by line for what an option needs.

In every answer ``.`` goes back and decides nothing, Enter alone is what the question says it is, ``""`` is an empty
text, ``@path`` is what stands in that file, and ``@`` alone is what the operator's own editor makes of it. An empty
answer and none are never the same.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from console.output import mask_value
from runtime.judgement.recovery.input_validation import (
    InvalidInput,
    check_edited,
    is_secret,
    json_object,
    parse_input,
    secret_warning,
)
from runtime.judgement.recovery.options import OPTIONAL_TEXT
from runtime.operations.answer_params import InvalidCommand, checked_params
from runtime.record.state.events import IncidentOpened, Option
from screens.shell import file_input

STANDING_LIFETIMES = ("run", "swarm", "always")
"""Lifetimes of a grant that reach further than the call that is asked about."""

EMPTY_ENTRY = '""'
BACK_ENTRY = "."
FILE_PREFIX = "@"


class GoBack(Exception):
    """Whoever was asked thought better of it, or the input has ended."""


class InvalidEntry(Exception):
    """What was typed cannot be used; the text says why."""


class AskLine(Protocol):
    """Puts a question; the line that was typed, None at the end of input. A secret one is not shown as it is typed."""

    def __call__(self, question: str, *, secret: bool = False) -> Awaitable[str | None]: ...

    @property
    def editor(self) -> str:
        """The command of the operator's editor; empty where there is none."""
        ...

    def edit(self, text: str, suffix: str) -> Awaitable[str]:
        """What the operator's editor makes of a text. Raises `InvalidEntry` where it cannot."""
        ...


class _Saying:
    """Puts questions as `ask` does, the next one behind what was wrong with the answer before."""

    def __init__(self, ask: AskLine, why: str) -> None:
        self._ask = ask
        self.why = why

    async def __call__(self, question: str, *, secret: bool = False) -> str | None:
        why, self.why = self.why, ""
        return await self._ask(f"{why}. {question}" if why else question, secret=secret)

    @property
    def editor(self) -> str:
        return self._ask.editor

    def edit(self, text: str, suffix: str) -> Awaitable[str]:
        return self._ask.edit(text, suffix)


ParamsCheck = Callable[[dict[str, Any]], object]
"""Raises `InvalidCommand` for parameters that `Decisions` would refuse."""


async def read_params(opened: IncidentOpened, option: Option, ask: AskLine, why: str = "") -> dict[str, Any]:
    """The parameters of an answer, as `Decisions` takes them. A value that cannot be used is said to be, and the same
    question is put again. `why`: what was wrong with the answer before.

    Raises:
        Back: no answer.
    """
    saying = _Saying(ask, why)

    def fits(params: dict[str, Any]) -> object:
        return checked_params(opened, option.id, params)

    if option.id == "grant":
        return await _grant(opened, saying, fits)
    return await _ask_until_valid(saying, lambda: _ask_params(opened, option, saying), fits)


async def _ask_until_valid(
    saying: _Saying, put: Callable[[], Awaitable[dict[str, Any]]], fits: ParamsCheck
) -> dict[str, Any]:
    """What `put` asks for, asked again until it can be used."""
    while True:
        try:
            found = await put()
            fits(found)
        except (InvalidCommand, InvalidInput, InvalidEntry) as exc:
            saying.why = str(exc).rstrip(".")
        else:
            return found


async def _ask_params(opened: IncidentOpened, option: Option, ask: AskLine) -> dict[str, Any]:
    if option.id == "input" and is_secret(opened.answer_schema):
        return {"value": await _read_secret(ask)}
    if option.id == "input":
        return {"value": await _read_typed(ask, opened.answer_schema)}
    if option.id == "result":
        return {"value": await _read_typed(ask, opened.result_schema, "the result")}
    if option.id == "edit":
        return {"arguments": await _arguments(opened, ask)}
    if option.id == "switch_model":
        return {"model": await _read_line(ask, "model, as provider:name (Enter: back):")}
    if option.id == "wait_retry":
        return await _read_optional(
            ask, "seconds", "for how many seconds (Enter: as long as the server says, .: back):"
        )
    if option.id == "extend":
        return await _read_optional(ask, "amount", "by how much (Enter: as much again, .: back):")
    if option.id in OPTIONAL_TEXT:
        return await _read_optional(ask, *_OPTIONAL[option.id], text=True)
    return {}


_OPTIONAL = {
    "deny": ("message", "a word to the agent, what to do instead (Enter: none, @path: a file, .: back):"),
    "skip": (
        "value",
        f"what those after it get (Enter: nothing, {EMPTY_ENTRY}: an empty text, @path: a file, .: back):",
    ),
    "abort": ("value", "the run ends; why (Enter: no reason, .: back):"),
}


async def _read_entry(ask: AskLine, question: str, *, secret: bool = False) -> str:
    line = await ask(question, secret=secret)
    if line is None or line == BACK_ENTRY:
        raise GoBack
    return line


async def _read_line(ask: AskLine, question: str, *, secret: bool = False) -> str:
    """A line that is not empty."""
    line = await _read_entry(ask, question, secret=secret)
    if not line:
        raise GoBack
    return line


async def _read_secret(ask: AskLine) -> str:
    found = await _read_line(ask, "the secret; it is not shown (Enter: back):", secret=True)
    if warning := secret_warning(found):
        await _read_entry(ask, f"it is {warning}. Send it all the same? (Enter: yes, {BACK_ENTRY}: back):")
    return found


async def _read_optional(ask: AskLine, name: str, question: str, *, text: bool = False) -> dict[str, Any]:
    line = await _read_entry(ask, question)
    if not line:
        return {}
    if text and line == FILE_PREFIX and ask.editor:
        return {name: await _in_editor(ask, "", ".txt", str)}
    return {name: _text(line) if text else line}


async def _in_editor(ask: AskLine, text: str, suffix: str, read: Callable[[str], Any]) -> Any:
    """What `read` makes of a text from the operator's editor, which begins with `text`. What does not fit is edited on,
    nothing is lost; what was left as it was decides nothing.
    """
    found = await ask.edit(text, suffix)
    if found == text:
        raise GoBack
    while True:
        try:
            return read(found)
        except (InvalidInput, InvalidEntry) as exc:
            await _read_entry(ask, f"{exc}. Your text is kept (Enter: edit it on, {BACK_ENTRY}: back):")
            found = await ask.edit(found, suffix)


def _or_editor(ask: AskLine) -> str:
    return f", {FILE_PREFIX}: in {ask.editor.split()[0]}" if ask.editor else ""


async def _read_typed(ask: AskLine, schema: Mapping[str, Any] | None, what: str = "your answer") -> Any:
    """What the schema wants, as it was typed: `Decisions` reads it, and says what does not fit."""
    schema = schema or {}
    if schema.get("contentEncoding") == "base64":
        return _text(await _read_line(ask, "a file, as @path (Enter: back):"), binary=True)
    items = schema.get("items")
    if choices := _choices(schema):
        return _parse_choice(
            await _read_line(ask, f"{_numbered(choices)}; a number or its word (Enter: back):"), choices
        )
    if isinstance(items, Mapping) and (choices := _choices(items)):
        line = await _read_entry(
            ask, f"{_numbered(choices)}; several with commas (Enter: back, {EMPTY_ENTRY}: none of them):"
        )
        if not line:
            raise GoBack
        parts = [part.strip() for part in _text(line).split(",")] if line != EMPTY_ENTRY else []
        return [_parse_choice(part, choices) for part in parts if part]
    kind = _KINDS.get(str(schema.get("type")), "")
    ways = f"Enter: back, {EMPTY_ENTRY}: an empty text, @path: a file{_or_editor(ask)}"
    line = await _read_line(ask, f"{what}{kind} ({ways}):")
    if line == FILE_PREFIX and ask.editor:
        return await _in_editor(ask, "", ".txt" if kind == "" else ".json", lambda text: _validated(schema, text))
    return _text(line)


def _validated(schema: Mapping[str, Any], text: str) -> str:
    """The text, if it fits. Raises `BadInput`."""
    parse_input(schema or None, text)
    return text


_KINDS = {
    "boolean": ", yes or no",
    "integer": ", a whole number",
    "number": ", a number",
    "object": ", a JSON object",
    "array": ", several with commas or a JSON list",
}


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    found = schema.get("enum")
    return list(found) if isinstance(found, list) else []


def _numbered(choices: list[Any]) -> str:
    return ", ".join(f"[{number}] {_word(choice)}" for number, choice in enumerate(choices, 1))


def _word(choice: Any) -> str:
    return choice if isinstance(choice, str) else json.dumps(choice)


def _parse_choice(line: str, choices: list[Any]) -> Any:
    """A choice by its word, else by its number; anything else as it is, for `Decisions` to refuse."""
    by_word = {_word(choice): choice for choice in choices}
    if line in by_word:
        return by_word[line]
    if line.isascii() and line.isdecimal() and 1 <= int(line) <= len(choices):
        return choices[int(line) - 1]
    return line


def _text(line: str, *, binary: bool = False) -> str:
    """A line as the text that it stands for.

    Raises:
        Unusable: the file that it names cannot be read, or it names none.
    """
    if line == EMPTY_ENTRY:
        return ""
    if line.startswith("@@"):  # a text that itself begins with the sign
        return line[1:]
    if not line.startswith("@"):
        return line
    try:
        return file_input.read_file_input(line[1:], binary=binary)
    except ValueError as exc:
        raise InvalidEntry(str(exc)) from exc


async def _arguments(opened: IncidentOpened, ask: AskLine) -> dict[str, Any]:
    now = mask_value(opened.action.get("arguments"))
    before = now if isinstance(now, Mapping) else {}
    shown = f" now {json.dumps(now, ensure_ascii=False)};" if now else ""
    ways = f"Enter: back, @path: from a file{_or_editor(ask)}"
    line = await _read_line(ask, f"the arguments, a JSON object;{shown} ({ways}):")
    if line != FILE_PREFIX or not ask.editor:
        try:
            return json_object(_text(line))
        except InvalidInput as exc:
            raise InvalidEntry(str(exc)) from exc

    def read(text: str) -> dict[str, Any]:
        found = json_object(text)
        check_edited(opened.arguments_schema, found, before)
        return found

    arguments: dict[str, Any] = await _in_editor(ask, json.dumps(before, ensure_ascii=False, indent=2), ".json", read)
    return arguments


async def _grant(opened: IncidentOpened, ask: _Saying, fits: ParamsCheck) -> dict[str, Any]:
    """For this call alone, or standing: then for whom, what and how long. Enter alone never grants."""

    async def lifetime() -> dict[str, Any]:
        return {"for": await _read_line(ask, "for how long? once, run, swarm or always (Enter: not at all):")}

    found = await _ask_until_valid(ask, lifetime, fits)
    if found["for"] not in STANDING_LIFETIMES:
        return found
    wanted = str(opened.action.get("permission", "")).partition(":")[2]
    for name, question in (
        ("subject", "for which agent (Enter: the one that asks, *: every one):"),
        ("pattern", f"what it covers; * within one folder or name, ** below it (Enter: {wanted or 'all of it'}):"),
        ("until", "until when, such as 7d or 2027-01-31 (Enter: no end):"),
    ):
        found = await _ask_until_valid(ask, partial(_read_extra, ask, found, name, question), fits)
    return found


async def _read_extra(ask: AskLine, found: dict[str, Any], name: str, question: str) -> dict[str, Any]:
    """A lasting grant with one thing more said of it, or without."""
    line = await _read_entry(ask, question)
    return {**found, name: line} if line else found
