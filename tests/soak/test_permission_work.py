"""Commands against real shells, and the work of questions about hostile ones: many lines, new ones each time."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from runtime.judgement.permissions.permission import OBJECT_CHARS
from tests.runtime.judgement.permissions import test_permission_commands as suite

CHANCE = random.Random()


@pytest.mark.parametrize("piece", suite.ADVERSARIAL)
def test_the_work_of_a_question_is_bounded(piece: str) -> None:
    for length in (100, 1_000, 4_000, OBJECT_CHARS):
        assert suite.lines_run(suite.question(piece, length)) <= suite.QUESTION_LINES, length


def test_the_work_of_a_question_about_any_pieces_is_bounded() -> None:
    for _ in range(200):
        piece = "".join(CHANCE.choices(suite.ADVERSARIAL, k=CHANCE.randint(2, 6)))
        assert suite.lines_run(suite.question(piece, OBJECT_CHARS)) <= suite.QUESTION_LINES, piece


@pytest.mark.parametrize("seed", [CHANCE.randrange(10**9) for _ in range(50)])
def test_whatever_a_real_shell_runs_is_denied(tmp_path: Path, seed: int) -> None:
    suite.test_whatever_a_real_shell_runs_is_denied_and_no_grant_covers_more_than_one(tmp_path, seed)
