"""The prompt of a decision: its options with their keys, and the exact action."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from runtime.judgement.recovery.input_validation import (
    check_edited,
    json_object,
    parse_input,
    parse_quantity,
)
from runtime.judgement.recovery.options import consequence_text
from runtime.record.state.events import IncidentOpened
from screens.render.confusables import is_marked, mark_confusables
from screens.render.formatting import format_elapsed, whole_seconds
from screens.render.key_names import KEYS
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    span,
)
from screens.render.sanitize import MAX_CHARS, MAX_LINES
from screens.views.lists.inbox import cause_and_place
from screens.views.run.json_lines import json_text
from screens.views.shared.render_context import RenderContext

LATER_OPTION: Final = "later"
"""The choice that does nothing. The prompt begins with it, so that a stray `enter` decides nothing."""

OptionInput = Literal["", "text", "arguments", "model", "seconds", "amount", "lifetime"]

_MAY_HAVE: Final[Mapping[str, OptionInput]] = {"deny": "text", "wait_retry": "seconds"}
"""What an option takes but does not need: a word to the agent, how long to wait."""

LIFETIME_CHOICES: Final = (
    ("run", "r", "until this run ends"),
    ("swarm", "s", "in every run of this swarm"),
    ("always", "a", "in every run of this workspace"),
)
"""How long a standing grant lasts: value, key, words."""


@dataclass(frozen=True, slots=True)
class PromptChoice:
    """One line of a prompt. `enter`: whether the enter key may choose it; grants are chosen by their letter alone."""

    key: str
    option: str
    label: str
    hint: str = ""
    need: OptionInput = ""
    optional: bool = False
    standing: bool = False
    enter: bool = True
    advised: bool = False
    """A model's analysis recommends it: said, and nothing else."""
    refused: str = ""
    """Why it cannot be chosen, if it cannot."""


def prompt_choices(
    opened: IncidentOpened, looks: RenderContext, letters: Mapping[str, str] = KEYS
) -> list[PromptChoice]:
    """All that may be answered, in the incident's order, after the choice to leave it. `letters` are the keys."""
    whole = is_whole(opened)
    found = [PromptChoice("escape", LATER_OPTION, "Decide later", hint="it goes on waiting")]
    for number, option in enumerate(opened.options, 1):
        key = letters.get(option.id, str(number % 10))
        label, hint = looks.line(option.label, 60), looks.line(option.hint, 120)
        if option.id == "grant":
            found.append(PromptChoice(key, "grant", f"{label} once", hint, enter=False))
            refused = "" if whole else "the action is too long to be shown whole: only once, or deny"
            found.append(
                PromptChoice(
                    key.upper(),
                    "grant",
                    f"{label} for longer",
                    "asks how long",
                    "lifetime",
                    standing=True,
                    enter=False,
                    refused=refused,
                )
            )
            continue
        may_have = _MAY_HAVE.get(option.id, "")
        need: OptionInput = may_have or option.needs
        found.append(
            PromptChoice(key, option.id, label, hint, need, optional=bool(may_have), enter=not option.standing)
        )
    return found


def view_only_choices() -> list[PromptChoice]:
    """What is left of the choices for a login that may only look."""
    return [PromptChoice("escape", LATER_OPTION, "Back", hint="an operator decides")]


def action_text(opened: IncidentOpened) -> str:
    """The exact action in its canonical form; empty if the incident is about none."""
    return json_text(opened.action) if opened.action else ""


def is_whole(opened: IncidentOpened) -> bool:
    """Whether the gate lets the whole action through, so that an operator can read all of it."""
    text = action_text(opened)
    return len(text) < MAX_CHARS // 2 and text.count("\n") < MAX_LINES - 1


def title_line(opened: IncidentOpened, looks: RenderContext, held: int = 0) -> Spans:
    """What went wrong, where, for how long it has been waiting, and how many nodes wait on it (`held`)."""
    return join_spans(
        (
            (looks.sign("waiting"), Span(" "), *cause_and_place(opened, looks)),
            span(f"waits {format_elapsed(opened.ts, None, looks.now)}", "ink-muted"),
            span(f"holds up {held} more" if held else "", "ink-muted"),
        ),
    )


