"""Drafts of incidents of a step."""

from __future__ import annotations

from typing import Any

import pytest

from orbiter.steps import Place, Step, Traits
from runtime.execution.failures.in_doubt import draft_in_doubt
from runtime.execution.failures.incident_drafts import draft_ended_process
from runtime.execution.incidents import IncidentDraft

REFUSES_RESULTS: Step[Any, Any] = Step(
    "tool",
    "approve pay",
    "clerk",
    Place(0),
    {},
    None,  # type: ignore[arg-type]
    None,  # type: ignore[arg-type]
    Traits(not_offered=frozenset({"result"})),
)


@pytest.mark.parametrize(
    "draft",
    [draft_ended_process(REFUSES_RESULTS, 3, {}), draft_in_doubt(REFUSES_RESULTS, "was cut off", {})],
    ids=["ended", "doubt"],
)
def test_no_draft_of_a_step_offers_what_the_step_does_not_take(draft: IncidentDraft) -> None:
    assert draft.not_offered == {"result"}
