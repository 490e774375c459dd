"""Twenty processes killed in an effect, new workspaces and older ones by turns, each with its journal's end cut in
several ways: no effect happens again unasked. `tests/runtime/worker/test_cut_journal.py` is the sample of it.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.runtime.worker.cutting import Cut, copied, effects, half, killed, resumed, seeded

ROUNDS = 20


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", range(ROUNDS))
async def test_no_effect_is_repeated_unasked(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUN_NAME", "repeated")
    dead = killed(tmp_path / "dead", at=random.Random(number).randrange(1, 8), older=bool(number % 2))
    before = effects(dead)
    cuts: list[Cut] = [half, Path.unlink, *(seeded(number * 1000 + each) for each in range(10))]
    for place, cut in enumerate(cuts):
        root = copied(dead, tmp_path / str(place), cut)
        lost, states = await resumed(root)
        assert effects(root) == before, f"seed {number}, cut {place}"
        assert lost, f"seed {number}, cut {place}"
        assert set(states) <= {"frozen", "completed"}
