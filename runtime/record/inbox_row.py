"""A row of the inbox: of the journal, of the link and of screens."""

from __future__ import annotations

from msgspec import Struct

from runtime.record.state.incident_events import IncidentOpened


class InboxRow(Struct, frozen=True):
    """An open incident and the run that it belongs to. `proposed`: the option that an agent proposed last, and
    `proposed_by` its name; both may be empty. The journal does not fill them in.
    """

    run_id: str
    opened: IncidentOpened
    title: str = ""
    proposed: str = ""
    proposed_by: str = ""
