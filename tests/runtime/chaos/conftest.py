"""The chaos suite's pairs of journal and engine, its lives, and a tally of how often each thing was tried."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime.chaos.harness import ForkServer, Lives, Place
from tests.runtime.chaos.pairs import PAIRS, SERVER_ENV, Pair, make_queue_once

Tried = Callable[[str, int], None]


_SAMPLES = {
    "postgres+local": ("test_three_workers", "chaos:failing", "test_three_kills", "clock_is_wrong", "cut_off"),
    "postgres+dbos": ("test_three_workers", "test_limits_hold", "test_no_more_drives", "cut_off"),
    "postgres+restate": ("test_three_workers",),
}
"""What of the pairs after the first is in the suite; all of it is with SOAK=1."""
_SOAK_LIMIT_S = 7_200
"""The limit of each test of this folder with SOAK=1, in seconds. The limits in the files are for the suite."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("SOAK"):
        for item in items:
            if item.path.parent == Path(__file__).parent:
                item.add_marker(pytest.mark.timeout(_SOAK_LIMIT_S), append=False)  # the first is the one that counts
        return
    left = [item for item in items if _is_left_out(item.name)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not _is_left_out(item.name)]


def _is_left_out(test: str) -> bool:
    return any(f"[{name}" in test and not any(word in test for word in sample) for name, sample in _SAMPLES.items())


@pytest.fixture(scope="session", params=PAIRS, ids=[pair.name for pair in PAIRS])
def pair(request: pytest.FixtureRequest) -> Pair:
    found: Pair = request.param
    if found.missing:
        pytest.skip(found.missing)
    if found.name.startswith("postgres"):
        server = request.getfixturevalue("postgres")
        database = f"tests_{request.getfixturevalue('worker_id')}"
        os.environ[SERVER_ENV] = server.url(database, "chaos-")
        if found.name == "postgres+dbos":
            make_queue_once(server, database)
    return found


@pytest.fixture(scope="session")
def lives(pair: Pair, fork_server: ForkServer) -> Lives:
    return Lives(pair, fork_server)


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
