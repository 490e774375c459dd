"""What all events have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal, Self

import msgspec
from msgspec.structs import replace

from runtime.record.state.clock import Instant, utc_now

EVENT_VERSION = 1
WORKSPACE_RUN_ID = "@workspace"
"""The run id under which events stand that belong to no run."""

BLOB_BYTES = 64 * 1024
"""A JSON value longer than this is kept beside the journal, by digest (DESIGN section 2)."""


class JournalEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=False):
    """Common to all events. `node_id` is the node's path; empty for what concerns the run as a whole.

    Fields are checked where an event is written and read (`runtime.record.rules.rows`), not where it is made.
    """

    DURABLE: ClassVar[bool] = False

    v: int = EVENT_VERSION
    seq: int = 0
    run_id: str = ""
    node_id: str = ""
    parent_id: str = ""
    ts: Instant = msgspec.field(default_factory=utc_now)

    @property
    def type(self) -> str:
        """The name of its kind, as ``step.ended``."""
        return type_of(self.__class__)

    def placed(self, run_id: str, seq: int) -> Self:
        """The event at its place in the journal."""
        return replace(self, run_id=run_id, seq=seq)

    @property
    def durable(self) -> bool:
        """Must be on disk before anything follows from it: decisions, parks, starts of side effects, completions."""
        return self.DURABLE


def type_of(kind: type[JournalEvent]) -> str:
    """The name of a kind of event, as ``step.ended``."""
    return str(kind.__struct_config__.tag)


class Actor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who did something, and by what way; a rule's `name` is the rule's, an agent's (`mcp`) that of its client and the
    account.
    """

    name: str = ""
    channel: Literal["console", "cli", "rule", "runtime", "mcp"] = "runtime"


RUNTIME: Final = Actor()
"""Who acts where no other is named."""


class UnknownEvent(JournalEvent, frozen=True, kw_only=True, tag=False):
    """An event of a newer program; kept, shown by name, and without effect on state. `others`: its own fields."""

    type: str
    others: dict[str, Any] = msgspec.field(default_factory=dict)
