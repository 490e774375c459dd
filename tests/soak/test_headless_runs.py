"""Five hundred runs without an operator to ask, eight at a time: each ends, and with the right exit code."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.console.linear.headless import check_codes, check_journals, headless_runs


@pytest.mark.parametrize("shared", [False, True])
async def test_no_headless_run_is_lost(tmp_path: Path, shared: bool) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    check_codes(await headless_runs(tmp_path, 250, at_once=8, seed=seed, shared=shared))
    assert await check_journals(tmp_path) == 250
