"""A process is killed in an effect, and the end of its journal is lost: no effect happens again unasked, however young
the workspace is. The long version is in `tests/soak`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.worker.cutting import Cut, copied, effects, frames, half, killed, resumed, seeded

CUTS: dict[str, Cut] = {
    "half": half,
    "removed": Path.unlink,
    "emptied": frames(0),
    **{f"seed {seed}": seeded(seed) for seed in range(3)},
}


@pytest.mark.parametrize("older", [False, True], ids=["new workspace", "older workspace"])
async def test_no_effect_is_repeated_unasked(tmp_path: Path, *, older: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUN_NAME", "repeated")
    dead = killed(tmp_path / "dead", at=7, older=older)
    before = effects(dead)
    for name, cut in CUTS.items():
        root = copied(dead, tmp_path / name, cut)
        lost, states = await resumed(root)
        assert effects(root) == before, name
        assert lost, name
        assert set(states) <= {"frozen", "completed"}, name


async def test_a_kill_alone_raises_no_alarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUN_NAME", "repeated")
    dead = killed(tmp_path / "dead", at=0, older=False)
    assert await resumed(dead) == ([], ["waiting"])
    assert effects(dead) == ["killed 0"]
