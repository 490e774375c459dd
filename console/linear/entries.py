"""What is typed for one value in the linear mode: a line, a secret, a choice, a file, or a text from an editor."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from runtime.judgement.recovery.input_validation import InvalidInput, parse_input, secret_warning
from screens.shell import file_input

EMPTY_ENTRY = '""'
BACK_ENTRY = "."
FILE_PREFIX = "@"


class GoBack(Exception):
    """The operator left the question, or the input has ended."""


class InvalidEntry(Exception):
    """What was typed cannot be used; the text says why."""


class AskLine(Protocol):
    """Puts a question; the line that was typed, None at the end of input. A secret one is not shown as it is typed."""

    def __call__(self, question: str, *, secret: bool = False) -> Awaitable[str | None]: ...

    @property
    def editor(self) -> str:
        """The command of the operator's editor; empty where it is not set."""
        ...

    def edit(self, text: str, suffix: str) -> Awaitable[str]:
        """What the operator's editor makes of a text. Raises `InvalidEntry` where it cannot."""
        ...


async def read_entry(ask: AskLine, question: str, *, secret: bool = False) -> str:
    line = await ask(question, secret=secret)
    if line is None or line == BACK_ENTRY:
        raise GoBack
    return line


async def read_line(ask: AskLine, question: str, *, secret: bool = False) -> str:
    """A line that is not empty."""
    line = await read_entry(ask, question, secret=secret)
    if not line:
        raise GoBack
    return line


async def read_secret(ask: AskLine) -> str:
    found = await read_line(ask, "the secret; it is not shown (Enter: back):", secret=True)
    if warning := secret_warning(found):
        await read_entry(ask, f"it is {warning}. Send it all the same? (Enter: yes, {BACK_ENTRY}: back):")
    return found


async def read_optional_text(ask: AskLine, question: str) -> str | None:
    """A text; None for an empty line."""
    line = await read_entry(ask, question)
    if not line:
        return None
    return await edit_entry(ask, "", ".txt", str) if line == FILE_PREFIX and ask.editor else text_of_entry(line)


async def edit_entry(ask: AskLine, text: str, suffix: str, read: Callable[[str], Any]) -> Any:
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
            await read_entry(ask, f"{exc}. Your text is kept (Enter: edit it on, {BACK_ENTRY}: back):")
            found = await ask.edit(found, suffix)


def editor_hint(ask: AskLine) -> str:
    return f", {FILE_PREFIX}: in {ask.editor.split()[0]}" if ask.editor else ""


async def read_typed(ask: AskLine, schema: Mapping[str, Any] | None, what: str) -> Any:
    """What the schema wants, as it was typed: `Decisions` reads it, and says what does not fit."""
    schema = schema or {}
    if schema.get("contentEncoding") == "base64":
        return text_of_entry(await read_line(ask, "a file, as @path (Enter: back):"), binary=True)
    items = schema.get("items")
    if choices := _choices(schema):
        return _parse_choice(
            await read_line(ask, f"{_numbered(choices)}; a number or its word (Enter: back):"), choices
        )
    if isinstance(items, Mapping) and (choices := _choices(items)):
        line = await read_entry(
            ask, f"{_numbered(choices)}; several with commas (Enter: back, {EMPTY_ENTRY}: none of them):"
        )
        if not line:
            raise GoBack
        parts = [part.strip() for part in text_of_entry(line).split(",")] if line != EMPTY_ENTRY else []
        return [_parse_choice(part, choices) for part in parts if part]
    kind = _KINDS.get(str(schema.get("type")), "")
    ways = f"Enter: back, {EMPTY_ENTRY}: an empty text, @path: a file{editor_hint(ask)}"
    line = await read_line(ask, f"{what}{kind} ({ways}):")
    if line == FILE_PREFIX and ask.editor:
        return await edit_entry(ask, "", ".txt" if kind == "" else ".json", lambda text: _validated(schema, text))
    return text_of_entry(line)


def _validated(schema: Mapping[str, Any], text: str) -> str:
    """The text, if it fits. Raises `InvalidInput`."""
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


def text_of_entry(line: str, *, binary: bool = False) -> str:
    """A line as the text that it stands for.

    Raises:
        InvalidEntry: the file that it names cannot be read, or it names none.
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