def question_lines(opened: IncidentOpened, looks: RenderContext) -> list[Spans]:
    """What exactly is to be done, what went wrong with it, who wants it, and to what end."""
    lines = [*_label_lines("asks", looks.block(opened.question) if opened.question else []), *_action(opened, looks)]
    if opened.in_doubt:
        lines.append(span("Whether it happened is not known: look before you say retry.", "severity-warning"))
    message = opened.message or opened.fault.user_message
    marks = mark_confusables if opened.action.get("permission") else str
    if message and not (opened.question and opened.question in message):
        lines += _label_lines("why", [marks(line) for line in looks.block(message)])
    if opened.lineage:
        lines += _label_lines("who", [looks.glyphs.crumb.join(marks(looks.line(name, 60)) for name in opened.lineage)])
    if opened.task:
        lines += _label_lines("task", [looks.line(opened.task, 300)])
    if opened.action.get("permission") and any(is_marked(piece.text) for line in lines for piece in line):
        lines.append(span("Marked letters look like others: read what is asked for with care.", "severity-warning"))
    return lines


_OVERDUE_S = 3.0
"""What is this late was not kept: nobody could have answered."""


def deadline_line(opened: IncidentOpened, looks: RenderContext) -> Spans:
    """What happens by itself, and in how long; nothing where nothing does."""
    if opened.deadline is None:
        return ()
    left = (opened.deadline - looks.now).total_seconds()
    safe = next((found.label for found in opened.options if found.id == opened.safe), opened.safe)
    when = f"in {whole_seconds(left + 1)}" if left > 0 else "now"
    if left < -_OVERDUE_S:
        # Nothing ran when it was due, or the run was frozen: then its time is given anew.
        when = f"within {whole_seconds((opened.deadline - opened.ts).total_seconds())} anew"
    return span(f"{when}, without an answer: {looks.line(safe, 60)}", "severity-warning")


def _action(opened: IncidentOpened, looks: RenderContext) -> list[Spans]:
    """The action, each value in its canonical form: arguments as JSON, the permission with its object."""
    lines: list[Spans] = []
    asks = bool(opened.action.get("permission"))
    for name, value in opened.action.items():
        if name in ("tool", "model", "permission"):
            label = {"tool": "does", "permission": "needs"}.get(name, name)
            lines += _label_lines(label, [mark_confusables(line) if asks else line for line in looks.block(str(value))])
        elif name == "arguments" and isinstance(value, dict):
            given = [f"{key} = {json_text(found)}" for key, found in value.items()]
            shown = [line for text in given for line in looks.block(text)]
            lines += _label_lines("with", [mark_confusables(line, whole=False) if asks else line for line in shown])
        elif name == "budget" and isinstance(value, dict):
            lines += _label_lines("limit", looks.block(_limit(value)))
        else:
            shown = looks.block(json_text(value))
            lines += _label_lines(looks.line(name, 20), [mark_confusables(line) if asks else line for line in shown])
    return lines


def _limit(budget: Mapping[str, Any]) -> str:
    """What is used up, of how much, and whose it is."""
    return f"{budget.get('limit')}: {budget.get('used')} of {budget.get('allowed')} used, by {budget.get('of')}"


def _label_lines(label: str, texts: list[str]) -> list[Spans]:
    """Cleaned texts below each other, the label before the first."""
    return [
        (Span(f"{label if not number else '':<5}  ", "ink-muted"), *mark_invisible(text))
        for number, text in enumerate(texts)
    ]


_MARKS: Final = re.compile(r"⟨U\+[0-9A-F]{4,6}⟩|<U\+[0-9A-F]{4,6}>|⟨\+\d+ marks⟩|[␀-␡⏎]")


def mark_invisible(text: str) -> Spans:
    """Cleaned text with the marks of invisible characters made visible."""
    found: list[Span] = []
    at = 0
    for match in _MARKS.finditer(text):
        if match.start() > at:
            found.append(Span(text[at : match.start()]))
        found.append(Span(match.group(), "ink-mark", bold=True))
        at = match.end()
    if at < len(text):
        found.append(Span(text[at:]))
    return tuple(found)


