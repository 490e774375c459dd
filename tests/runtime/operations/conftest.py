"""What an operator does to a run, on the journal of the bench."""

from __future__ import annotations

import pytest

from runtime.operations.run_controls import RunControls
from tests.runtime.bench import Bench


@pytest.fixture
def controls(bench: Bench) -> RunControls:
    return RunControls(bench.journal)
