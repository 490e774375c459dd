"""What each option will do, in words, by the kind of incident: templates of facts.

The names in braces are facts of `runtime.judgement.reports.explanation`; of the alternatives the first is told whose
facts are all known. The risk stands first. The last alternative names no fact and has at most `BRIEF_CHARS`
characters: it is what a row of a list of options has room for at 80 columns.
"""

from __future__ import annotations

from typing import Final

from runtime.judgement.recovery.option_spec import OutcomeCase

BRIEF_CHARS: Final = 35
"""So long is the last alternative at most: it stands behind the longest label and its key in 80 cells."""

_RESULT_UNRUN: Final = (
    "You type the result that {agent} gets; {tool} does not run.",
    "Not run; you type what {agent} gets.",
    "Not run; you type its result.",
)
_SKIP_UNRUN: Final = (
    "{tool} does not run; {agent} is told so and goes on.",
    "Not run; {agent} is told so.",
    "Not run; the run goes on.",
)

OUTCOMES: Final[dict[str, dict[OutcomeCase, tuple[str, ...]]]] = {
    "retry": {
        "model": (
            "Asks {model} at once; before {hint_until} it may be refused again.",
            "Asks at once; may be refused before {hint_until}.",
            "Asks {model} once more, same messages, attempt {next_attempt}; earlier calls took {median}.",
            "Asks {model} once more, same messages, attempt {next_attempt}.",
            "Asks {model} once more, same messages.",
            "Asks the same model once more.",
        ),
        "tool": (
            "Calls {tool} once more with the same arguments (attempt {next_attempt}).",
            "Calls {tool} once more (attempt {next_attempt}).",
            "Calls {tool} once more.",
            "Makes the same call once more.",
        ),
        "in doubt": (
            "If it did happen, it happens twice: {tool} runs now.",
            "Runs now; twice if it had happened.",
        ),
        "breakpoint": (
            "{tool} runs now with these arguments; later calls stop here too.",
            "{tool} runs now with these arguments.",
            "{tool} runs now, as it stands.",
            "Lets {node} begin now; the breakpoint stays for later ones.",
            "Begins now; later ones stop too.",
        ),
        "misfit": (
            "{name} reads what does not fit, and answers again.",
            "{name} reads the error and answers again.",
            "It reads the error, answers again.",
        ),
        "agent": (
            "Starts {name} again; what it has finished ({finished_below}) is kept.",
            "Starts {name} again; what it has finished is kept.",
            "Starts again; what is done is kept.",
        ),
        "group": (
            "Starts {name} again; what it has finished ({finished_below}) is kept.",
            "Starts {name} again; what it has finished is kept.",
            "Starts again; what is done is kept.",
        ),
        "run": (
            "Loads {swarm} again and goes on; what is recorded is not repeated.",
            "Goes on; nothing done is repeated.",
        ),
        "any": ("Tries again.",),
    },
    "wait_retry": {
        "any": (
            "The form has a wait {hint_left} filled in; enter starts it. Then it calls again.",
            "Form: wait {hint_left} filled in, enter starts it.",
            "Waits {hint} (or as you say), then calls again. Waiting costs nothing.",
            "Waits {hint}, then calls again.",
            "Waits as long as you say, then calls again. Waiting costs nothing.",
            "Waits, then calls again.",
        ),
    },
    "switch_model": {
        "any": (
            "You choose one for this call; later calls ask {model} again{overflows}, and may be too long again.",
            "For this call only; later ones may overflow{overflows}.",
            "You choose one for this call; other models of {provider} have the same key{key_refused}.",
            "You choose; {provider}'s all have this key{key_refused}.",
            "You choose one for this call; later calls ask {model} again.",
            "You choose another model, for this call only.",
            "You choose one, for this call only.",
        ),
    },
    "edit": {
        "permission": (
            "You edit the arguments; sending them runs {tool} once.",
            "Sending the form runs {tool} once.",
            "Sending the form runs it once.",
        ),
        "any": (
            "You edit the arguments; sending them runs {tool} once; {agent} gets the result.",
            "You edit the arguments; sending them runs {tool} once.",
            "Sending the form runs {tool} once.",
            "Sending the form runs it once.",
        ),
    },
    "input": {
        "question": ("{asker} gets your answer and goes on.", "Your answer is handed on."),
        "correction": (
            "You type what is wrong; {name} reads it and tries again.",
            "You type what is wrong.",
        ),
        "any": ("{name} reads your text and goes on from here.", "Your text is handed on."),
    },
    "grant": {
        "lasting": (
            "You choose how long and see what it would cover; it holds after y.",
            "You choose how long, then y.",
        ),
        "not the last": (
            "{tool} does not run yet: it asks for {also_needs} next. This holds for this one call.",
            "Not run yet: it asks for {also_needs} next.",
            "Not run yet: it asks for more.",
        ),
        "any": (
            "{tool} runs now, once, with exactly these arguments, nothing else.",
            "{tool} runs now, once.",
            "{invokes} runs now, once; nothing else is allowed.",
            "It runs now, once.",
        ),
    },
    "deny": {
        "permission": (
            "Not run; {agent} reads your words (optional), goes on and may ask again.",
            "Not run; {agent} reads it, goes on.",
            "Not run; {agent} goes on.",
            "Not run; your words are handed on.",
        ),
        "breakpoint": (
            "{tool} does not run; {agent} reads your words and goes on; its next {tool} stops here too.",
            "Not run; {agent} reads your words and goes on.",
            "Not run; {agent} reads it, goes on.",
            "Not run; {agent} goes on.",
            "Not run; your words are handed on.",
        ),
        "any": (
            "{tool} is not called again; {agent} reads your words instead of a result, and goes on.",
            "{agent} reads your words and goes on.",
            "{agent} reads your words, goes on.",
            "{agent} reads your words.",
            "Your words are handed on.",
        ),
    },
    "result": {
        "model": (
            "You type the answer that {agent} gets; {model} is not asked.",
            "You type the answer for {agent}.",
            "You type the model's answer.",
        ),
        "in doubt": (
            "You type what {tool} returned, for {agent}; {tool} does not run again.",
            "No new run; {agent} gets your text.",
            "You type what it returned.",
        ),
        "permission": _RESULT_UNRUN,
        "breakpoint": _RESULT_UNRUN,
        "tool": (
            "You type the result that {agent} gets; {tool} is not called again.",
            "You type the result that {agent} gets.",
            "You type the result for {agent}.",
            "You type its result.",
        ),
        "any": (
            "You type the result of {name}, which counts as done then.",
            "You type its result; it counts as done.",
            "You type its result; it is done.",
        ),
    },
    "skip": {
        "question": ("{asker} is told that there was no answer.", "There will be no answer."),
        "model": (
            "{name} ends; {next} gets an empty text and stops at this limit, too{next_stops}.",
            "{name} ends; then {next} stops here, too{next_stops}.",
            "{name} ends here; {next} gets an empty text.",
            "{name} ends here; its result is an empty text.",
            "{name} ends; its result is empty.",
            "It ends here; its result is empty.",
        ),
        "permission": _SKIP_UNRUN,
        "breakpoint": _SKIP_UNRUN,
        "tool": (
            "{tool} is not called again; {agent} is told that it was skipped, and goes on.",
            "No new call; {agent} is told so.",
            "It is left out; the run goes on.",
        ),
        "in doubt": (
            "{tool} does not run again; what it did stays; {agent} is told it was skipped.",
            "Not run again; what it did stays.",
        ),
        "any": (
            "{name} is left out; {next} gets an empty text.",
            "{name} is left out; its result is an empty text.",
            "{name} ends; its result is empty.",
            "Left out; its result is empty.",
        ),
    },
    "accept": {
        "any": (
            "{name} ends with {done_of_all} results, without {missing_members}; the run ends degraded.",
            "It ends with the results that are there; the run ends degraded.",
            "Ends degraded, with what is there.",
        ),
    },
    "extend": {
        "any": (
            "You type how much more; {extension} is filled in, which makes {extended} (for about {extension_cost}).",
            "You type how much more; {extension} is filled in, which makes {extended}.",
            "You type how much more ({extension} filled in).",
            "You type how much more is allowed.",
        ),
    },
    "reset": {
        "any": (
            "Lets calls to {service} out now, for all runs that wait for it.",
            "Lets calls out now, in all runs.",
        ),
    },
    "acknowledge": {
        "no progress": ("Changes nothing: the run goes on.",),
        "any": ("{name} ends as failed; {next} does not run.", "{name} ends as failed.", "It ends as failed."),
    },
    "abort": {
        "any": (
            "Ends the whole run; what is done is kept.",
            "Ends the run; what is done is kept.",
        ),
    },
}
"""By the option's id; the option's entry in the table points here."""
