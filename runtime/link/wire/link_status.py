"""The status of a link, and the errors that its callers see."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from runtime.link.wire import protocol as p
from runtime.record.state.operator_terms import Role


class LinkError(Exception):
    """Something that was asked of the runtime did not happen."""


class LinkLost(LinkError):
    """There is no runtime to ask, or it went before it answered."""


class CommandRefused(LinkError):
    """The runtime said no. `error` is a word for programs; `detail["first"]` says who was first, if known."""

    def __init__(self, reply: p.CommandReply) -> None:
        super().__init__(reply.message or reply.error)
        self.error = reply.error
        self.detail = reply.detail
        self.repeated = reply.repeated


LinkPhase = Literal["connecting", "connected", "lost", "closed"]


class LinkStatus(Struct, frozen=True):
    """How the link is. `lost`: there is no runtime, or none that we understand; `reason` says it in a line.
    `mismatch`: there is one, of another version: to bring it back is of no use.
    """

    phase: LinkPhase
    reason: str = ""
    mismatch: bool = False


class PictureProgress(Struct, frozen=True):
    """How many rows of a picture that is not whole yet have been told, and how many there are."""

    runs: int
    all_runs: int
    incidents: int
    all_incidents: int


class LinkQuality(Struct, frozen=True):
    """How good the link to one host is. `host` is empty for this machine; `round_trip` in seconds, 0.0 while unknown;
    `stalled`: for how many seconds nothing has come though an answer is due; `role`: what we may do there; `held_up`:
    runs that cannot be carried on there, and why, in words; `slow`: what only takes long there.
    """

    host: str
    phase: LinkPhase
    round_trip: float = 0.0
    stalled: int = 0
    role: Role = "operator"
    held_up: str = ""
    slow: str = ""
