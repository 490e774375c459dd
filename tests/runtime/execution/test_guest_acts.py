"""What an operator may do to a run of each framework: a table of the tests that show it, or show a refusal in words.

A cell is `file::test`. The files stand beside this one, or where the path says.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from runtime.judgement.recovery.option_table import OPTIONS
from runtime.operations.run_controls import RunControls

FOLDER = Path(__file__).parent
PYDANTIC, FINE, SDK, COARSE = "pydantic-ai", "langchain, fine", "openai-agents", "langgraph, coarse"
COLUMNS = (PYDANTIC, FINE, SDK, COARSE)
CHAOS = "../chaos/test_chaos_guests.py"
WEEK = f"{CHAOS}::test_an_approval_waits_for_a_week_and_two_restarts_and_the_changed_call_runs_once"
OLDER = "test_langgraph.py::test_the_older_schema_of_interrupts_is_answered_like_a_permission"
REFUSED = "test_langgraph.py::test_what_acts_between_calls_is_refused_in_words_for_a_coarse_graph"
FROZEN = "test_guest_controls.py::test_a_frozen_agent_asks_its_model_only_after_it_is_thawed"
ENDED = "test_guest_controls.py::test_a_run_that_waits_is_aborted_and_its_tool_is_not_called_again"
EVERY = "test_every_framework.py"
EACH = f"{EVERY}::test_each_call_that_needs_approval_is_an_incident_of_its_own"
SHOWN = f"{EVERY}::test_a_grant_is_for_the_call_that_was_shown"
REWOUND = f"{EVERY}::test_a_run_is_turned_back_to_a_call_and_goes_on_from_there"
BEGUN = f"{EVERY}::test_a_fork_begins_with_what_was_done"
STOPPED = f"{EVERY}::test_a_breakpoint_stops_before_a_tool"
INJECTED = f"{EVERY}::test_what_an_operator_says_to_the_agent_is_in_its_next_request"
SWITCHED = f"{EVERY}::test_the_model_is_one_of_those_that_are_registered"
HITL = "test_langgraph.py::test_decisions_of_the_human_in_the_loop_middleware_are_grants_edits_and_refusals"
FINE_ACTS = "test_langgraph.py::test_a_fine_agent_reads_messages_stops_at_breakpoints_and_is_forked_from_a_call"
LATER = (
    "test_guest_controls.py::test_langchains_agent_is_turned_back_to_a_later_call_and_its_tools_are_not_called_again"
)
COARSE_REWIND = "test_langgraph.py::test_a_coarse_run_is_turned_back_to_what_a_node_wrote_and_the_node_runs_again"
COARSE_RETRY = "test_langgraph.py::test_a_node_that_fails_is_done_again_and_its_finished_siblings_are_not"
FORKED = "test_langgraph_forks.py::test_a_fork_of_a_coarse_run_does_what_stands_behind_the_chosen_step_and_nothing_else"

ACTS: dict[str, tuple[str, str, str, str]] = {
    "freeze": (FROZEN, FROZEN, FROZEN, REFUSED),
    "thaw": (FROZEN, FROZEN, FROZEN, REFUSED),
    "rewind": (REWOUND, LATER, REWOUND, COARSE_REWIND),
    "fork": (BEGUN, FINE_ACTS, BEGUN, FORKED),
    "set_breakpoint": (STOPPED, FINE_ACTS, STOPPED, REFUSED),
    "inject": (INJECTED, FINE_ACTS, INJECTED, REFUSED),
    "abort": (ENDED, ENDED, ENDED, ENDED),
    "retry": (STOPPED, FINE_ACTS, STOPPED, COARSE_RETRY),
    "switch_model": (SWITCHED, SWITCHED, SWITCHED, ENDED),  # a node has no known model: it is not offered
    "grant": (SHOWN, HITL, SHOWN, OLDER),
    "deny": (EACH, HITL, EACH, OLDER),
    "edit": (EACH, HITL, EACH, OLDER),
    "result": (SHOWN, FROZEN, SHOWN, OLDER),
    # The questions of a graph wait over each death of the process; how long is one clock for all.
    "wait for days": (WEEK, WEEK, WEEK, f"{CHAOS}::test_a_guest_is_killed_after_an_append"),
}


@pytest.mark.parametrize("act", ACTS)
def test_each_framework_has_a_test_of_the_act(act: str) -> None:
    for column, cell in zip(COLUMNS, ACTS[act], strict=True):
        file, _, name = cell.partition("::")
        found = {
            each.name
            for each in ast.parse((FOLDER / file).read_text()).body
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert name in found, f"{act} of {column}: {file} has no test {name}"


def test_the_table_has_each_act_on_a_run_and_no_option_that_is_unknown() -> None:
    """`cancel` and `move` know no framework: they act on a node's place, and on where a run is driven."""
    controls = {name for name in vars(RunControls) if not name.startswith("_")} - {"cancel", "move"}
    assert controls <= set(ACTS)
    assert set(ACTS) - controls - {"wait for days"} <= set(OPTIONS)
