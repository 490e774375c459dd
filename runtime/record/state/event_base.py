"""What all events have in common.

Annotations are evaluated here at once: else pydantic would evaluate those of `JournalEvent` again for each event class.
"""

from datetime import datetime
from typing import ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from runtime.record.state.clock import utc_now

EVENT_VERSION = 1
WORKSPACE_RUN_ID = "@workspace"
"""The run id under which events stand that belong to no run."""

BLOB_BYTES = 64 * 1024
"""A JSON value longer than this is kept beside the journal, by digest (DESIGN section 2)."""


class JournalEvent(BaseModel):
    """Common to all events. `node_id` is the node's path; empty for what concerns the run as a whole."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    DURABLE: ClassVar[bool] = False

    v: int = EVENT_VERSION
    seq: int = 0
    run_id: str = ""
    node_id: str = ""
    parent_id: str = ""
    ts: datetime = Field(default_factory=utc_now)

    def placed(self, run_id: str, seq: int) -> Self:
        """The event at its place in the journal. Made for each that is written, at a third of what `model_copy` takes:
        the fields are those of an event that was checked, and two whose types are these.
        """
        copied = object.__new__(type(self))
        object.__setattr__(copied, "__dict__", {**self.__dict__, "run_id": run_id, "seq": seq})
        object.__setattr__(copied, "__pydantic_fields_set__", {*self.__pydantic_fields_set__, "run_id", "seq"})
        object.__setattr__(copied, "__pydantic_extra__", self.__pydantic_extra__)
        object.__setattr__(copied, "__pydantic_private__", self.__pydantic_private__)
        return copied

    @property
    def durable(self) -> bool:
        """Must be on disk before anything follows from it: decisions, parks, starts of side effects, completions."""
        return type(self).DURABLE


class Actor(BaseModel):
    """Who did something, and by what way; a rule's `name` is the rule's, an agent's (`mcp`) that of its client and the
    account.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    name: str = ""
    channel: Literal["console", "cli", "rule", "runtime", "mcp"] = "runtime"


RUNTIME: Final = Actor.model_construct()
"""Who acts where no other is named. Made without validation, which would build a validator while modules load."""


class UnknownEvent(JournalEvent):
    """An event of a newer program; kept, shown by name, and without effect on state."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)
    type: str
