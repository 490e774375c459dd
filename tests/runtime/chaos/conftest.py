"""The chaos suite's pairs of journal and engine, its lives, and a tally of how often each thing was tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.runtime.chaos.harness import Lives, Place
from tests.runtime.chaos.pairs import PAIRS, Pair

Tried = Callable[[str, int], None]


@pytest.fixture(scope="session", params=PAIRS, ids=[pair.name for pair in PAIRS])
def pair(request: pytest.FixtureRequest) -> Pair:
    found: Pair = request.param
    return found


@pytest.fixture(scope="session")
def lives(pair: Pair) -> Iterator[Lives]:
    found = Lives(pair)
    yield found
    found.close()


@pytest.fixture
def place(tmp_path: Path, pair: Pair, lives: Lives) -> Callable[[str], Place]:
    """Makes workspaces, by a name of each."""
    return lambda name: Place(tmp_path / name, pair, lives)


@pytest.fixture
def tried(request: pytest.FixtureRequest) -> Tried:
    """Notes how often something was tried; the sums stand at the end of the run."""

    def note(what: str, times: int) -> None:
        request.node.user_properties.append(("tried", (what, times)))

    return note
