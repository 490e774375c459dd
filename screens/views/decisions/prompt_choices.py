"""The choices of a prompt: what may be answered, each with its key, its words and what it asks for."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from runtime.judgement.comparison.file_write import FileState
from runtime.judgement.recovery.option_spec import Confirmation, KeyPress, OptionParam, pressed_label
from runtime.judgement.recovery.option_table import LIFETIMES, OPTIONS, consequence_text, effect_of, option_keys
from runtime.judgement.recovery.options import confirmation_of, press_of
from runtime.judgement.reports.explanation.explain import Explanation
from runtime.judgement.reports.explanation.model_choices import ModelChoice
from runtime.record.state.events import AnswerProposed, IncidentOpened, Option
from screens.render.layout import Span, Spans, span
from screens.views.decisions.model_list import OTHER_MODEL, model_rows
from screens.views.decisions.prompt import is_whole
from screens.views.decisions.prompt_lines import proposal_lines
from screens.views.run.explanation import sentence_words
from screens.views.shared.render_context import RenderContext

PROPOSED_MARK: Final = "*"
"""The mark of what the rules propose."""
ADOPT_KEY: Final = "="
"""Does as an agent proposes."""
LATER_OPTION: Final = "later"
"""The choice that does nothing. The prompt begins with it, so that a stray `enter` decides nothing."""


class PromptChoice(Struct, frozen=True):
    """One line of a prompt. `enter`: whether the enter key may choose it; grants are chosen by their letter alone."""

    key: str
    option: str
    label: str
    hint: str = ""
    param: OptionParam | None = None
    """What is asked for before it is sent; None: the key decides."""
    standing: bool = False
    """Asks how long, and once more."""
    enter: bool = True
    advised: bool = False
    """A model's analysis recommends it: said, and nothing else."""
    proposed: bool = False
    """The rules propose it."""
    looks_first: bool = False
    """Something has to be looked at or corrected before it: it is not marked as what to press."""
    press: KeyPress = "acts"
    """What its key does first."""
    confirms: Confirmation | None = None
    """Why it takes a second key, if it does."""
    wordings: tuple[str, ...] = ()
    """What it will do in this run: the same in one sentence or more, the fullest first, the shortest last."""
    value: str = ""
    """What its field begins with."""
    refused: str = ""
    """Why it cannot be chosen, if it cannot."""
    adopted: AnswerProposed | None = None
    """What an agent proposes, which it takes over as it stands."""

    @property
    def starred(self) -> bool:
        """Whether it is marked as what the rules propose."""
        return self.proposed and not self.looks_first

    @property
    def outcome(self) -> str:
        """What it will do in this run, in full."""
        return self.wordings[0] if self.wordings else ""

    @property
    def second_key(self) -> str:
        """What confirms it: never the key that chose it."""
        return "y" if self.key != "y" else "Y"

    def shown_label(self, opens: str) -> str:
        """The label, with what the key does first. `opens`: the sign of what opens a field or a form."""
        return pressed_label(self.label, self.press, second=self.second_key, ellipsis=opens)

    @property
    def takes_model(self) -> bool:
        """Whether a model is asked for before it is sent."""
        return self.param is not None and self.param.kind == "model"


def prompt_choices(
    opened: IncidentOpened,
    context: RenderContext,
    letters: Mapping[str, str] | None = None,
    *,
    runs: int = 1,
    file: FileState | None = None,
) -> list[PromptChoice]:
    """All that may be answered, in the incident's order, after the choice to leave it.

    Args:
        opened: the incident.
        context: what cleans its words.
        letters: the keys, if not the default ones.
        runs: how many runs wait for the same breaker.
        file: what the file is that a permission asks to write; None: not known.
    """
    letters = option_keys() if letters is None else letters
    whole = is_whole(opened)
    found = [PromptChoice("escape", LATER_OPTION, "Decide later", hint="it goes on waiting")]
    for number, option in enumerate(opened.options, 1):
        key = letters.get(option.id, str(number % 10))
        label, hint = context.sanitize_line(option.label, 60), context.sanitize_line(option.hint, 120)
        press = press_of(opened, option.id, runs=runs, file=file)
        confirms = confirmation_of(opened, option.id, runs=runs, file=file)
        if effect_of(option.id) == "grant":
            once = PromptChoice(key, option.id, f"{label} once", hint, enter=False, press=press, confirms=confirms)
            found.append(once)
            refused = "" if whole else "the action is too long to show in full: grant it once, or deny it"
            found.append(
                PromptChoice(
                    key.upper(),
                    option.id,
                    f"{label} for longer",
                    "asks how long",
                    standing=True,
                    enter=False,
                    refused=refused,
                    press="opens",
                )
            )
            continue
        param, enter = _asked_param(option), not option.standing
        found.append(PromptChoice(key, option.id, label, hint, param, enter=enter, press=press, confirms=confirms))
    return found


