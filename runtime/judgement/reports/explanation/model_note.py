"""What stands where a model's analysis would: who is asked, what came of it, or why it is missing."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from runtime.judgement.reports.explanation.incident_kind import incident_kind
from runtime.judgement.reports.explanation.sentence import one_line
from runtime.record.state.durable_run import Incident
from runtime.record.state.fault_taxonomy import Impact

NoteState = Literal["not for this kind", "not asked yet", "under way", "there", "none"]


class ModelNote(Struct, frozen=True):
    """The state of the analysis of an incident. `words` are ours; `model` is who is asked, or who said it."""

    state: NoteState
    words: str = ""
    model: str = ""


def model_note(incident: Incident) -> ModelNote:
    """What to say of a model's analysis of an incident. The text of an analysis is not in it."""
    found = incident.analysis
    if found is not None and found.model and not found.fallback:
        return ModelNote("there", "says, not checked", one_line(found.model, 80))
    if incident.analysing is not None and found is None:
        return ModelNote("under way", "is asked", one_line(incident.analysing.model, 80))
    if incident_kind(incident.opened) not in ("failure", "in doubt") or incident.opened.fault.impact is Impact.PROCESS:
        return ModelNote("not for this kind")
    if found is None:
        return ModelNote("not asked yet", "no model analysed it: name one as `model` under [analysis] in orbiter.toml")
    reason = one_line(found.reason, 300)
    return ModelNote("none", f"no model answered: {reason}" if reason else "no model answered")
