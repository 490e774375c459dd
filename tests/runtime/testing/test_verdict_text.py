"""The words of a verdict, which a test prints."""

from __future__ import annotations

from runtime.testing.verdict import Verdict


def test_what_a_tool_said_does_not_steer_the_terminal_of_who_runs_the_test() -> None:
    said = Verdict(("the step a~0 still fails: many\x1b[31m (2)\x07\u202e done", "über"), ()).text()
    assert said == "the step a~0 still fails: many\\x1b[31m (2)\\x07\\u202e done\nüber"
