"""The explanation of an incident: every cause, every sentence against its events, and hostile texts."""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.judgement.recovery.option_outcomes import OUTCOMES
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.options import make_option, options_for
from runtime.judgement.reports.explanation import attempt_facts
from runtime.judgement.reports.explanation.attempt_facts import ATTEMPT_FACTS
from runtime.judgement.reports.explanation.budget_facts import BUDGET_FACTS
from runtime.judgement.reports.explanation.causes import FAILURES, KINDS, TRIED
from runtime.judgement.reports.explanation.explain import Explanation, explain
from runtime.judgement.reports.explanation.run_facts import RUN_FACTS
from runtime.judgement.reports.explanation.runtime_home import HOME_FACTS, RuntimeHome
from runtime.judgement.reports.explanation.sentence import Sentence, option_words, read_template
from runtime.judgement.reports.explanation.step_facts import STEP_FACTS
from runtime.judgement.reports.narration import Foreign
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident, fold_events
from runtime.record.state.fault_taxonomy import Cause, Classification, Effect, Origin, Persistence
from tests.runtime.judgement.reports.explanation.cases import TRACEBACK, Told, begun, every_failure, every_kind, failed

EVERY = [*every_failure(), *every_kind()]


def explained(run: Told) -> Explanation:
    return explain(run.incident, run.state)


def every_template() -> list[str]:
    words = [*FAILURES.values(), *KINDS.values()]
    found = [text for each in words for told in (each.what, *each.why) for text in told]
    found += [text for each in words for advice in each.advice for text in (*advice.because, *advice.act)]
    found += [text for told in TRIED for text in told]
    return found + [text for cases in OUTCOMES.values() for told in cases.values() for text in told]


def test_every_cause_and_every_option_has_words() -> None:
    assert set(FAILURES) == set(Cause)
    assert {advice.option for each in FAILURES.values() for advice in each.advice} <= set(OPTIONS)
    for spec in OPTIONS.values():
        assert spec.outcomes["any"], f"{spec.id} says what it does"


def test_every_name_in_a_template_is_a_fact_and_every_fact_is_used() -> None:
    used = {name for text in every_template() for name in read_template(text).names}
    used.add("author")  # told before every rule's sentence
    assert used == {*STEP_FACTS, *ATTEMPT_FACTS, *RUN_FACTS, *BUDGET_FACTS, *HOME_FACTS}


@pytest.mark.parametrize(("name", "run"), EVERY, ids=[name for name, _ in EVERY])
def test_an_incident_is_explained(name: str, run: Told) -> None:
    found = explained(run)
    offered = {each.id for each in run.incident.opened.options}
    assert set(found.consequences) == offered, "each option says what it will do"
    assert not found.option or found.option in offered
    assert (found.because is None) == (not found.option)
    for sentence in found.sentences():
        _check_sentence(sentence, run.events)
    assert len(found.what.text) <= 160
    assert all(len(each.text) <= 160 for each in found.consequences.values())


def _check_sentence(sentence: Sentence, events: list[ev.JournalEvent]) -> None:
    """Words, no braces or JSON of ours; and what it says of others stands in the events that it cites."""
    text = sentence.text
    assert len(text.split()) >= 1
    assert not re.search(r"\{\w+\}|  |\.\.|\"\"|: \.|None|\[\]", text.replace("...", "")), text
    assert sentence.events, f"no event backs {text!r}"
    cited = [event for event in events if event.seq in sentence.events]
    assert {event.seq for event in cited} == set(sentence.events), f"{text!r} cites what is not an event"
    told = " ".join(json.dumps(ev.event_fields(each), ensure_ascii=False) for each in cited)
    plain = _squeezed(told.replace("\\\\", "\\").replace('\\"', '"').replace("\\n", "\n"))
    for part in sentence.parts:
        if isinstance(part, Foreign):
            said = _squeezed(part.text)
            pieces = [each for each in said.split(",") if each] if said.count(",") else [said]
            assert all(piece in plain for piece in pieces), f"{part.text!r} stands in none of its events: {text!r}"


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_the_same_events_give_the_same_explanation() -> None:
    for _, run in EVERY[::7]:
        again = fold_events(run.events)
        assert explain(list(again.incidents.values())[-1], again).as_json() == explained(run).as_json()


