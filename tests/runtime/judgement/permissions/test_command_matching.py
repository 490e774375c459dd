"""What the mutation tests of the matcher asked for: each row fails if the line that decides it is changed."""

from __future__ import annotations

import pytest

from runtime.judgement.permissions.command_matching import (
    MatchResult,
    covers_command,
    matches_denial,
    why_uncovered,
)
from runtime.judgement.permissions.shell_commands import MatchBudget


@pytest.mark.parametrize(
    ("pattern", "command", "result"),
    [
        ("git push origin", "git push origin main", "yes"),
        ("git push origin", "git push", "no"),
        ("git push origin", "git pull $X", "no"),
        ("git push origin", "git push $X", "unclear"),
        ("git push origin", "git -v $X", "unclear"),
        ("rm * /etc", "rm a $X", "unclear"),
        ("rm * /etc", "rm a b", "no"),
        ("rm * /etc", "rm a /etc", "yes"),
        ("curl a; sh", "curl a; sh", "yes"),
        ("curl a; sh", "curl a; ls", "no"),
    ],
)
def test_a_denial_is_unclear_where_an_expansion_could_make_its_arguments(
    pattern: str, command: str, result: MatchResult
) -> None:
    assert matches_denial(pattern, command) == result


@pytest.mark.parametrize(
    ("pattern", "command", "why"),
    [
        ("ls", "pwd", ""),
        ("$X", "$X", " (which command it runs is known only when it is expanded: say once)"),
        ("$X 'a", "$X 'a", " (which command it runs is known only when it is expanded: say once)"),
        ("a;" * 30_000, "a;" * 30_000, " (it is too long, or nested too deeply: say once)"),
        ("git *", "ls", ""),
        ("git *", "git status", ""),
        ("git **", "git status; rm a", " (a pattern with a star covers one simple command)"),
        ("git *", "git 'a", " (a quote is not closed)"),
    ],
)
def test_a_grant_says_why_it_cannot_cover_a_command_that_its_words_fit(pattern: str, command: str, why: str) -> None:
    assert why_uncovered(pattern, command) == why


def test_a_grant_covers_nothing_once_the_work_is_used_up() -> None:
    assert covers_command("git *", "git status")
    assert not covers_command("git *", "git status", MatchBudget(0))


def test_a_star_covers_no_assignment_before_a_command() -> None:
    """Also where a later star of the pattern stands behind the assignment."""
    assert covers_command("A=b make *", "A=b make x")
    assert not covers_command("A=* make *", "A=b make x")
