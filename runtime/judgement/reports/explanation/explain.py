"""`explain`: the explanation of an incident, by rules from facts. Pure: the same events give the same sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from runtime.judgement.recovery.budget_extension import proposed_extension
from runtime.judgement.recovery.option_table import OPTIONS, effect_of
from runtime.judgement.reports.explanation.attempt_facts import ATTEMPT_FACTS
from runtime.judgement.reports.explanation.budget_facts import BUDGET_FACTS, latest_calls
from runtime.judgement.reports.explanation.causes import FAILURES, KINDS, TRIED, Advice, CauseWords
from runtime.judgement.reports.explanation.explained_incident import ExplainedIncident
from runtime.judgement.reports.explanation.incident_kind import Kind
from runtime.judgement.reports.explanation.model_choices import ModelChoice, model_choices
from runtime.judgement.reports.explanation.run_facts import RUN_FACTS
from runtime.judgement.reports.explanation.runtime_home import HOME_FACTS, HomeSource, home_fact
from runtime.judgement.reports.explanation.sentence import (
    Fact,
    FactSource,
    Sentence,
    capitalized,
    every_filled,
    first_filled,
)
from runtime.judgement.reports.explanation.step_facts import STEP_FACTS, pause_end
from runtime.judgement.reports.narration import Part
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.record.state.fault_taxonomy import Cause

_FACTS: Final = {**STEP_FACTS, **ATTEMPT_FACTS, **RUN_FACTS, **BUDGET_FACTS}

CALLS_LABEL: Final = "Calls"
"""What stands before the latest calls of an agent that may be in a loop."""
MAX_CITED: Final = 4
"""Events that a printer names behind sentences."""


class Explanation(Struct, frozen=True):
    """What an operator decides from, in the order in which it is read.

    Attributes:
        kind: what the incident is; only a failure is an error.
        what: what happened, one sentence.
        why: the evidence, one or two sentences; empty where nothing is known.
        tried: what was tried before a person was asked; None where nothing was.
        option: the id of the option that is proposed, one that the incident offers; empty where none is.
        because: why that one.
        due: when a pause is over that was asked for; None where none was, or none is known.
        act: what a person has to do outside before it; None where nothing is.
        link: what stands between the option and the reason, or between the act and the option.
        otherwise: the id of the option to take if a look shows that it did not happen; empty where nothing is in doubt.
        other: the id of the option to take instead for another wish; empty where there is none.
        wish: that wish, as a condition without a full stop.
        models: other models that the run knows, for an answer that asks another one.
        calls: the latest calls of an agent that may be in a loop, oldest first; empty where none may be.
        wordings: what each option that is offered will do, by its id: the same in one sentence or more, the fullest
            first, the shortest last.
        lasting: the same of a grant that holds for longer than one call; empty where none is offered.
        amount: how much more of a limit is proposed, in its unit; None where no limit is used up.
    """

    kind: Kind
    what: Sentence
    why: tuple[Sentence, ...]
    tried: Sentence | None
    option: str
    because: Sentence | None
    wordings: Mapping[str, tuple[Sentence, ...]]
    lasting: tuple[Sentence, ...] = ()
    amount: float | None = None
    due: datetime | None = None
    act: Sentence | None = None
    link: str = ", because "
    otherwise: str = ""
    other: str = ""
    wish: str = ""
    models: tuple[ModelChoice, ...] = ()
    calls: tuple[Sentence, ...] = ()

    @property
    def consequences(self) -> dict[str, Sentence]:
        """What each option that is offered will do, in full, by its id."""
        return {option: told[0] for option, told in self.wordings.items()}

    def sentences(self) -> list[Sentence]:
        """All of its sentences, in order."""
        told = [each for wording in (*self.wordings.values(), self.lasting) for each in wording]
        found = [self.what, *self.why, self.tried, self.act, self.because, *self.calls, *told]
        return [each for each in found if each is not None]

    def rows(self) -> list[tuple[str, str]]:
        """What, Why, Tried and Try as plain text, each with its label; what is not known is left out."""
        rows = [
            ("What", self.what.text),
            ("Why", " ".join([*(each.text for each in self.why), *self.cited(self.why)])),
            ("Tried", self.tried.text if self.tried is not None else ""),
            (self.advice_label, self._try_words()),
            (CALLS_LABEL, "; ".join(each.text for each in self.calls)),
        ]
        return [(label, text) for label, text in rows if text]

    @property
    def advice_label(self) -> str:
        """What stands before the proposed option: of a permission the one that lets nothing happen is proposed."""
        return "Safe" if self.kind == "permission" else "Try"

    def _try_words(self) -> str:
        if self.because is None:
            return ""
        if self.otherwise and self.act is not None:
            return f"{self.act.text}. If yes: {self.option}. If no: {self.otherwise}."
        other = f" {self.wish}: {self.other}." if self.other else ""
        if self.act is not None:
            return f"{self.act.text}{self.link}{self.option}.{other}"
        return f"{self.option}{self.link}{self.because.text}{other}"

    @staticmethod
    def cited(sentences: tuple[Sentence, ...]) -> list[str]:
        """The events behind sentences, as a model's analysis cites them too: ``[#41]``; the first ones and the last."""
        seqs = sorted({seq for each in sentences for seq in each.events if seq > 0})
        return [f"[#{seq}]" for seq in (seqs if len(seqs) <= MAX_CITED else [*seqs[: MAX_CITED - 1], seqs[-1]])]

    def as_json(self) -> dict[str, Any]:
        """It as JSON: each sentence as its text and the numbers of the events that back it."""
        return {
            "kind": self.kind,
            "what": _sentence_json(self.what),
            "why": [_sentence_json(each) for each in self.why],
            "tried": _sentence_json(self.tried),
            "option": self.option,
            "because": _sentence_json(self.because),
            "act": _sentence_json(self.act),
            "otherwise": self.otherwise,
            "other": self.other,
            "wish": self.wish,
            "amount": self.amount,
            "models": [each.name for each in self.models],
            "calls": [_sentence_json(each) for each in self.calls],
            "consequences": {option: _sentence_json(each) for option, each in self.consequences.items()},
        }


