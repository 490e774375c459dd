"""Prompts of the linear mode: asks line by line for what an option needs.

In every answer ``.`` goes back and decides nothing, Enter alone is what the question says it is, ``""`` is an empty
text, ``@path`` is what stands in that file, and ``@`` alone is what the operator's own editor makes of it. An empty
answer and none are never the same.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from console.linear.entries import (
    BACK_ENTRY,
    EMPTY_ENTRY,
    FILE_PREFIX,
    AskLine,
    InvalidEntry,
    edit_entry,
    editor_hint,
    read_entry,
    read_line,
    read_optional_text,
    read_secret,
    read_typed,
    text_of_entry,
)
from console.linear.form_prompts import read_form
from console.output import mask_value
from runtime.judgement.forms.schema_form import form_of
from runtime.judgement.forms.secret_schema import is_secret
from runtime.judgement.recovery.input_validation import InvalidInput, check_edited, json_object
from runtime.judgement.recovery.option_spec import OptionParam
from runtime.judgement.recovery.option_table import LIFETIMES, OPTIONS, STANDING_LIFETIMES
from runtime.judgement.recovery.param_validation import schema_of
from runtime.operations.answer_params import InvalidCommand, checked_params
from runtime.record.state.events import IncidentOpened, Option


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


def params_asked(option_id: str) -> tuple[OptionParam, ...]:
    """What is asked for an option, in this order; nothing for one that this program does not know."""
    spec = OPTIONS.get(option_id)
    return spec.line_params if spec is not None else ()


async def read_params(opened: IncidentOpened, option: Option, ask: AskLine, why: str = "") -> dict[str, Any]:
    """The parameters of an answer, as `Decisions` takes them. A value that cannot be used is said to be, and the same
    question is put again. `why`: what was wrong with the answer before.

    Raises:
        GoBack: no answer.
    """
    saying = _Saying(ask, why)
    found: dict[str, Any] = {}
    for param in params_asked(option.id):
        read = partial(_read_param, opened, param, saying)
        found = await _ask_until_valid(saying, read, found, partial(checked_params, opened, option.id))
        if param.kind == "choice" and param.choices == LIFETIMES and found[param.name] not in STANDING_LIFETIMES:
            break  # for this very call: there is nothing more to say of it
    return found


async def _ask_until_valid(
    saying: _Saying,
    read: Callable[[], Awaitable[dict[str, Any]]],
    before: Mapping[str, Any],
    fits: Callable[[dict[str, Any]], object],
) -> dict[str, Any]:
    """What was given before with what `read` adds, asked again until it can be used."""
    while True:
        try:
            found = {**before, **await read()}
            fits(found)
        except (InvalidCommand, InvalidInput, InvalidEntry) as exc:
            saying.why = str(exc).rstrip(".")
        else:
            return found


async def _read_param(opened: IncidentOpened, param: OptionParam, ask: AskLine) -> dict[str, Any]:
    """One parameter, as it was typed; nothing where it is left out."""
    found = await (_read_required(opened, param, ask) if param.required else _read_optional(opened, param, ask))
    return {} if found is None else {param.name: found}


async def _read_required(opened: IncidentOpened, param: OptionParam, ask: AskLine) -> Any:
    if param.kind == "json":
        return await _arguments(opened, param, ask)
    if param.kind != "text":
        return await read_line(ask, f"{param.label} (Enter: back):")
    schema = schema_of(opened, param)
    if schema and (form := form_of(schema)).single is None:
        return await read_form(ask, form)
    return await (read_secret(ask) if is_secret(schema) else read_typed(ask, schema, param.label))


async def _read_optional(opened: IncidentOpened, param: OptionParam, ask: AskLine) -> str | None:
    if param.kind == "choice":  # Enter alone never grants
        *first, last = [each.value for each in param.choices]
        return await read_line(ask, f"{param.label}? {', '.join(first)} or {last} (Enter: back):")
    unset = param.unset.format(target=_target(opened))
    if param.kind == "text":
        ways = f"Enter: {unset}, {EMPTY_ENTRY}: an empty text, @path: a file, {BACK_ENTRY}: back"
        return await read_optional_text(ask, f"{param.label} ({ways}):")
    return await read_entry(ask, f"{param.label} (Enter: {unset}, {BACK_ENTRY}: back):") or None


def _target(opened: IncidentOpened) -> str:
    """The object of the permission that is asked for."""
    return str(opened.action.get("permission", "")).partition(":")[2] or "all of it"


async def _arguments(opened: IncidentOpened, param: OptionParam, ask: AskLine) -> dict[str, Any]:
    now = mask_value(opened.action.get("arguments"))
    before = now if isinstance(now, Mapping) else {}
    shown = f" now {json.dumps(now, ensure_ascii=False)};" if now else ""
    ways = f"Enter: back, @path: from a file{editor_hint(ask)}"
    line = await read_line(ask, f"{param.label};{shown} ({ways}):")
    if line != FILE_PREFIX or not ask.editor:
        try:
            return json_object(text_of_entry(line))
        except InvalidInput as exc:
            raise InvalidEntry(str(exc)) from exc

    def read(text: str) -> dict[str, Any]:
        found = json_object(text)
        check_edited(opened.arguments_schema, found, before)
        return found

    arguments: dict[str, Any] = await edit_entry(ask, json.dumps(before, ensure_ascii=False, indent=2), ".json", read)
    return arguments