@pytest.mark.parametrize(("name", "run"), EVERY[::3], ids=[name for name, _ in EVERY[::3]])
def test_without_its_run_only_what_the_run_knows_is_left_out(name: str, run: Told) -> None:
    found = explain(Incident(run.incident.opened), DurableRun())
    assert found.what.text
    assert set(found.consequences) == {each.id for each in run.incident.opened.options}
    for sentence in found.sentences():
        assert sentence.events == (run.incident.opened.seq,)


# -- what is said ------------------------------------------------------------------------------------------------------


def rows(run: Told) -> dict[str, str]:
    return dict(explained(run).rows())


def test_a_refused_connection() -> None:
    found = rows(failed(Cause.NETWORK))
    assert found["What"] == "book could not reach 127.0.0.1:8931: nothing listens there."
    assert found["Why"].startswith("Connection refused (errno 111) on 3 of 3 attempts. [#")
    assert found["Tried"].startswith("3 attempts in ")
    assert "(pauses 0.5s, 1s)" in found["Tried"]
    assert found["Try"].startswith("retry, because 3 attempts in ")


def test_after_a_retry_by_hand_what_refuses_connections_is_what_to_start() -> None:
    run = failed(Cause.NETWORK)
    node = run.incident.opened.node_id
    answer = ev.IncidentAnswered(incident_id="i-1", revision=1, option="retry", by=ev.Actor(name="ada", channel="cli"))
    run.tell(answer, node, "flow/booker")
    again = replace(run.incident.opened, incident_id="i-2")
    run.tell(again, node, "flow/booker")
    found = rows(run)
    assert found["Tried"].endswith("; the operator ada chose Retry operation, and it failed again.")
    assert found["Try"] == (
        "Start the service that should answer on 127.0.0.1:8931, then retry. If the address is wrong: edit."
    )
    assert explained(run).act is not None, "what has an act before it is not marked as what to press"
    run.tell(replace(again, incident_id="i-3", in_doubt=True), node, "flow/booker")
    tried = rows(run)["Tried"]
    assert tried.endswith("; the operator ada chose Retry operation, and how that ended is not known."), tried


@pytest.mark.parametrize(
    ("said", "sql", "cure"),
    [
        ("no such table: releases. Tables are: release, author", "select 1 from releases",
         '"releases" in sql, but names "release"'),
        ('relation "seats" does not exist', "select 1 from seats", '"seats" in sql'),
        ("Unknown column years in the field list", "select years from seats", '"years" in sql'),
        ("no such table: seats", "create table other as select 1", ""),
        ("column years does not exist", "alter table seats drop column years", '"years" in sql'),
        ("the table seats is locked", "select 1 from seats", ""),
    ],
)  # fmt: skip
def test_a_name_that_the_error_does_not_know_is_what_to_correct(said: str, sql: str, cure: str) -> None:
    run = failed(Cause.TOOL_FAILED, technical=said, action={"tool": "book", "arguments": {"sql": sql}})
    known = f"edit if you know the right arguments: the error does not know {cure}. If not: deny."
    tried = known if cure else "edit, because other arguments may work."
    assert rows(run)["Try"] == tried