def _sentence_json(sentence: Sentence | None) -> dict[str, Any] | None:
    return {"text": sentence.text, "events": list(sentence.events)} if sentence is not None else None


def explain(incident: Incident, state: DurableRun, home: HomeSource | None = None) -> Explanation:
    """The explanation of one incident.

    Args:
        incident: the incident, open or not.
        state: its run; an empty one where it is not at hand: then what only the run knows is left out.
        home: gives the runtime that the front end is connected to; None: not known.

    Returns:
        Its sentences. Each has the events that say it; texts of others in them are marked (`Foreign`) and pass a
        printer's own gate.
    """
    case = ExplainedIncident(incident, state)
    known: dict[str, Fact | None] = {}

    def facts(name: str) -> Fact | None:
        if name not in known:
            if name in HOME_FACTS:
                known[name] = home_fact(name, home() if home is not None else None, case.here)
            else:
                known[name] = _FACTS[name](case)
        return known[name]

    words = _words(case)
    advice, because = _proposal(case, words, facts)
    act = first_filled(advice.act, facts, case.here) if advice is not None else None
    why = [first_filled(alternatives, facts, case.here) for alternatives in words.why]
    return Explanation(
        kind=case.kind,
        what=_what(case, words, facts),
        why=tuple(capitalized(each) for each in _with_author(case, facts, words, why) if each is not None),
        tried=_tried(case, facts),
        option=advice.option if advice is not None else "",
        because=because,
        wordings=_wordings(case, facts),
        lasting=_lasting(case, facts),
        amount=proposed_extension(case.opened, state),
        due=pause_end(case),
        act=capitalized(act) if act is not None else None,
        link=(advice.link if advice is not None else "") or (", then " if act is not None else ", because "),
        otherwise=_otherwise(case) if act is not None else "",
        other=advice.other if advice is not None and case.offers(advice.other) else "",
        wish=advice.wish if advice is not None and case.offers(advice.other) else "",
        models=model_choices(case),
        calls=latest_calls(case),
    )


