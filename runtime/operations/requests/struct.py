"""`Request`, and the types of fields. Structs of msgspec: a console declares all of them before its first frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar

from msgspec import Meta, Struct

from runtime.record.state.clock import Instant

if TYPE_CHECKING:
    from runtime.record.state.event_base import Actor

__all__ = ["ActorRow", "Instant", "JsonObject", "Request", "Text"]

R_co = TypeVar("R_co", covariant=True)

JsonObject = Mapping[str, Any]
Text = Annotated[str, Meta(min_length=1)]
"""A text that is not empty."""


class ActorRow(Struct, frozen=True, kw_only=True):
    """Who did something, and by what way (`runtime.record.state.event_base.Actor`)."""

    name: str = ""
    channel: str = "runtime"

    @classmethod
    def of(cls, actor: Actor) -> ActorRow:
        """That of an event."""
        return cls(name=actor.name, channel=actor.channel)


class Request(Struct, Generic[R_co], frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an operator does or asks. The type in brackets is that of the result.

    `verb` is its name on the link. `acts`: it changes something; a viewer may not send it, and it is carried out once
    for each command id. `all_hosts`: where it names no run and no host, it is meant for every host.
    """

    verb: ClassVar[str]
    acts: ClassVar[bool] = False
    all_hosts: ClassVar[bool] = False