def test_a_rate_limit_says_for_how_long() -> None:
    run = failed(Cause.RATE_LIMITED, "llm")
    until = f"{run.incident.opened.ts + timedelta(seconds=42):%H:%M:%S}"
    found = explained(run)
    assert found.consequences["wait_retry"].text == (
        f"The form has a wait until {until} filled in; enter starts it. Then it calls again."
    )
    assert found.due == run.incident.opened.ts + timedelta(seconds=42), "what is left of it stands in the form"
    assert found.what.text == "anthropic refused the call: too many requests."
    assert [each.text for each in found.why] == [
        'HTTP 429 rate_limit_exceeded: "Rate limit reached for requests per minute".',
        "It asks for a pause of 42s (retry-after header).",
    ]
    assert (found.option, found.because and found.because.text) == (
        "wait_retry",
        f"the limit ends by itself at {until}.",
    )
    assert found.consequences["retry"].text == (
        f"Asks anthropic:claude-haiku-4-5 at once; before {until} it may be refused again."
    )
    assert found.consequences["skip"].text == ("booker ends here; reporter gets an empty text.")


def test_a_wrong_key_says_which_to_correct_and_where() -> None:
    found = explained(failed(Cause.AUTH_FAILED, "llm"))
    assert found.act is not None
    assert found.act.text == (
        "Put the right ANTHROPIC_API_KEY where the runtime reads it (its environment, or its env_file), then start it"
        " again: orbiter-console stop, then orbiter-console serve. Runs go on, and this question is kept; a call that"
        " is under way may bring a new question"
    )
    assert dict(found.rows())["Try"] == f"{found.act.text}. Then retry."
    local = explained(failed(Cause.AUTH_FAILED, "llm", provider="in-house"))
    assert local.act is not None
    assert "API_KEY" not in local.act.text


@pytest.mark.parametrize(
    ("home", "place", "again"),
    [
        (RuntimeHome(env_file="/srv/keys.env"), "into /srv/keys.env,", ": in a second terminal, orbiter-console stop,"),
        (RuntimeHome(embedded=True), "of this console,", ": quit this console and open it again."),
        (RuntimeHome(host="rail"), "that it is started in,", ": on rail, orbiter-console stop, then"),
    ],
)
def test_who_knows_the_runtime_is_told_the_one_way_to_start_it_again(home: RuntimeHome, place: str, again: str) -> None:
    run = failed(Cause.AUTH_FAILED, "llm")
    found = explain(run.incident, run.state, lambda: home)
    assert found.act is not None
    assert place in found.act.text
    assert f"start the runtime again{again}" in found.act.text


def test_the_runtime_is_looked_at_only_where_a_sentence_needs_it() -> None:
    def home() -> RuntimeHome:
        raise AssertionError("no sentence needs it")

    run = failed(Cause.TIMEOUT)
    assert explain(run.incident, run.state, home).option == "retry"


def test_what_may_have_happened_says_where_to_look_and_what_to_take_then() -> None:
    at = "Check at 127.0.0.1:8931 whether the call of book was carried out. If yes: result. If no: retry."
    for run in (failed(Cause.CANCELLED, attempts=1, in_doubt=True, effect=Effect.UNKNOWN),
                failed(Cause.TIMEOUT, effect=Effect.UNKNOWN)):  # fmt: skip
        assert rows(run)["Try"] == at
    assert explained(failed(Cause.TIMEOUT)).otherwise == ""


def test_a_used_up_budget_says_what_was_spent_and_what_more_of_it_costs() -> None:
    run = begun()
    call: dict[str, Any] = {"kind": "llm", "name": "openai:gpt-4.1", "agent": "booker"}
    for number in range(2):
        run.tell(ev.StepStarted(**call, attempt=1, epoch=1), f"flow/booker/p{number}", "flow/booker")
        usage: dict[str, Any] = {"cost_usd": 0.02}
        run.tell(ev.StepEnded(attempt=1, result="ok", seconds=1.0, **usage), f"flow/booker/p{number}", "flow/booker")
    found = explained(failed(Cause.LIMIT_REACHED, "llm", attempts=0, run=run, effect=Effect.NOT_ATTEMPTED))
    assert found.why[0].text == "Spent so far: $0.04.", "as every other screen writes it"
    amount = found.amount
    assert amount
    assert found.consequences["extend"].text == (
        f"You type how much more; {amount:.0f} is filled in, which makes {20 + amount:.0f}"
        f" (for about ${0.02 * amount:.2f})."
    )


