"""A form in the linear mode: its fields asked one after another, each with what is wanted and what Enter stands for."""

from __future__ import annotations

from typing import Any

from console.linear.entries import (
    BACK_ENTRY,
    EMPTY_ENTRY,
    FILE_PREFIX,
    AskLine,
    GoBack,
    InvalidEntry,
    edit_entry,
    editor_hint,
    read_entry,
    text_of_entry,
)
from runtime.judgement.forms.fields import UNSET, FieldPath, Form, FormField
from runtime.judgement.forms.form_values import (
    FieldProblem,
    InvalidForm,
    Typed,
    build_value,
    default_values,
    draft_value,
    split_value,
)
from runtime.judgement.forms.typed_text import WrongKind, choice_words, field_text, read_json
from runtime.judgement.forms.wanted import wanted_words
from runtime.judgement.recovery.input_validation import InvalidInput

_MAX_DEFAULT = 60


async def read_form(ask: AskLine, form: Form) -> Any:
    """The value of a form. A field that does not fit is asked for again, the others are kept. A JSON object instead of
    the first field is the whole value; ``@`` there opens all fields in the operator's editor.

    Raises:
        GoBack: No answer.
        InvalidEntry: What is wrong concerns no single field.
    """
    filled: dict[FieldPath, Any] = dict(default_values(form))
    for number, field in enumerate(form.all_fields):
        if number == 0:
            whole = await _read_first(ask, form, field, filled)
            if whole is not UNSET:
                return whole
        else:
            await _read_field(ask, form, field, filled, "")
    while True:
        try:
            return build_value(form, filled)
        except InvalidForm as exc:
            wrong = exc.problems[0]
            if wrong.field is None:
                raise InvalidEntry(str(exc)) from exc
            await _read_field(ask, form, wrong.field, filled, f"{wrong}. ")


async def _read_first(ask: AskLine, form: Form, field: FormField, filled: dict[FieldPath, Any]) -> Any:
    """Read the first field, or the whole value in its place; `UNSET` if it was the field."""
    why = f"{len(form.all_fields)} fields; all of them as JSON: {{…}}{editor_hint(ask)}. "
    line = await _ask_line(ask, form, field, filled, why)
    if line == FILE_PREFIX and ask.editor:
        return await edit_entry(ask, _draft_text(form, filled), ".json", lambda text: _whole(form, text))
    if line.startswith("{") and field.kind != "json":
        return _whole(form, line)
    await _take(ask, form, field, filled, line)
    return UNSET


def _draft_text(form: Form, filled: dict[FieldPath, Any]) -> str:
    return field_text(FormField((), "json"), draft_value(form, filled))


def _whole(form: Form, text: str) -> Any:
    """A whole value as JSON. Raises `InvalidInput`."""
    try:
        return build_value(form, split_value(form, read_json(text)))
    except (WrongKind, InvalidForm) as exc:
        raise InvalidInput(str(exc)) from exc


async def _read_field(ask: AskLine, form: Form, field: FormField, filled: dict[FieldPath, Any], why: str) -> None:
    await _take(ask, form, field, filled, await _ask_line(ask, form, field, filled, why))


async def _take(ask: AskLine, form: Form, field: FormField, filled: dict[FieldPath, Any], line: str) -> None:
    """Take a line for a field, and ask again until the field fits."""
    while True:
        if line:
            filled[field.path] = "" if line == EMPTY_ENTRY and field.kind == "text" else Typed(_text(field, line))
        elif field.required and field.path not in filled:
            raise GoBack
        wrong = _problem_of(form, field, filled)
        if wrong is None:
            return
        filled.pop(field.path, None)
        line = await _ask_line(ask, form, field, filled, f"{wrong}. ")


def _text(field: FormField, line: str) -> str:
    """A line as the text that it stands for: a file's content for a text, nothing for an empty list."""
    if line == EMPTY_ENTRY:
        return "[]" if field.kind in ("several", "list") else ""
    return text_of_entry(line) if field.kind in ("text", "json") and not field.secret else line


def _problem_of(form: Form, field: FormField, filled: dict[FieldPath, Any]) -> FieldProblem | None:
    """What is wrong with one field; others may not be filled in yet."""
    try:
        build_value(form, filled)
    except InvalidForm as exc:
        return next((each for each in exc.problems if each.field is not None and each.field.path == field.path), None)
    return None


async def _ask_line(ask: AskLine, form: Form, field: FormField, filled: dict[FieldPath, Any], why: str) -> str:
    titles = [*form.titles_above(field), field.label or "other members"]
    about = f": {field.description}" if field.description else ""
    name = f" [{field.name}]" if field.path and field.title else ""
    question = f"{why}{' > '.join(titles)}{name}{about}; {_wanted(field)} ({_ways(field, filled)}):"
    return await read_entry(ask, question, secret=field.secret)


def _wanted(field: FormField) -> str:
    if not field.choices or field.secret:
        return wanted_words(field)
    pairs = zip(choice_words(field), field.choices, strict=True)
    named = [choice.title if choice.title == word else f"{choice.title} ({word})" for word, choice in pairs]
    listed = ", ".join(f"[{number}] {words}" for number, words in enumerate(named, 1))
    return f"{listed}; {'several with commas' if field.kind == 'several' else 'a number or its word'}"


def _ways(field: FormField, filled: dict[FieldPath, Any]) -> str:
    """What Enter alone and the signs stand for."""
    now = filled.get(field.path, UNSET)
    if now is not UNSET:
        text = now.text if isinstance(now, Typed) else field_text(field, now)
        enter = f"Enter: {text[:_MAX_DEFAULT] or 'an empty text'}" if not field.secret else "Enter: as typed"
    else:
        enter = "needed; Enter: back" if field.required else "Enter: left out"
    empty = {"text": f", {EMPTY_ENTRY}: an empty text", "several": f", {EMPTY_ENTRY}: none of them"}.get(field.kind, "")
    file = ", @path: a file" if field.kind in ("text", "json") and not field.secret else ""
    return f"{enter}{empty}{file}, {BACK_ENTRY}: back"