def _words(case: ExplainedIncident) -> CauseWords:
    if case.kind == "in doubt" and not case.opened.in_doubt:
        return FAILURES[case.cause]  # it failed, and is said as it failed; that it may have happened is the advice's
    return KINDS[case.kind] if case.kind in KINDS else FAILURES[case.cause]


def _what(case: ExplainedIncident, words: CauseWords, facts: FactSource) -> Sentence:
    """The author's own words first (DESIGN section 8), then the rule's."""
    author = ("{author}",) if _has_failed(case) else ()
    made = first_filled((*author, *words.what, *FAILURES[Cause.UNKNOWN].what), facts, case.here)
    return capitalized(made) if made is not None else Sentence(("It waits for an answer.",), case.here)


def _has_failed(case: ExplainedIncident) -> bool:
    """Whether it is said as a failure: also where a tool's call failed that may have taken effect all the same."""
    return case.kind == "failure" or (case.kind == "in doubt" and not case.opened.in_doubt)


def _with_author(
    case: ExplainedIncident, facts: FactSource, words: CauseWords, why: list[Sentence | None]
) -> Sequence[Sentence | None]:
    """Where the author's words are the first sentence, the rule's own follows."""
    if not _has_failed(case) or facts("author") is None:
        return [each for each in why if each is not None][:2]
    return [first_filled(words.what, facts, case.here), *why[:1]]


def _tried(case: ExplainedIncident, facts: FactSource) -> Sentence | None:
    if case.kind not in ("failure", "in doubt"):
        return None
    parts: list[Part] = []
    events: dict[int, None] = {}
    for alternatives in TRIED:
        made = first_filled(alternatives, facts, case.here)
        if made is not None:
            parts += [*(["; "] if parts else []), *made.parts]
            events.update(dict.fromkeys(made.events))
    if not parts:
        return None
    return capitalized(Sentence((*parts, "."), tuple(sorted(events))))


def _proposal(case: ExplainedIncident, words: CauseWords, facts: FactSource) -> tuple[Advice | None, Sentence | None]:
    for advice in words.advice:
        made = _followable(case, advice, facts)
        if made is not None:
            return advice, made
    return None, None


def _otherwise(case: ExplainedIncident) -> str:
    """The option of what may have happened for the one who has looked and knows that it did not."""
    return "retry" if case.may_have_happened and case.offers("retry") else ""


def _followable(case: ExplainedIncident, advice: Advice, facts: FactSource) -> Sentence | None:
    if not case.offers(advice.option):
        return None
    if case.may_have_happened and OPTIONS[advice.option].repeats:
        return None  # that is said by a person who has looked, and proposed to none
    made = first_filled(advice.because, facts, case.here)
    if made is None:
        return None
    return Sentence((*made.parts, "."), made.events)


def _wordings(case: ExplainedIncident, facts: FactSource) -> dict[str, tuple[Sentence, ...]]:
    """What each option will do, in the words of the table of options for this kind of place."""
    found: dict[str, tuple[Sentence, ...]] = {}
    for option in case.opened.options:
        spec = OPTIONS.get(option.id)
        if spec is None:
            continue
        told = next((spec.outcomes[each] for each in case.outcome_cases if each in spec.outcomes), ())
        made = tuple(capitalized(each) for each in every_filled(told, facts, case.here))
        if made:
            found[option.id] = made
    return found


def _lasting(case: ExplainedIncident, facts: FactSource) -> tuple[Sentence, ...]:
    """What a grant for longer will do, where a grant is offered."""
    offered = next((OPTIONS[each.id] for each in case.opened.options if effect_of(each.id) == "grant"), None)
    told = offered.outcomes.get("lasting", ()) if offered is not None else ()
    return tuple(capitalized(each) for each in every_filled(told, facts, case.here))