def of_a_workflow(*used: int, says: str = "part {}") -> Told:
    """A run of as many agents as are given, and one more; each has made so many calls, and the last asks for more.
    `says`: what each call came back with, with its number.
    """
    run = Told()
    names = [f"agent{number}" for number in range(len(used))]
    run.tell(ev.RunCreated(ref="trip.py:flow", title="t", input="x", options={}))
    run.tell(ev.NodeOpened(kind="swarm", name="flow", info={"members": [*names, "editor"], "mode": "workflow"}), "flow")
    for name, calls in zip(names, used, strict=True):
        agent = f"flow/{name}"
        run.tell(ev.NodeOpened(kind="agent", name=name), agent, "flow")
        for number in range(calls):
            call = ev.StepStarted(kind="llm", name="openai:gpt-4.1", agent=name, attempt=1, epoch=1)
            run.tell(call, f"{agent}/c{number}", agent)
            ended = ev.StepEnded(attempt=1, result={"text": says.format(number)}, seconds=1.0)
            run.tell(ended, f"{agent}/c{number}", agent)
        if name != names[-1]:
            run.tell(ev.NodeClosed(state="succeeded"), agent, "flow")
    return run


def out_of_calls(run: Told, *used: int) -> Told:
    """The run has used all of its model calls, and the agent at work asks for one more."""
    total = sum(used)
    about = {"limit": "max_llm_calls", "allowed": total, "used": total, "of": "the run", "scope": ""}
    fault = Classification(
        origin=Origin.RUNNER, cause=Cause.LIMIT_REACHED, persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
    )  # fmt: skip
    opened = ev.IncidentOpened(
        incident_id="i-1", fault=fault, action={"model": "openai:gpt-4.1", "budget": about},
        options=options_for(fault)[0], lineage=("flow", "agent2", "openai:gpt-4.1"),
    )  # fmt: skip
    run.tell(opened, "flow/agent2/more", "flow/agent2")
    return run


@pytest.mark.parametrize(
    ("used", "said", "amount", "circles"),
    [
        ((4, 4, 12), "", 16, True),
        ((4, 4, 7), "those done took 4 calls each: 4 for editor, 7 for agent2", 11, False),
        ((4, 4, 1), "those done took 4 calls each: 4 for editor, 3 for agent2", 7, False),
        ((4, 4, 0), "those done took 4 calls each: 4 for editor, 4 for agent2", 8, False),
    ],
)
def test_a_proposed_amount_counts_what_the_one_at_work_has_taken(
    used: tuple[int, ...], said: str, amount: int, circles: bool
) -> None:
    run = out_of_calls(of_a_workflow(*used), *used)
    found = explained(run)
    assert found.amount == amount
    assert found.because is not None
    look = "Look at the last calls of agent2: do they repeat? If not: extend. If so: skip."
    assert rows(run)["Try"] == (look if circles else f"extend, because {said}: {amount} more.")
    assert (found.act is not None) is circles, "where it may be a loop nothing is marked as what to press"
    assert ("agent2 took far more than the others: perhaps a loop." in rows(run)["Why"]) is circles


def test_an_answer_that_fits_no_form_goes_back_to_its_agent_before_a_person_has_to_write() -> None:
    run = failed(Cause.OUTPUT_INVALID, "agent")
    assert explained(run).option == "retry"


def test_a_key_that_is_not_set_was_not_refused() -> None:
    known = failed(Cause.AUTH_FAILED, "llm", provider="openai", code="missing_api_key", http_status=None)
    assert explained(known).what.text == "There is no API key for openai: OPENAI_API_KEY is not set."
    own = failed(Cause.AUTH_FAILED, "llm", provider="in-house", code="missing_api_key", http_status=None)
    assert explained(own).what.text == "There is no API key for in-house."


