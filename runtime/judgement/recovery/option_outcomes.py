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

OUTCOMES: Final[dict[str, dict[OutcomeCase, tuple[str, ...]]]] = {
    "retry": {
        "model": (
            "Asks {model} again, same messages, attempt {next_attempt}; earlier calls took {median}.",
            "Asks {model} again, same messages, attempt {next_attempt}.",
            "Asks {model} again, same messages.",
            "Asks the same model again.",
        ),
        "tool": (
            "Calls {tool} again, same arguments, attempt {next_attempt}.",
            "Calls {tool} again, attempt {next_attempt}.",
            "Calls {tool} again, same arguments.",
            "Makes the same call again.",
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
            "{name} is told what does not fit, and answers again.",
            "It reads the error and tries again.",
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
            "Calls again {hint_due}, or after as many seconds as you type.",
            "Calls again {hint_due}.",
            "Waits {hint} (or as you say), then calls again. Waiting costs nothing.",
            "Waits {hint}, then calls again.",
            "Waits as long as you say, then calls again. Waiting costs nothing.",
            "Waits, then calls again.",
        ),
    },
    "switch_model": {
        "any": (
            "You choose one for this call; it gets the shortened {compacted_to}; later calls ask {model} again.",
            "You choose one for this call; later calls ask {model} again.",
            "You choose another model, for this call only.",
            "You choose one, for this call only.",
        ),
    },
    "edit": {
        "permission": (
            "You edit the arguments; {tool} runs once with them, nothing else.",
            "You edit them; then it runs once.",
        ),
        "any": (
            "You edit the arguments; {tool} runs once; {agent} gets the result.",
            "You edit the arguments; {tool} runs once with them.",
            "You edit them; then {tool} runs once.",
            "You edit them; then it runs once.",
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
        "any": (
            "{tool} runs now, once, with exactly these arguments, nothing else.",
            "{tool} runs now, once.",
            "{invokes} runs now, once; nothing else is allowed.",
            "It runs now, once.",
        ),
    },
    "deny": {
        "any": (
            "{tool} does not run; {agent} reads your words and goes on.",
            "{agent} reads your words and goes on.",
            "{agent} reads your words.",
            "Not run; your words are handed on.",
        ),
    },
    "result": {
        "model": (
            "You type the answer that {agent} gets; {model} is not asked.",
            "You type the answer for {agent}.",
            "You type the model's answer.",
        ),
        "in doubt": (
            "You type the result that {agent} gets; {tool} does not run again.",
            "You type its result; no second run.",
        ),
        "tool": (
            "You type the result that {agent} gets; {tool} is not called.",
            "You type the result for {agent}.",
            "You type its result.",
        ),
        "any": ("You type the result of {name}; {name} is done then.", "You type its result; it is done."),
    },
    "skip": {
        "question": ("{asker} is told that there was no answer.", "There will be no answer."),
        "model": (
            "{name} ends here; {next} gets an empty text.",
            "{name} ends here; its result is an empty text.",
            "{name} ends; its result is empty.",
            "It ends here; its result is empty.",
        ),
        "tool": (
            "{tool} is left out; {agent} is told so and goes on.",
            "Left out; {agent} is told so.",
            "It is left out; the run goes on.",
        ),
        "in doubt": (
            "{agent} is told that it was skipped, even if it did happen.",
            'Undoes nothing; told as "skipped".',
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
            "Raises {limit_name} from {allowed} to {extended} (about {extension_cost} more), or as you say.",
            "Raises {limit_name} from {allowed} to {extended}, or as you say.",
            "Raises it from {allowed} to {extended} (about {extension_cost} more).",
            "Raises it from {allowed} to {extended}, or as you say.",
            "Raises it to {extended}, or as you say.",
            "Raises the limit by what you say.",
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
