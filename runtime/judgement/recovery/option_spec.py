"""What an option (a kind of answer to an incident) is: `OptionSpec`, its parameters, and the closed set of its effects.

Loads neither pydantic nor an event, so that screens may have labels and keys before the first event is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from runtime.record.state.operator_terms import Reach

if TYPE_CHECKING:
    from runtime.record.state.fault_taxonomy import Classification

AnswerEffect = Literal[
    "retry",
    "wait_retry",
    "switch_model",
    "edit",
    "input",
    "grant",
    "deny",
    "result",
    "skip",
    "accept",
    "extend",
    "reset",
    "acknowledge",
    "abort",
]
"""What execution does with an answer. `runtime.execution.resolution` carries each out at a step; scopes, stalls and
gates have a few of them. An effect reads the parameters that it knows by their names, such as `value` or `seconds`.
"""

FaultSite = Literal["llm", "tool", "value", "agent", "group", "swarm", "run"]
"""The kind of place that a fault happened at."""

OutcomeCase = Literal[
    "any",
    "model",
    "tool",
    "agent",
    "group",
    "run",
    "question",
    "permission",
    "breakpoint",
    "in doubt",
    "no progress",
    "misfit",
    "correction",
    "lasting",
    "not the last",
]
"""The kinds of incidents for which an option's outcome has words of its own; `misfit`: an agent's answer does not fit;
`lasting`: a grant that holds for longer than one call; `not the last`: a permission after which another one is asked
for; `any`: all others.
"""

ParamKind = Literal["text", "word", "number", "duration", "choice", "json", "model", "date"]
"""`word`: one line as it is typed, where a text may also be what a file holds. `number`: more than 0. `duration`: in
seconds, 0 or more. `json`: an object. `model`: provider:name. `date`: an end, as a date or a span from now. Whether a
text is secret is said by the schema of the question.
"""

ParamSchema = Literal["", "answer", "result", "arguments"]
"""The schema of the incident that a parameter must fit: of the question's answer, of the result, of the tool."""

ParamAsked = Literal["everywhere", "lines", "never"]
"""Who asks for a parameter: prompt, bulk answers and linear mode; the linear mode alone (one key decides in a prompt);
or nothing: it is taken where it is given, by the command line or the link.
"""

Confirmation = Literal["always", "in doubt", "shared", "breakpoint", "overwrites"]
"""When an option takes a second key: always; if what it repeats may have happened; if it is for several runs; if it
lets a tool's call go that an operator stopped to look at it; if the call may overwrite a file.
"""


KeyPress = Literal["acts", "opens", "asks"]
"""What pressing the key of an option does first: it acts at once, opens a field or a form, or asks for a second key."""


def pressed_label(label: str, press: KeyPress, *, second: str = "y", ellipsis: str = "…") -> str:
    """A label with what pressing its key does first, as menus mark it: three dots behind what opens a field or a form.

    Args:
        label: what the option is called.
        press: what its key does first.
        second: what confirms it.
        ellipsis: the sign of what opens something.
    """
    return {"acts": label, "opens": f"{label}{ellipsis}", "asks": f"{label} (then {second})"}[press]


class ParamChoice(Struct, frozen=True):
    """One of the values of a parameter. `key` chooses it in a prompt."""

    value: str
    words: str
    key: str = ""


class OptionParam(Struct, frozen=True):
    """A parameter of an option, by its name in events, on the link and (with two dashes) on the command line."""

    name: str
    kind: ParamKind
    label: str
    """What is wanted, in a few words."""
    noun: str = "a value"
    """It in an error, after "needs"."""
    example: str = "TEXT"
    required: bool = False
    unset: str = ""
    """What leaving it out means. `{target}` stands for what the permission is asked for."""
    default: Any = None
    """What is recorded where it is left out; None: nothing is."""
    choices: tuple[ParamChoice, ...] = ()
    schema: ParamSchema = ""
    asked: ParamAsked = "everywhere"

    @property
    def need(self) -> str:
        """The word for it in `Option.needs` of an event."""
        return "text" if self.kind == "text" else self.name


class OfferContext(Struct, frozen=True):
    """What an option's own `offered` decides by."""

    fault: Classification
    where: FaultSite
    in_place: bool
    """The node goes on where it is, so that an input can still change what comes."""
    partial: bool
    """Something was finished that can be accepted as it is."""


class OptionSpec(Struct, frozen=True, kw_only=True):
    """All that there is to know of an option. Every surface derives from it; see `option_table`."""

    id: str
    label: str
    key: str
    """Chooses it in a prompt; a standing grant is the capital letter. No key that moves a cursor."""
    does: str
    """What it does, for the manual: one clause without a full stop."""
    effect: AnswerEffect
    params: tuple[OptionParam, ...] = ()
    reaches: tuple[Reach, ...] = ("attempt",)
    """How far it can go."""
    reach: Reach = "attempt"
    """How far it goes where nothing is said."""
    outcomes: Mapping[OutcomeCase, tuple[str, ...]] = {}
    """What it will do, in this run's names: templates of facts (`runtime.judgement.reports.explanation`), of which the
    first is told whose facts are all known; of the narrowest case that has words.
    """
    confirm: Mapping[Confirmation, str] = {}
    """When it takes a second key, each with what that key confirms; the first that applies is asked. `{rewind}` stands
    for what starts a run again from a step.
    """
    ends: bool = False
    """Its step may fail as it was decided; after the others it is to succeed."""
    repeats: bool = False
    """It does again what may have happened."""
    offered: Callable[[OfferContext], bool] | None = None
    """When a fault offers it, for an option that no list of `runtime.judgement.recovery.options` names."""

    @property
    def asked_param(self) -> OptionParam | None:
        """The parameter that a prompt asks for; None if a key alone decides."""
        return next((param for param in self.params if param.asked == "everywhere"), None)

    @property
    def press(self) -> KeyPress:
        """What its key does first, at every incident; see `runtime.judgement.recovery.options.press_of`."""
        if "always" in self.confirm:
            return "asks"
        asked = self.asked_param
        return "opens" if asked is not None and asked.default is None else "acts"

    @property
    def line_params(self) -> tuple[OptionParam, ...]:
        """The parameters that the linear mode asks for, in their order."""
        return tuple(param for param in self.params if param.asked != "never")

    @property
    def pressed_label(self) -> str:
        """The label with what the key does first, at every incident."""
        return pressed_label(self.label, self.press)

    def param(self, name: str) -> OptionParam | None:
        """The parameter with this name."""
        return next((param for param in self.params if param.name == name), None)