def adopting_choices(
    opened: IncidentOpened, proposal: AnswerProposed | None, context: RenderContext, *, runs: int = 1
) -> list[PromptChoice]:
    """The choice to do as an agent proposes. None for a grant: a person chooses how long it lasts, with its own key.
    What has values asks, so that they are read. `runs`: how many runs wait for the same breaker.
    """
    option = next((each for each in opened.options if proposal is not None and each.id == proposal.option), None)
    if proposal is None or option is None or effect_of(option.id) == "grant":
        return []
    label = f"As proposed: {context.sanitize_line(option.label, 60)}"
    confirms = confirmation_of(opened, option.id, runs=runs)
    press: KeyPress = "asks" if proposal.params or confirms is not None else "acts"
    return [PromptChoice(ADOPT_KEY, option.id, label, enter=False, press=press, confirms=confirms, adopted=proposal)]


def _asked_param(option: Option) -> OptionParam | None:
    """What the option asks for; for one of a newer runtime what its incident says."""
    spec = OPTIONS.get(option.id)
    if spec is not None:
        return spec.asked_param
    return _NEEDED.get(option.needs)


_NEEDED: Final = {
    "text": OptionParam("value", "text", "", required=True),
    "arguments": OptionParam("arguments", "json", "", required=True, schema="arguments"),
    "model": OptionParam("model", "model", "", required=True),
    "seconds": OptionParam("seconds", "duration", "", required=True),
    "amount": OptionParam("amount", "number", "", required=True),
}
"""What `Option.needs` of an incident stands for."""


_LATER_WORDINGS: Final = (
    "Nothing runs; it keeps waiting. You find it here and in the inbox.",
    "Nothing runs; it keeps waiting.",
)


def explained_choices(
    choices: list[PromptChoice], told: Explanation | None, context: RenderContext, keys: Collection[str] = ()
) -> list[PromptChoice]:
    """The choices, each with what it will do, and the one that the rules propose. `keys`: the names of the providers'
    keys that the runtime has.
    """
    if told is None:
        return choices
    found: list[PromptChoice] = []
    for choice in choices:
        does = told.lasting if choice.standing else told.wordings.get(choice.option, ())
        wordings = tuple(sentence_words(each, context) for each in does)
        if choice.option == LATER_OPTION:
            wordings = _LATER_WORDINGS
        value = _first_value(choice, told, context)
        proposed = choice.option == told.option
        explained = replace(
            choice,
            wordings=wordings,
            proposed=proposed,
            looks_first=told.act is not None,
            value=value,
        )
        found.append(with_models(explained, told.models, keys, context))
    return found


def _first_value(choice: PromptChoice, told: Explanation, context: RenderContext) -> str:
    """What the field of a choice begins with: how much more is proposed, or what is left of a pause."""
    effect = effect_of(choice.option)
    if effect == "extend" and told.amount is not None:
        return f"{told.amount:.10g}"
    left = math.ceil((told.due - context.now).total_seconds()) if told.due is not None else 0
    return str(left) if effect == "wait_retry" and left > 0 else ""


def with_models(
    choice: PromptChoice, models: Iterable[ModelChoice], keys: Collection[str], context: RenderContext
) -> PromptChoice:
    """A choice that takes a model, with the models that the run knows to choose from, and the providers that can be
    asked.
    """
    if choice.param is None or not choice.takes_model:
        return choice
    known = model_rows(models, keys, context)
    return replace(choice, param=replace(choice.param, choices=(*known, OTHER_MODEL))) if known else choice


def lifetime_choices() -> list[PromptChoice]:
    """How long a standing grant may last, after the choice to go back."""
    lasting = [
        PromptChoice(each.key, each.value, each.words, enter=False, press="asks") for each in LIFETIMES if each.key
    ]
    return [PromptChoice("escape", LATER_OPTION, "Back"), *lasting]


def view_only_choices() -> list[PromptChoice]:
    """What is left of the choices for a login that may only look."""
    return [PromptChoice("escape", LATER_OPTION, "Back", hint="an operator decides")]


def destroying_lines(choice: PromptChoice, context: RenderContext) -> list[Spans]:
    """What an option will do that takes a second key."""
    rewind = context.key("run.rewind", "R") or "rewind"
    words = consequence_text(choice.option, choice.confirms, rewind) if choice.confirms is not None else ""
    if choice.adopted is not None:
        return [
            (Span(f"{choice.label}? ", "severity-warning", bold=True), Span(words)),
            *proposal_lines(choice.adopted, context),
        ]
    hint = f"{choice.hint[:1].upper()}{choice.hint[1:]}." if choice.hint else ""
    if choice.confirms in ("breakpoint", "overwrites"):
        hint = choice.outcome
    return [
        (Span(f"{choice.label}? ", "severity-warning", bold=True), Span(words)),
        *([span(hint, "ink-muted")] if hint else []),
    ]
