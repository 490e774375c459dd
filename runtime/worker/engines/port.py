"""The engine port: an engine promises that a live process drives each run that can go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Literal, NamedTuple, Protocol

from orbiter.errors import OrbiterError
from runtime.worker.drive import DriveOutcome

EngineOutcome = DriveOutcome | Literal["held up"]
DriveRun = Callable[[str], Awaitable[EngineOutcome]]
FindRuns = Callable[[int], Awaitable[list[str]]]
"""At most so many ids of runs that can go on, and that no process drives."""


class EngineError(OrbiterError):
    """The engine cannot give out runs. What is driven goes on."""


class TakenUp(NamedTuple):
    """What came of a look for runs."""

    found: bool
    """Whether some run could go on."""
    has_room: bool
    """Whether none of them has to wait until another run makes room."""


class Engine(Protocol):
    """Sees to it that runs are driven; made by a call with the drive and a way to find runs.

    `claim` is the only gate: what an engine does too often costs a claim that is refused, what it does not do is found
    at the next look.
    """

    @property
    def driving(self) -> list[str]:
        """Ids of the runs that are driven here now."""
        ...

    @property
    def refused(self) -> Mapping[str, str]:
        """Ids of runs that the engine's queue does not take, with the reason in words. They are driven without it, by
        a worker that takes them; what is driven here so counts until it ends.
        """
        ...

    async def take_up(self, held: Collection[str]) -> TakenUp:
        """Have every run driven that can go on, here or by another worker, now or when there is room. `held` are ids of
        runs that this worker leaves alone for now.

        Raises:
            EngineError: runs cannot be given out now.
            JournalError: the journal cannot be used.
        """
        ...

    async def join(self) -> None:
        """Take up nothing more, and wait until nothing is driven here any more."""
        ...


MakeEngine = Callable[[DriveRun, FindRuns], Engine]
