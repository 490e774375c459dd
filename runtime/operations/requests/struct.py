"""`Request`, and the types of fields. Structs of msgspec: a console declares all of them before its first frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from msgspec import Meta, Struct

from runtime.record.state.summary import Instant

__all__ = ["Instant", "JsonObject", "Request", "Text"]

R_co = TypeVar("R_co", covariant=True)

JsonObject = Mapping[str, Any]
Text = Annotated[str, Meta(min_length=1)]
"""A text that is not empty."""


class Request(Struct, Generic[R_co], frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an operator does or asks. The type in brackets is that of the result.

    `verb` is its name on the link. `acts`: it changes something; a viewer may not send it, and it is carried out once
    for each command id. `all_hosts`: where it names no run and no host, it is meant for every host.
    """

    verb: ClassVar[str]
    acts: ClassVar[bool] = False
    all_hosts: ClassVar[bool] = False
