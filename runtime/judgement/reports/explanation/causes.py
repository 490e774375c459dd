"""The words for each cause: what happened, why, and what to try because of which fact. Templates only.

Of the alternatives of a sentence the first is told whose facts are all known; if none is, the sentence is left out. A
fact without words (`may_have_happened`, `no_attempt`) is a condition.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from runtime.record.state.fault_taxonomy import Cause

Alternatives = tuple[str, ...]


class Advice(NamedTuple):
    """An option to try, and because of what; the first that is offered and whose reason is known is proposed.

    `act` is what a person has to do outside before it, as a command without a full stop. `other` is an option for
    another wish, and `wish` that wish, as a condition without a full stop. `link` stands between the option and the
    reason, or between the act and the option, where that is not ", because " or ", then ".
    """

    option: str
    because: Alternatives
    act: Alternatives = ()
    other: str = ""
    wish: str = ""
    link: str = ""


class CauseWords(NamedTuple):
    """What is said of a cause."""

    what: Alternatives
    why: tuple[Alternatives, ...]
    advice: tuple[Advice, ...]


_SAID: Final[Alternatives] = ("{where}: {said}.", "{said}.", "{where}.")
_STILL_TOO_LARGE: Final[Alternatives] = (
    "Shortened {compactions}, {compacted_sizes}, it is still too large.",
    "Shortened {compactions}, it is still too large.",
)
_STILL_TOO_LONG: Final[Alternatives] = (
    "Shortened to {compacted_tokens} ({compacted_to}), it is still too long.",
    *_STILL_TOO_LARGE,
)
_ONLY_SAID: Final[Alternatives] = ("{said}.", "{where}.")
_AT_CODE: Final[Alternatives] = ("It raised {exception} in {frame}.", "It raised {exception}.")
_SWITCH: Final = Advice("switch_model", ("{other_model} answered in this run", "another model may take it"))
_TELL: Final = Advice("deny", ("the agent may find another way when it is told why",))
_RETRY_ONCE_MENDED: Final = Advice("retry", ("it can go on once that is corrected",))
_LOOK_FIRST: Final[Alternatives] = (
    "Check at {host_argument} whether the call of {tool} was carried out",
    "Check where {tool} acts whether its call was carried out",
    "Check whether it was carried out",
)
_LOOK: Final = Advice("result", ("{may_have_happened}it may have taken effect",), _LOOK_FIRST)
_START_SERVER: Final[Alternatives] = ("Start the service that should answer on {host}",)
_GOES_ON: Final = "Runs go on, and this question is kept; a call that is under way may bring a new question"
_START_AGAIN: Final = f"then start it again: orbiter-console stop, then orbiter-console serve. {_GOES_ON}"
_CORRECT_KEY: Final[Alternatives] = (
    f"Put the right {{key_variable}} into {{key_place}}, then start the runtime again: {{restart}}. {_GOES_ON}",
    f"Put the right {{key_variable}} where the runtime reads it (its environment, or its env_file), {_START_AGAIN}",
    "Correct the credentials of {node}",
)
_REPEATS: Final = "{hungry} repeats itself{alike_answers_known}: more calls may bring the same"
_BY_HAND: Final = Advice("result", ("its result can be given in its place",))

FAILURES: Final[dict[Cause, CauseWords]] = {
    Cause.RATE_LIMITED: CauseWords(
        ("{provider} refused the call: too many requests.", "{node} was refused: too many requests."),
        (_SAID, ("It asks for a pause of {hint} ({hint_source}).", "It asks for a pause of {hint}.")),
        (
            Advice("wait_retry",
                   ("the limit ends by itself at {hint_until}", "a rate limit ends by itself")),
            Advice("retry", ("a rate limit ends by itself",)),
            _SWITCH,
        ),
    ),
    Cause.QUOTA_EXHAUSTED: CauseWords(
        ("The {provider} account has no credit or quota left.", "The account has no credit or quota left."),
        (_SAID,),
        (
            Advice("switch_model", ("a model of another provider has its own account",)),
            Advice("retry", ("it goes on once credit is added",)),
        ),
    ),
    Cause.AUTH_FAILED: CauseWords(
        ("{key_missing}There is no API key for {provider}: {key_variable} is not set.",
         "{key_missing}There is no API key for {provider}.",
         "{provider} did not accept the API key.", "{node} was refused: the credentials were not accepted."),
        (_SAID,),
        (
            Advice("retry", ("it goes on once the key of {provider} is right for the runtime",
                             "it goes on once the credentials are right"),
                   _CORRECT_KEY, link=". Then "),
            _SWITCH,
        ),
    ),
    Cause.PERMISSION_DENIED: CauseWords(
        ("This key may not use {model}.", "{tool} was refused access.", "{node} was refused access."),
        (_SAID, ("{tool} needs more rights outside: a grant here does not change that.",)),
        (
            Advice("switch_model", ("{other_model} worked in this run",)),
            Advice("retry", ("it goes on once access is given outside",)),
            _TELL,
        ),
    ),
    Cause.POLICY_DENIED: CauseWords(
        ("{object} is forbidden: {tool} was not run.", "{tool} was not run: a rule or a person denied it.",
         "{node} was stopped: a rule or a person denied it."),
        (_SAID,),
        (_TELL, _RETRY_ONCE_MENDED),
    ),
    Cause.MODEL_UNKNOWN: CauseWords(
        ("{provider} has no model {model_bare}.", "The model {model} does not exist.", "The model does not exist."),
        (_SAID,),
        (Advice("switch_model", ("{other_model} answered in this run", "the name is not known there")),),
    ),
    Cause.BAD_REQUEST: CauseWords(
        ("{provider} rejected the request.", "The request of {node} was rejected."),
        (_SAID,),
        (
            _LOOK,
            Advice("edit", ("the same request is rejected again",)),
            Advice("switch_model", ("the same request is rejected again",)),
            _BY_HAND,
        ),
    ),
    Cause.PAYLOAD_TOO_LARGE: CauseWords(
        ("The request to {provider} is too large.", "The request of {node} is too large."),
        (_SAID, _STILL_TOO_LARGE),
        (
            _LOOK,
            Advice("edit", ("{largest}, is most of it",)),
            Advice("switch_model", ("another model may take a larger request",)),
            _BY_HAND,
        ),
    ),
    Cause.CONTEXT_OVERFLOW: CauseWords(
        ("The conversation is longer than {model} can read.", "The conversation is longer than the model can read."),
        (_SAID, _STILL_TOO_LONG),
        (
            Advice("switch_model", ("a model that reads more than {compacted_tokens} can take it: name it in the form",
                                    "a model that reads longer texts can take it: name it in the form")),
            _BY_HAND,
        ),
    ),
    Cause.SERVICE_UNAVAILABLE: CauseWords(
        ("{tool} failed: what it uses is busy or down.", "{provider} is overloaded or down.",
         "{node} failed: what it uses is busy or down."),
        (("{where} on {failed_alike} attempts: {said}.", *_SAID),),
        (
            _LOOK,
            Advice("wait_retry", ("{several_attempts} are close together", "an outage passes")),
            Advice("retry", ("{several_attempts} are close together", "an outage passes")),
            _SWITCH,
        ),
    ),
    Cause.NETWORK: CauseWords(
        ("{node} could not reach {host}: {connection_reason}.", "{node} could not reach {host}.",
         "{node} lost its connection: {connection_reason}.", "{node} could not reach its server."),
        (("{where} on {failed_alike} attempts.", "{where}: {said}.", *_SAID),),
        (
            _LOOK,
            Advice("retry", ("{retried_by_hand} did not help: nothing listens on {refusing_argument}",), _START_SERVER,
                   other="edit", wish="If the address is wrong"),
            Advice("retry", ("{retried_by_hand} did not help: nothing listens on {refusing}",), _START_SERVER),
            Advice("edit", ("{retried_by_hand} did not help, and {host_argument} may be the wrong address",),
                   other="retry", wish="When it answers there again"),
            Advice("wait_retry", ("{several_attempts} are close together",)),
            Advice("retry", ("{several_attempts} are close together", "the connection may be back")),
            _SWITCH,
        ),
    ),
    Cause.TIMEOUT: CauseWords(
        ("{node} gave no answer within {took}.", "{node} gave no answer in time."),
        (("Its last attempt began at {began}.",), ("Its earlier calls took {median}.",), _SAID),
        (
            _LOOK,
            Advice("retry", ("its earlier calls took {median}", "the next call may be faster")),
            _SWITCH,
        ),
    ),
    Cause.EMPTY_COMPLETION: CauseWords(
        ("{model} answered with nothing.", "The model answered with nothing."),
        (_SAID,),
        (Advice("retry", ("the next answer may have a text",)), _SWITCH),
    ),
    Cause.REFUSED: CauseWords(
        ("{model} refused to answer.", "The model refused to answer."),
        (_SAID,),
        (Advice("switch_model", ("{other_model} answered in this run", "the same model refuses the same")), _BY_HAND),
    ),
    Cause.OUTPUT_INVALID: CauseWords(
        ("The answer of {name} does not fit the type that it must have.", "The answer does not fit its type."),
        (_ONLY_SAID, ("{name} has called no tool{called_nothing}: nothing was done outside.",)),
        (
            Advice("input", ("{retried_by_hand} did not help, and your words may",)),
            Advice("retry", ("{name} can correct it when it reads the error", "the next answer may fit")),
            Advice("input", ("{name} can correct it when it is told what is wrong",)),
            _BY_HAND,
        ),
    ),
    Cause.ARGS_INVALID: CauseWords(
        ("{agent} called {tool} with arguments that do not fit.", "{node} was given what does not fit."),
        (_ONLY_SAID,),
        (
            _LOOK,
            Advice("edit", ("the same arguments are refused again",)),
            Advice("input", ("the same input is refused again",)),
            _TELL,
        ),
    ),
    Cause.WRONG_TARGET: CauseWords(
        ("{name} was given a task that is not its own.", "A task went to the wrong agent."),
        (_SAID, ("It was sent on {sent_on} before.",)),
        (Advice("retry", ("the agent is chosen again",)), Advice("skip", ("the others can go on without it",))),
    ),
    Cause.MISSING_INPUT: CauseWords(
        ("{name} needs something that it does not have.", "An input is missing."),
        (_SAID,),
        (Advice("input", ("only a person can give it",)), _RETRY_ONCE_MENDED),
    ),
    Cause.TOOL_FAILED: CauseWords(
        ("{tool} failed: {said}.", "{node} failed: {said}.", "{node} failed."),
        (_AT_CODE,),
        (
            _LOOK,
            Advice("edit", ("the error does not know {unknown_name}",), other="deny", wish="If not",
                   link=" if you know the right arguments: "),
            Advice("edit", ("{has_arguments}other arguments may work",)),
            _TELL,
            Advice("retry", ("what it needs may be there now",)),
        ),
    ),
    Cause.DEPENDENCY_FAILED: CauseWords(
        ("{name} stopped: {failed_of_all} members failed.", "{node} stopped: something that it depends on failed."),
        (("Failed: {failed_members}; done: {done_members}.", "Failed: {failed_members}.", *_SAID),),
        (
            Advice("accept", ("the results of {done_members} are there",)),
            Advice("retry", ("members that are done are not run again",)),
            _BY_HAND,
        ),
    ),
    Cause.CIRCUIT_OPEN: CauseWords(
        ("Calls to {service} are held back.", "Calls of {node} are held back."),
        (_SAID, ("The next test call may go out in {hint}.",)),
        (
            Advice("wait_retry", ("the next test call may go out in {hint}", "the next test call is let through")),
            Advice("switch_model", ("another model is not held back by this",)),
        ),
    ),
    Cause.LOOP_DETECTED: CauseWords(
        ("{agent} made the same call again and again: {same_calls}.", "{node} goes round in a circle."),
        (_SAID,),
        (
            Advice("input", ("{agent} can change its way when it is told to", "it can change its way if told to")),
            Advice("retry", ("it may choose another way",)),
        ),
    ),
    Cause.LIMIT_REACHED: CauseWords(
        ("{limit_owner} used all of its {limit_name}: {used_of_allowed}.", "The limit of {limit_name} is reached.",
         "A limit of this run is reached."),
        (("Calls by agent: {top_users}.",), ("The last {alike_answers} answers of {hungry} are the same: a loop.",
          "{hungry} took far more than the others: perhaps a loop."),
         ("Spent so far: {spent}.",), ("{turns} members are done.",), ("{said}.",)),
        (
            Advice("skip", (f"{_REPEATS}. {{next}} then stops at this limit, too{{next_stops}}; extend it there",
                            _REPEATS)),
            Advice("extend", ("{hungry} may be in a loop",), ("Look at the last calls of {hungry}",),
                   other="skip", wish="If so", link=": do they repeat? If not: "),
            Advice("extend", ("{members_left}: {extension} more, for about {extension_cost}",
                              "{members_left}: {extension} more",
                              "the run goes on with {extension} more, about {extension_cost} as calls cost so far",
                              "the run goes on with {extension} more", "the run goes on with more")),
            Advice("accept", ("the results of {done_members} are there",)),
        ),
    ),
    Cause.CONFIG_INVALID: CauseWords(
        ("The base URL for {provider} is missing: {address_variable} is not set.",
         "{tool} is set up wrongly.", "{node} is set up wrongly.", "{swarm} is set up wrongly.",
         "Something is set up wrongly."),
        (("{said}.",), ("{exception} in {own_frame}.",)),
        (
            Advice("edit", ("the arguments that were given do not fit",)),
            Advice("retry", ("it goes on once a runtime that has {address_variable} was started",
                             "it goes on once the file is right")),
            Advice("abort", ("the run can begin again once the file is right",)),
        ),
    ),
    Cause.NOT_FOUND: CauseWords(
        ("{tool} did not find what it was asked for.", "{node} did not find what it was asked for."),
        (_SAID,),
        (
            _LOOK,
            Advice("edit", ("the name that was given does not exist",)),
            Advice("retry", ("it may be there now",)),
            _SWITCH,
        ),
    ),
    Cause.POOL_EXHAUSTED: CauseWords(
        ("No worker is free for {node}.", "No worker is free."),
        (_SAID,),
        (
            Advice("wait_retry", ("a worker is free when its work ends",)),
            Advice("retry", ("a worker is free when its work ends",)),
        ),
    ),
    Cause.CANCELLED: CauseWords(
        ("{node} was stopped from outside.", "It was stopped from outside."),
        (("It had begun at {began}.", "It had not begun.{no_attempt}"), ("{said}.",)),
        (
            _LOOK,
            Advice("retry", ("nothing is known to be wrong with it",)),
            _BY_HAND,
        ),
    ),
    Cause.HUMAN_TIMEOUT: CauseWords(
        ("{node} got no answer of a person in time.", "A person did not answer in time."),
        (_SAID,),
        (Advice("retry", ("it asks again",)), Advice("input", ("the answer can be given now",))),
    ),
    Cause.INTERNAL: CauseWords(
        ("The code has changed since this run began: {difference}.",
         "{in_own_code}The code of {node} failed: {said}.", "{in_own_code}The code of this swarm failed.",
         "Orbiter Console failed, or the process that it runs in: {said}.", "Orbiter Console failed."),
        (_AT_CODE, ("{rule_says}.",)),
        (
            Advice("retry", ("{was_changed}it goes on once the code is the one that the run began with",
                             "{in_own_code}it goes on once that is corrected",
                             "it goes on from what is recorded")),
            Advice("acknowledge", ("it cannot be corrected from here",)),
            Advice("abort", ("{in_own_code}the code has to be corrected first", "it cannot be corrected from here")),
        ),
    ),
    Cause.UNKNOWN: CauseWords(
        ("{node} failed in a way that no rule knows.", "It failed in a way that no rule knows."),
        (("{exception}: {said}, in {frame}.", "{exception}: {said}.", "{said}."),),
        (
            _LOOK,
            Advice("retry", ("the cause is not known, and it has not taken effect",)),
            _BY_HAND,
            Advice("accept", ("the results of {done_members} are there",)),
        ),
    ),
}  # fmt: skip
"""What is said of a failure, by its cause."""

KINDS: Final[dict[str, CauseWords]] = {
    "permission": CauseWords(
        ("{agent} asks for permission to invoke {invokes}.", "{agent} asks for permission: {tool} needs {need}.",
         "{node} asks for permission: it needs {need}."),
        (("No grant and no rule covers it, nor {also_needs}, which is asked for next.",
          "It is not allowed yet: no grant and no rule covers it."), ("To be done: {call}.",)),
        (Advice("deny", ("nothing runs then",), other="grant", wish="If you want exactly this"),),
    ),
    "question": CauseWords(
        ("{question}", "{node} asks a question."),
        (("{asker} asks it, and waits for the answer.",),),
        (Advice("input", ("only a person can answer it",)),),
    ),
    "breakpoint": CauseWords(
        ("{node} has not run: a breakpoint stopped it. Nothing failed.",),
        (),
        (Advice("retry", ("nothing failed",), ("Read the call{is_call}", "Read what it would do now"),
                other="deny", wish="If not", link=". If it is right: "),),
    ),
    "no progress": CauseWords(
        ("Nothing has happened for a while: {at_work} is at work.", "Nothing has happened for a while."),
        (("{message}.",),),
        (Advice("acknowledge", ("it may still finish",)),),
    ),
    "in doubt": CauseWords(
        ("Whether the call of {tool} was carried out is not known.", "Whether {node} was carried out is not known."),
        (("It {doubt} (it began at {began}); no result is recorded.", "It {doubt}, and no result is recorded.",
          "It began at {began}, and no result is recorded: {said}.", "It began, and no result is recorded: {said}.",
          "It began at {began}, and no result is recorded.", "It began, and no result is recorded."),
         ("{tool} is not marked as safe to repeat.",)),
        (Advice("result", ("a second {tool} cannot be told from the first", "doing it again may do it twice"),
                _LOOK_FIRST),),
    ),
}  # fmt: skip
"""What is said of cases that are not plain failures, by `ExplainedIncident.kind`."""

TRIED: Final[tuple[Alternatives, ...]] = (
    (
        "{attempts} ({pauses}){after_answer}",
        "{name} answered {own_answers}",
        "{attempts}{after_answer}",
        "{attempts} ({pauses})",
        "{attempts}",
        "nothing: it was asked before the first call{no_attempt}",
    ),
    ("shortened {compactions} {compacted_sizes}", "shortened {compactions}"),
    ("{stood_in} instead",),
    ("passed over: {passed_over}",),
    (
        "{answered_before}, and it failed again{not_an_attempt}{end_known}",
        "{answered_before}, and how that ended is not known{not_an_attempt}",
    ),
)
"""What was tried: pieces of one sentence, joined by semicolons."""
