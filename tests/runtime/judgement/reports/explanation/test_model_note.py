"""What stands where a model's analysis would, in each state of it."""

from __future__ import annotations

from runtime.judgement.reports.explanation.model_note import ModelNote, model_note
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause
from tests.runtime.judgement.reports.explanation.cases import Told, every_kind, failed


def analysed(**fields: object) -> Told:
    run = failed(Cause.NETWORK)
    opened = run.incident.opened
    run.tell(ev.AnalysisAdded(incident_id=opened.incident_id, **fields), opened.node_id)  # type: ignore[arg-type]
    return run


def test_before_any_model_is_asked() -> None:
    found = model_note(failed(Cause.NETWORK).incident)
    assert found == ModelNote(
        "not asked yet", "no model analysed it: name one as `model` under [analysis] in orbiter.toml"
    )


def test_while_a_model_is_asked() -> None:
    run = failed(Cause.NETWORK)
    opened = run.incident.opened
    run.tell(ev.AnalysisStarted(incident_id=opened.incident_id, model="openai:gpt\x1b[2J"), opened.node_id)
    assert model_note(run.incident) == ModelNote("under way", "is asked", "openai:gpt [2J")


def test_what_a_model_says_is_marked_as_not_checked() -> None:
    found = model_note(analysed(text="The host is gone.", model="openai:gpt-4.1").incident)
    assert found == ModelNote("there", "says, not checked", "openai:gpt-4.1")


def test_where_none_answered_the_reason_says_how_to_have_one() -> None:
    reason = "no provider key: set ANTHROPIC_API_KEY or OPENAI_API_KEY to have one asked"
    found = model_note(analysed(text="See above.", fallback=True, reason=reason).incident)
    assert found == ModelNote("none", f"no model answered: {reason}")
    assert model_note(analysed(text="See above.", fallback=True).incident).words == "no model answered"


def test_nothing_is_said_where_nothing_failed() -> None:
    kinds = {name: model_note(run.incident).state for name, run in every_kind()}
    assert kinds.pop("in doubt") == "not asked yet"
    assert set(kinds.values()) == {"not for this kind"}


def test_what_a_model_said_or_says_is_shown_of_every_kind() -> None:
    for name, run in every_kind():
        opened = run.incident.opened
        run.tell(ev.AnalysisStarted(incident_id=opened.incident_id, model="openai:gpt-4.1"), opened.node_id)
        assert model_note(run.incident).state == "under way", name
        said = ev.AnalysisAdded(incident_id=opened.incident_id, text="Grant it.", model="openai:gpt-4.1")
        run.tell(said, opened.node_id)
        assert model_note(run.incident) == ModelNote("there", "says, not checked", "openai:gpt-4.1"), name
