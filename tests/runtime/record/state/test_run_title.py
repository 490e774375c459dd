"""What a run is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.record.state.run_title import MAX_TITLE, input_title, run_title, swarm_name
from runtime.record.state.summary import Summary

REF = "/work/trip.py:flow"


@pytest.mark.parametrize(
    ("task", "title"),
    [
        ("Plan three days in Basel\nwith a visit of the museums", "Plan three days in Basel"),
        ("\n\n---\n# Plan **three** days\n\nmore", "Plan three days"),
        ("> - 1. *Plan* it `now`", "Plan it now"),
        ("2026-11-24: call", "2026-11-24: call"),
        ("12345\n!!!", "trip.py:flow"),
        ("", "trip.py:flow"),
        ("Ausgaben für März", "Ausgaben für März"),
    ],
)
def test_a_run_is_called_after_the_first_line_of_its_input_that_has_a_letter(task: str, title: str) -> None:
    assert run_title("", REF, task) == title
    assert run_title("trip.py:flow", REF, task) == title, "as an earlier program recorded it"
    assert Summary("r", REF, "", task).shown_title == title


def test_a_title_that_was_given_stands() -> None:
    assert run_title("Nightly", REF, "Plan three days") == "Nightly"
    assert Summary("r", REF, "Nightly", "Plan").public().title == "Nightly"
    assert Summary("r", REF, "trip.py:flow", "Plan").public().title == "Plan"


def test_the_name_of_a_swarm_is_the_end_of_its_reference() -> None:
    assert swarm_name("pkg.swarms:flow") == "pkg.swarms:flow"
    assert swarm_name(r"C:\work\trip.py:flow") == "trip.py:flow"
    assert not swarm_name("")


@given(st.text(max_size=300))
def test_a_title_is_one_line_of_bounded_length(task: str) -> None:
    title = input_title(task)
    assert len(title) <= MAX_TITLE
    assert len(title.splitlines()) <= 1
    assert title == title.strip()
