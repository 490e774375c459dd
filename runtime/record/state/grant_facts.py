"""A permission in force as the link has it: all that `GrantAdded` has, checked without pydantic.

Apart from the events, as `runtime.record.state.incident_facts` is: a console that opens has shown its first picture
before it loads their vocabulary. What is accepted here `GrantAdded` accepts, too: a test compares their fields.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec

_Instant = Annotated[datetime, msgspec.Meta(tz=True)]


class ActorFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who did something (`runtime.record.state.event_base.Actor`)."""

    name: str = ""
    channel: Literal["console", "cli", "rule", "runtime", "mcp"] = "runtime"


class GrantFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="grant.added"):
    """A permission (`runtime.record.state.workspace_events.GrantAdded`)."""

    grant_id: str
    subject: str
    verb: str
    pattern: str
    lifetime: Literal["run", "swarm", "always"]
    ts: _Instant
    v: int = 1
    seq: int = 0
    run_id: str = ""
    node_id: str = ""
    parent_id: str = ""
    scope: str = ""
    until: _Instant | None = None
    incident_id: str = ""
    by: ActorFacts = ActorFacts()
    reading: int = 1
