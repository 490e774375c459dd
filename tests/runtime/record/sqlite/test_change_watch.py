"""How often a journal's file is looked at for what others wrote: counted in the time of a loop that never waits."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.record.rules.batch import WrittenEvent
from runtime.record.sqlite.change_watch import (
    FOLLOWER_POLL_S,
    IDLE_POLL_S,
    POLL_S,
    ChangeWatch,
)
from tests.runtime.record.journal_samples import warned


class InstantLoop(asyncio.SelectorEventLoop):
    """Its time passes as soon as it has nothing to do."""

    def __init__(self) -> None:
        loop = self
        self.now = 0.0

        class Selector(selectors.DefaultSelector):
            def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
                loop.now += timeout or 0.0
                return super().select(0)

        super().__init__(Selector())

    def time(self) -> float:
        return self.now


class File:
    """A journal's file, of which only the position of the last event is known; and one watch of it."""

    def __init__(self, path: Path, position: list[int], now: Callable[[], float]) -> None:
        self.position = position
        self.now = now
        self.polls = 0
        self.changes: list[float] = []
        self.writing = False
        self.watch = ChangeWatch(path, self._look, lambda: self.writing)

    def _look(self) -> int:
        self.polls += 1
        return self.position[0]

    def _changed(self) -> None:
        self.changes.append(self.now())

    def commit(self, count: int = 1) -> None:
        """What the journal object of this watch writes itself."""
        first = self.position[0] + 1
        self.position[0] += count
        self.watch.notify_written([WrittenEvent(first + n, warned(str(n))) for n in range(count)])


@contextmanager
def files(path: Path, count: int) -> Iterator[tuple[list[File], Callable[[float], None]]]:
    """Watches of one file in one process, and a function that lets seconds pass."""
    position = [7]
    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        loop = runner.get_loop()
        made = [File(path, position, loop.time) for _ in range(count)]

        async def begin() -> None:
            for each in made:
                each.watch.start(each._changed)

        async def end() -> None:
            for each in made:
                each.watch.stop()

        def passing(seconds: float) -> None:
            runner.run(asyncio.sleep(seconds))

        loop.run_until_complete(begin())
        yield made, passing
        loop.run_until_complete(end())


def test_a_journal_at_rest_is_hardly_looked_at(tmp_path: Path) -> None:
    with files(tmp_path / "j", 2) as ((leader, follower), passing):
        passing(60)
        assert leader.polls <= 60 / IDLE_POLL_S + 12
        assert follower.polls <= 60 / FOLLOWER_POLL_S + 12
        assert (len(leader.changes), len(follower.changes)) == (1, 1)  # what was there at the start


def test_another_process_is_noticed_by_the_leader_and_told_to_the_others_at_once(tmp_path: Path) -> None:
    with files(tmp_path / "j", 3) as (made, passing):
        passing(60)
        now = made[0].now()
        made[0].position[0] += 1
        passing(FOLLOWER_POLL_S)
        for each in made:
            (_, noticed) = each.changes
            assert noticed - now <= IDLE_POLL_S + POLL_S + 1e-6


def test_a_wake_up_that_is_lost_is_made_good_by_the_next_look(tmp_path: Path) -> None:
    with files(tmp_path / "j", 2) as ((leader, follower), passing):
        passing(60)
        leader.writing = True  # as one whose loop is blocked: it looks no more, and wakes no one
        leader.position[0] += 1
        passing(FOLLOWER_POLL_S + POLL_S)
        assert (len(leader.changes), len(follower.changes)) == (1, 2)


def test_where_something_happens_looks_are_frequent_and_then_ever_rarer(tmp_path: Path) -> None:
    with files(tmp_path / "j", 1) as ((only,), passing):
        passing(60)
        before = only.polls
        only.commit()
        passing(POLL_S + 1e-6)
        assert only.polls == before + 1
        passing(1)
        assert 8 <= only.polls - before <= 16
        only.watch.eager = True
        passing(1)
        before = only.polls
        passing(60)
        assert only.polls - before >= 60 / POLL_S - 2


def test_a_leader_that_ends_leaves_its_place_to_the_next(tmp_path: Path) -> None:
    with files(tmp_path / "j", 2) as ((leader, follower), passing):
        passing(60)
        leader.watch.stop()
        passing(FOLLOWER_POLL_S)
        before = follower.polls
        passing(60)
        assert follower.polls - before >= 60 / IDLE_POLL_S - 2
        assert leader.polls <= 60 / IDLE_POLL_S + 12


def test_own_commits_are_no_news_and_what_lies_between_two_of_them_is(tmp_path: Path) -> None:
    with files(tmp_path / "j", 1) as ((only,), passing):
        passing(1)
        for _ in range(5):
            only.commit(3)
            passing(POLL_S)
        assert len(only.changes) == 1
        only.writing = True
        only.position[0] += 1  # another process, just before a commit of ours
        passing(60)
        assert len(only.changes) == 1
        only.commit()
        only.writing = False
        assert len(only.changes) == 2
        passing(60)
        assert len(only.changes) == 2
