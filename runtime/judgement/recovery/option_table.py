"""The table of options: the only definition of each. Prompt, forms, bulk answers, linear mode, command line, link, help
and manual read it; what an effect does stands in `runtime.execution.resolution`.

Ids: DESIGN section 6. Labels: seeds 002 and 003 where they have one.
"""

from __future__ import annotations

from typing import Final

from runtime.judgement.recovery.option_outcomes import OUTCOMES
from runtime.judgement.recovery.option_spec import AnswerEffect, Confirmation, OptionParam, OptionSpec, ParamChoice

_VALUE: Final = "TEXT (an empty text is a value, too)"

LIFETIMES: Final = (
    ParamChoice("once", "this once"),
    ParamChoice("run", "until this run ends", "r"),
    ParamChoice("swarm", "in every run of this swarm", "s"),
    ParamChoice("always", "in every run of this workspace", "a"),
)
"""How long a grant lasts: all but the first are standing grants."""
STANDING_LIFETIMES: Final = tuple(each.value for each in LIFETIMES[1:])
"""Lifetimes of a grant that reach further than the call that is asked about."""

OPTIONS: Final[dict[str, OptionSpec]] = {
    spec.id: spec
    for spec in (
        OptionSpec(
            id="retry",
            label="Retry operation",
            key="r",
            does="tries the failed step again; if it is in doubt, check first whether it happened",
            effect="retry",
            outcomes=OUTCOMES["retry"],
            confirm={
                "in doubt": "If it did happen, it happens twice. Does it again.",
                "breakpoint": "What it does cannot be taken back.",
            },
            repeats=True,
        ),
        OptionSpec(
            id="wait_retry",
            label="Wait and retry",
            key="u",
            does="waits for as long as the server says or you set, then tries again",
            effect="wait_retry",
            outcomes=OUTCOMES["wait_retry"],
            params=(OptionParam("seconds", "duration", "for how many seconds", unset="as long as the server says"),),
            repeats=True,
        ),
        OptionSpec(
            id="switch_model",
            label="Retry with another model",
            key="m",
            does="asks another model",
            effect="switch_model",
            outcomes=OUTCOMES["switch_model"],
            params=(
                OptionParam(
                    "model", "model", "model, as provider:name", noun="a model", example="provider:name", required=True
                ),
            ),
            reaches=("attempt", "agent", "run"),
        ),
        OptionSpec(
            id="edit",
            label="Edit the arguments and retry",
            key="e",
            does="calls the tool with other arguments, checked against its schema first",
            effect="edit",
            outcomes=OUTCOMES["edit"],
            params=(
                OptionParam(
                    "arguments",
                    "json",
                    "the arguments, a JSON object",
                    noun="arguments",
                    example='\'{"path": "a.md"}\'',
                    required=True,
                    schema="arguments",
                ),
            ),
            repeats=True,
        ),
        OptionSpec(
            id="input",
            label="Provide corrected input",
            key="i",
            does="answers a question, or tells the model what to correct",
            effect="input",
            outcomes=OUTCOMES["input"],
            params=(OptionParam("value", "text", "your answer", example=_VALUE, required=True, schema="answer"),),
        ),
        OptionSpec(
            id="grant",
            label="Grant permission",
            key="g",
            does="permits the call; see [permissions](permissions.md)",
            effect="grant",
            outcomes=OUTCOMES["grant"],
            confirm={"overwrites": "What stands in the file may be lost."},
            params=(
                OptionParam("for", "choice", "for how long", default="once", choices=LIFETIMES),
                OptionParam(
                    "subject", "word", "for which agent, or * for every agent", unset="the one that asks", asked="lines"
                ),
                OptionParam(
                    "pattern",
                    "word",
                    "what it covers; * within one folder or name, ** below it",
                    unset="{target}",
                    asked="lines",
                ),
                OptionParam("until", "date", "until when, such as 7d or 2027-01-31", unset="no end", asked="lines"),
            ),
        ),
        OptionSpec(
            id="deny",
            label="Deny, with a word to the agent",
            key="d",
            does="denies the permission, and tells the agent what to do instead",
            effect="deny",
            outcomes=OUTCOMES["deny"],
            params=(OptionParam("message", "text", "what the agent should do instead", unset="none"),),
            ends=True,
        ),
        OptionSpec(
            id="result",
            label="Provide the result by hand",
            key="v",
            does="gives the result by hand; checked against the agent's output type or the tool's return type",
            effect="result",
            outcomes=OUTCOMES["result"],
            params=(OptionParam("value", "text", "the result", example=_VALUE, required=True, schema="result"),),
        ),
        OptionSpec(
            id="skip",
            label="Skip",
            key="s",
            does="skips the step; later steps get the value that you give, or an empty one",
            effect="skip",
            outcomes=OUTCOMES["skip"],
            params=(
                OptionParam(
                    "value", "text", "what the steps after it get", unset="nothing", schema="answer", asked="lines"
                ),
            ),
            reaches=("attempt", "agent"),
            confirm={"always": "It is not done. {rewind} on its step starts again from there."},
            ends=True,
        ),
        OptionSpec(
            id="accept",
            label="Accept what is there",
            key="c",
            does="uses the results of the members that have finished; the run ends degraded",
            effect="accept",
            outcomes=OUTCOMES["accept"],
            confirm={"always": "It ends with the results that are there, without the others."},
            ends=True,
            offered=lambda occasion: occasion.where in ("group", "swarm") and occasion.partial,
        ),
        OptionSpec(
            id="extend",
            label="Extend the budget",
            key="x",
            does="raises a budget that is used up",
            effect="extend",
            outcomes=OUTCOMES["extend"],
            params=(OptionParam("amount", "number", "by how much", unset="as much again"),),
        ),
        OptionSpec(
            id="reset",
            label="Reset the breaker",
            key="t",
            does="lets a circuit breaker's calls through again",
            effect="reset",
            outcomes=OUTCOMES["reset"],
            confirm={"shared": "Calls go out again at once, for every run that waits for this breaker."},
        ),
        OptionSpec(
            id="acknowledge",
            label="Acknowledge",
            key="o",
            does="accepts a failure for good: its branch ends as failed; after a standstill the run goes on",
            effect="acknowledge",
            outcomes=OUTCOMES["acknowledge"],
            params=(OptionParam("value", "text", "what the steps after it get", unset="nothing", asked="never"),),
            reaches=("attempt", "agent"),
            confirm={"always": "It is left as it is."},
            ends=True,
        ),
        OptionSpec(
            id="abort",
            label="Abort execution",
            key="a",
            does="ends the run, or with `--reach agent` the branch",
            effect="abort",
            outcomes=OUTCOMES["abort"],
            params=(OptionParam("value", "text", "why the run ends", unset="no reason", asked="lines"),),
            reaches=("attempt", "agent", "run"),
            reach="run",
            confirm={"always": "Ends the run. What is done stays on record. {rewind} starts again from any step."},
            ends=True,
        ),
    )
}
"""By id. The order is the one of the manual, of the help and of the page of keys."""


def effect_of(option: str) -> AnswerEffect | None:
    """What an answer with this option does; None for an id that a newer program wrote."""
    spec = OPTIONS.get(option)
    return spec.effect if spec is not None else None


NEVER_BY_AGENTS: Final[frozenset[AnswerEffect]] = frozenset({"grant", "result", "accept"})
"""What only a person decides, beside all that ends something."""


def agent_options() -> tuple[str, ...]:
    """The options that a person may let agents answer with."""
    return tuple(spec.id for spec in OPTIONS.values() if not spec.ends and spec.effect not in NEVER_BY_AGENTS)


def option_keys() -> dict[str, str]:
    """The default key of each option."""
    return {spec.id: spec.key for spec in OPTIONS.values()}


def consequence_text(option: str, case: Confirmation, rewind: str = "R") -> str:
    """What the second key of an option confirms; empty where it takes none.

    Args:
        option: its id.
        case: why it takes a second key.
        rewind: what starts a run again from a step.
    """
    spec = OPTIONS.get(option)
    return spec.confirm.get(case, "").format(rewind=rewind) if spec is not None else ""