def destroying_lines(choice: PromptChoice, looks: RenderContext) -> list[Spans]:
    """What an option will do that takes a second key."""
    words = consequence_text(choice.option, looks.key("run.rewind", "R") or "rewind")
    hint = f"{choice.hint[:1].upper()}{choice.hint[1:]}." if choice.hint else ""
    return [
        (Span(f"{choice.label}? ", "severity-warning", bold=True), Span(words)),
        *([span(hint, "ink-muted")] if hint else []),
    ]


def grant_words(opened: IncidentOpened, lifetime: str) -> str:
    """What a grant would say: who, what, for how long. The object is the incident's own, nothing wider."""
    agent = opened.lineage[-2] if len(opened.lineage) > 1 else ""
    need = str(opened.action.get("permission", ""))
    how_long = {"once": "this once", **{value: words for value, _, words in LIFETIME_CHOICES}}.get(lifetime, lifetime)
    return f"{agent or 'this agent'} may {need or 'do this'}, {how_long}"


def asked_for(opened: IncidentOpened, choice: PromptChoice, looks: RenderContext) -> str:
    """What kind of answer is wanted, in a few words; empty where any text will do."""
    if choice.need == "amount":
        budget = opened.action.get("budget")
        return f"how much more ({looks.line(_limit(budget), 120)})" if isinstance(budget, dict) else "how much more"
    if choice.need == "seconds":
        return f"seconds, empty: {_proposed_wait(opened, looks)}"
    if choice.need == "model":
        return "as provider:model"
    if choice.option not in ("input", "result"):
        return ""
    schema = (opened.answer_schema if choice.option == "input" else opened.result_schema) or {}
    if schema.get("contentEncoding") == "base64":
        return "the path of a file on this machine"
    if isinstance(values := schema.get("enum"), list):
        return "one of " + ", ".join(looks.line(json_text(value), 40) for value in values[:12])
    kind = schema.get("type", "")
    items = schema.get("items")
    if kind == "array":
        of = items.get("enum") if isinstance(items, dict) else None
        one = ", ".join(looks.line(json_text(value), 40) for value in of[:12]) if isinstance(of, list) else ""
        return f"several, with commas between them{f': {one}' if one else ''}"
    words = {"boolean": "yes or no", "integer": "a whole number", "number": "a number", "object": "a JSON object"}
    return words.get(str(kind), "")


def _proposed_wait(opened: IncidentOpened, looks: RenderContext) -> str:
    """How long `wait_retry` waits where nobody says for how long."""
    fault = opened.fault
    if fault.retry_after_s is None:
        return "the usual pause before a retry"
    return f"{fault.retry_after_s:.10g} s from the fault ({looks.line(fault.hint_source or 'server', 40)})"


def check_answer(opened: IncidentOpened, option: str, params: Mapping[str, Any]) -> None:
    """What the runtime would refuse is said before it is sent, while it can still be mended.

    Raises:
        ValueError: the answer does not fit what was asked for; the message says in what.
    """
    if option == "edit" and isinstance(params.get("arguments"), Mapping):
        before = opened.action.get("arguments")
        check_edited(opened.arguments_schema, params["arguments"], before if isinstance(before, Mapping) else {})
    elif option == "input" and opened.question and "value" in params:
        parse_input(opened.answer_schema, params["value"])
    elif option == "result" and opened.result_schema is not None and "value" in params:
        parse_input(opened.result_schema, params["value"])


def answer_params(choice: PromptChoice, value: Any = None) -> dict[str, Any]:
    """The parameters of the `answer` verb for `choice` and what was typed or picked for it.

    Raises:
        ValueError: the value is not of the kind that the option needs; the message says what is expected.
    """
    if choice.option == "grant":
        return {"for": value if choice.standing else "once"}
    if choice.need == "seconds" and isinstance(value, str):
        value = value.strip()
    if not choice.need or (value in (None, "") and choice.optional):
        return {}
    name = "message" if choice.option == "deny" else "value" if choice.need == "text" else choice.need
    chosen = choice.need == "text" and not isinstance(value, str)  # from a list, of whatever type
    return {name: value if chosen else _read(choice.need, str(value))}


def _read(need: OptionInput, text: str) -> Any:
    if need == "text":
        return text
    if not text.strip():
        raise ValueError(f"something is needed here: {need}")
    if need in ("seconds", "amount"):
        return parse_quantity(need, text.strip())
    if need == "arguments":
        return json_object(text)
    return text.strip()