def test_a_loop_of_delegations_is_told_by_the_calls_of_its_agent_not_of_those_it_delegates_to() -> None:
    run = begun()
    for number in range(2):
        delegation = f"flow/booker/delegate_to_clerk-{number}"
        run.tell(ev.NodeOpened(kind="tool", name="delegate_to_clerk", info={"task": "pay"}), delegation, "flow/booker")
        run.tell(ev.NodeOpened(kind="agent", name="clerk"), f"{delegation}/clerk", delegation)
        for call in range(2):
            about: Any = {"kind": "tool", "name": "pay", "agent": "clerk", "epoch": 1}
            step = f"{delegation}/clerk/pay-{call}"
            run.tell(ev.StepStarted(**about, attempt=1, requested={"arguments": {}}), step, f"{delegation}/clerk")
            run.tell(ev.StepEnded(attempt=1, result="ok"), step, f"{delegation}/clerk")
    what = explained(failed(Cause.LOOP_DETECTED, "agent", run=run)).what
    assert what.text == "booker made the same call again and again: delegate_to_clerk 2 times."


def test_answers_that_are_the_same_are_said_to_be_a_loop_and_are_shown() -> None:
    used = (4, 4, 12)
    same, differ = (explained(out_of_calls(of_a_workflow(*used, says=says), *used)) for says in ("again", "part {}"))
    assert same.why[1].text == "The last 12 answers of agent2 are the same: a loop."
    assert same.option == "skip", "more calls are not proposed to who repeats itself"
    assert differ.why[1].text == "agent2 took far more than the others: perhaps a loop."
    assert (differ.option, differ.other) == ("extend", "skip")
    assert [each.text for each in differ.calls] == ['"part 9"', '"part 10"', '"part 11"'], "a person can look"
    assert all(each.events for each in (*same.calls, *differ.calls)), "each with the event that says it"
    assert dict(differ.rows())["Calls"] == '"part 9"; "part 10"; "part 11"'
    assert not explained(out_of_calls(of_a_workflow(4, 4, 3), 4, 4, 3)).calls, "equal shares show no loop"


def test_a_breakpoint_proposes_a_look_and_names_what_would_run() -> None:
    found = explained(dict(every_kind())["breakpoint"])
    assert found.act is not None, "what has an act before it is not marked as what to press"
    assert dict(found.rows())["Try"] == "Read the call. If it is right: retry. If not: deny."
    assert found.consequences["retry"].text.startswith("book runs now ")


def test_a_used_up_budget_proposes_an_amount() -> None:
    found = explained(failed(Cause.LIMIT_REACHED, "llm", attempts=0, effect=Effect.NOT_ATTEMPTED))
    assert found.what.text == "The run used all of its model calls: 20 of 20."
    assert found.consequences["extend"].text == ("You type how much more; 2 is filled in, which makes 22.")
    assert found.option == "extend"
    assert found.amount is not None
    assert f"{found.amount:.10g}" in found.consequences["extend"].text
    assert found.as_json()["amount"] == found.amount


def test_what_may_have_happened_is_not_proposed_again() -> None:
    for run in (
        failed(Cause.CANCELLED, attempts=1, in_doubt=True, effect=Effect.UNKNOWN),
        failed(Cause.TIMEOUT, effect=Effect.UNKNOWN, persistence=Persistence.TRANSIENT),
        failed(Cause.UNKNOWN, effect=Effect.UNKNOWN, persistence=Persistence.UNKNOWN),
    ):
        found = explained(run)
        assert found.option == "result"
        assert "it happens twice" in found.consequences["retry"].text


