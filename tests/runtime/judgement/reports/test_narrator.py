"""The narrator: every type of event has a sentence, and every text that is not ours is marked as foreign in it."""

from __future__ import annotations

import msgspec
import pytest

from runtime.judgement.recovery.secret_box import is_sealed
from runtime.judgement.reports.narration import Foreign
from runtime.judgement.reports.narrator import NARRATORS, narrate
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from tests.runtime.judgement.reports.event_samples import NOON, sample_event

REDACTED = "\x1b[2Jforeign"


def test_every_type_of_event_is_narrated() -> None:
    assert set(NARRATORS) == set(ev.EVENT_CLASSES)


@pytest.mark.parametrize("kind", ev.EVENT_CLASSES, ids=lambda kind: kind.__name__)
def test_our_words_and_foreign_text_stay_apart(kind: type[ev.JournalEvent]) -> None:
    event = sample_event(kind, REDACTED)
    for state in (None, DurableRun()):
        narration = narrate(event, state)
        ours = [part for part in narration.parts if isinstance(part, str)]
        assert any(ours)
        assert all(part.isascii() and part.isprintable() and "foreign" not in part for part in ours)
        assert isinstance(narration.text, Foreign)


def test_an_event_of_a_newer_program_is_named() -> None:
    narration = narrate(ev.parse_event({"type": "step.teleported", "run_id": "r", "seq": 3, "ts": NOON.isoformat()}))
    assert narration.parts == (Foreign("step.teleported", 80),)
    assert (narration.state, narration.level) == ("", "info")


@pytest.mark.parametrize(
    ("parked", "said"),
    [
        ({"reason": "stop"}, "paused, goes on later"),
        ({"reason": "waiting"}, "waits for a person"),
        ({"reason": "waiting", "incidents": ("i-1",), "thaw": True}, "waits for a person or to be thawed"),
        ({"reason": "waiting", "thaw": True}, "waits to be thawed"),
        ({"reason": "waiting", "wake_at": NOON}, "waits until "),
    ],
)
def test_a_parked_run_says_what_it_waits_for(parked: dict[str, object], said: str) -> None:
    parts = narrate(msgspec.convert(parked, ev.RunParked)).parts
    assert "".join(part for part in parts if isinstance(part, str)) == said


def test_a_secret_of_an_answer_is_masked() -> None:
    sealed = {"sealed": {"text": "c2VjcmV0"}}
    assert is_sealed(sealed)
    event = ev.IncidentAnswered(incident_id="i-1", revision=1, option="input", params={"value": sealed})
    said = [part.text for part in narrate(event).parts if isinstance(part, Foreign)]
    assert '{"value": "(secret)"}' in said
    assert not any("c2VjcmV0" in each for each in said)


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ({"state": "failed", "output": "half", "error": "no"}, "no"),
        ({"state": "degraded", "output": "half", "error": "no"}, "half"),
    ],
)
def test_a_run_that_failed_says_why_and_one_that_is_degraded_what_it_made(ended: dict[str, str], said: str) -> None:
    assert narrate(msgspec.convert(ended, ev.RunFinished)).text.text == said
