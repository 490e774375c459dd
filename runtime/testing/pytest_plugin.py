"""The pytest plugin of the package: the fixture `replay_failure`.

It is loaded in every run of pytest where the package is installed, so it imports what it needs at the first replay.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest


class ReplayFailure(Protocol):
    """Replays a recorded run against the code as it is now, and fails the test where it does not pass."""

    def __call__(
        self,
        record: str,
        *,
        step: str,
        workspace: str = ".",
        swarm: str = "",
        live: Collection[str] = (),
        replies: Mapping[str, str] | None = None,
        allow_changed: Collection[str] = (),
        limit_s: float = 60.0,
    ) -> None:
        """Replay a run; the test passes where the failed step passes, no new incident opens, and no step differs.

        Args:
            record: The file of the record, relative to the test's own file.
            step: The path of the step that failed.
            workspace: The directory of the swarm, relative to the test's own file. The replay works in it.
            swarm: Another swarm than the recorded one, as `path.py:name`.
            live: Tools, models or paths (patterns as in a shell) whose calls are made; others answer from the record.
            replies: By path: what a model is taken to answer where the record has nothing.
            allow_changed: Paths (patterns) of steps that may differ from the record.
            limit_s: Seconds that the replay may take.
        """
        ...


@pytest.fixture
def replay_failure(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReplayFailure]:
    """Replay a run that `orbiter-console export RUN --test` wrote down, against the code as it is now."""
    before = Path.cwd()

    def check(record: str, *, step: str, workspace: str = ".", **asked: Any) -> None:
        from runtime.testing.failure_check import check_failure
        from runtime.testing.replay_options import ReplayOptions

        here = Path(request.path).parent
        directory = (here / workspace).resolve()
        os.chdir(directory)  # as a runtime works in it
        wrong = check_failure(
            here / record, step=step, workspace=directory, scratch=tmp_path / "replay", options=ReplayOptions(**asked)
        )
        if wrong:
            pytest.fail(wrong, pytrace=False)

    yield check
    os.chdir(before)
