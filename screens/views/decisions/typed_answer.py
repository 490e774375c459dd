"""What is typed for a choice: the words that ask for it, and the parameters that it makes."""

from __future__ import annotations

from typing import Any

from runtime.judgement.recovery.input_validation import json_object, parse_quantity
from runtime.judgement.recovery.option_spec import OptionParam
from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.recovery.param_validation import schema_of
from runtime.record.state.events import IncidentOpened
from screens.views.decisions.prompt_choices import PromptChoice
from screens.views.decisions.prompt_lines import limit_words
from screens.views.run.json_lines import json_text
from screens.views.shared.render_context import RenderContext


def wanted_words(opened: IncidentOpened, choice: PromptChoice, context: RenderContext) -> str:
    """What kind of answer is wanted, and what an empty one means."""
    words, param = asked_for(opened, choice, context), choice.param
    if param is None or not param.unset or "empty:" in words:
        return words
    return f"{words}, empty: {param.unset}" if words else f"empty: {param.unset}"


def asked_for(opened: IncidentOpened, choice: PromptChoice, context: RenderContext) -> str:
    """What kind of answer is wanted, in a few words; empty where any text will do."""
    param, effect = choice.param, effect_of(choice.option)
    if param is None or param.kind == "json":  # a form, or JSON that stands there already
        return ""
    if effect == "extend":
        budget = opened.action.get("budget")
        limit = context.sanitize_line(limit_words(budget), 120) if isinstance(budget, dict) else ""
        return f"how much more ({limit})" if limit else "how much more"
    if effect == "wait_retry":
        return f"seconds, empty: {_proposed_wait(opened, context)}"
    if param.kind == "model":
        return "as provider:model"
    if param.kind != "text":
        return param.label
    schema = schema_of(opened, param) or {}
    if schema.get("contentEncoding") == "base64":
        return "the path of a file on this machine"
    if isinstance(values := schema.get("enum"), list):
        return "one of " + ", ".join(context.sanitize_line(json_text(value), 40) for value in values[:12])
    kind = schema.get("type", "")
    items = schema.get("items")
    if kind == "array":
        of = items.get("enum") if isinstance(items, dict) else None
        one = (
            ", ".join(context.sanitize_line(json_text(value), 40) for value in of[:12]) if isinstance(of, list) else ""
        )
        return f"several, with commas between them{f': {one}' if one else ''}"
    words = {"boolean": "yes or no", "integer": "a whole number", "number": "a number", "object": "a JSON object"}
    return words.get(str(kind), "")


def _proposed_wait(opened: IncidentOpened, context: RenderContext) -> str:
    """How long `wait_retry` waits where the answer does not say for how long."""
    fault = opened.fault
    if fault.retry_after_s is None:
        return "the usual pause before a retry"
    return f"{fault.retry_after_s:.10g} s from the fault ({context.sanitize_line(fault.hint_source or 'server', 40)})"


def answer_params(choice: PromptChoice, value: Any = None) -> dict[str, Any]:
    """The parameters of the answer for `choice` and what was typed or picked for it.

    Raises:
        ValueError: the value is not of the kind that the option takes; the message says what is expected.
    """
    param = choice.param
    if effect_of(choice.option) == "grant":
        return {"for": value if choice.standing else "once"}
    if param is None:
        return {}
    if param.kind == "text":
        left_out = value in (None, "") and not param.required
        return {} if left_out else {param.name: value}
    if param.kind == "json" and isinstance(value, dict):  # a form made it
        return {param.name: value}
    text = str(value).strip()
    return {param.name: _read(param, text)} if text or param.required else {}


def _read(param: OptionParam, text: str) -> Any:
    if not text:
        raise ValueError(f"something is needed here: {param.name}")
    if param.kind in ("number", "duration"):
        return parse_quantity(param.name, text, zero=param.kind == "duration")
    return json_object(text) if param.kind == "json" else text