def test_a_permission_and_a_question_are_no_failures() -> None:
    kinds = dict(every_kind())
    asks = explained(kinds["permission"])
    assert asks.what.text == "booker asks for permission: book needs fs.write:/srv/a.md."
    assert (asks.option, asks.kind) == ("deny", "permission"), "a grant is never proposed"
    assert dict(asks.rows())["Safe"] == "deny, because nothing runs then. If you want exactly this: grant."
    question = explained(kinds["question"])
    assert (question.what.text, question.option, question.tried) == ("Which days?", "input", None)


def test_the_words_of_the_author_are_the_first_sentence_and_the_rules_own_follows() -> None:
    run = failed(Cause.TOOL_FAILED, user_message="The booking office is closed.", rule_message="The tool failed.")
    found = explained(run)
    assert found.what.text == "The booking office is closed."
    assert found.why[0].text == 'book failed: "no such table: seats".'


# -- anything ----------------------------------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["", "\x1b]2;owned\x07", "{tool}", "{0}", "%s", "\u202eevil", "http://a:1/", "[Errno 2] x", "a\nb"]
    ),
)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ACTIONS = st.dictionaries(
    st.sampled_from(
        ["tool", "model", "arguments", "budget", "breaker", "permission", "at_work", "invokes", "difference"]
    ),
    JSONS | st.fixed_dictionaries({"limit": JSONS, "used": JSONS, "allowed": JSONS, "scope": JSONS, "of": JSONS}),
)


@given(
    cause=st.sampled_from(list(Cause)),
    effect=st.sampled_from(list(Effect)),
    texts=st.lists(TEXTS, min_size=8, max_size=8),
    action=ACTIONS,
    options=st.lists(st.sampled_from(sorted(OPTIONS)), unique=True),
)
def test_whatever_an_incident_says_it_is_explained(
    cause: Cause, effect: Effect, texts: list[str], action: dict[str, Any], options: list[str]
) -> None:
    fault = Classification(
        origin=Origin.TOOL, cause=cause, persistence=Persistence.UNKNOWN, effect=effect, provider=texts[0],
        user_message=texts[1], technical=texts[2], code=texts[3], hint_source=texts[4], rule_message=texts[5],
    )  # fmt: skip
    run = begun()
    node = "flow/booker/book-1" if len(texts[6]) % 2 else texts[6]
    offered = tuple(make_option(each) for each in options)
    opened = ev.IncidentOpened(
        incident_id="i", fault=fault, error_type=texts[5], message=texts[7], action=action, options=offered,
        question=texts[4], lineage=tuple(texts[:3]), traceback=texts[2],
    )  # fmt: skip
    run.tell(opened, node, "")
    found = explain(run.incident, run.state)
    assert not found.option or found.option in options
    assert set(found.consequences) <= set(options)
    for sentence in found.sentences():
        assert sentence.text.strip()
        assert all(unicodedata.category(char)[0] != "C" for char in sentence.text), "nothing acts on a terminal"
        assert set(sentence.events) <= {event.seq for event in run.events}
    json.dumps(found.as_json())


@pytest.mark.parametrize(
    ("file", "said"),
    [("/srv/trips/trip.py", 'The code of book failed: "no such table: seats".'),
     (attempt_facts.__file__, 'Orbiter Console failed, or the process that it runs in: "no such table: seats".')],
)  # fmt: skip
def test_an_error_of_a_users_code_is_not_said_to_be_ours(file: str, said: str) -> None:
    """The cause says only that a program is wrong; whose it is, the frames say."""
    run = failed(Cause.INTERNAL, "tool")
    opened = replace(run.incident.opened, traceback=TRACEBACK.replace("/srv/trips/trip.py", file))
    assert explain(replace(run.incident, opened=opened), run.state).what.text == said


def test_an_option_that_the_explanation_does_not_tell_of_has_its_own_words() -> None:
    told = explained(failed(Cause.TOOL_FAILED))
    assert option_words("skip", "its hint", told.consequences) == told.consequences["skip"].text
    assert option_words("of a newer program", "its hint", told.consequences) == "its hint"
