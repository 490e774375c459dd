"""Open incidents as results, made from a list that was read without opening the journal: no vocabulary of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from runtime.operations.requests.codec import decode_struct
from runtime.operations.requests.incident_results import OpenIncident
from runtime.record.listed import ListedIncident
from runtime.record.state.summary import Summary

_UNWRITTEN = {"node_id": "", "parent_id": "", "revision": 1}
"""Fields of an incident that a stored event leaves out where they have these values, and a result does not."""


def listed_incident_rows(listed: Sequence[ListedIncident]) -> tuple[OpenIncident, ...]:
    """What `ListIncidents` gives where no agent has proposed an answer.

    Args:
        listed: All open incidents of the workspace.

    Raises:
        ValueError: What is stored is not an incident of this version.
    """
    same = Counter(each.fingerprint or each.incident_id for each in listed)
    return tuple(
        decode_struct(
            OpenIncident,
            {
                **_UNWRITTEN,
                **(body := msgspec.json.decode(each.body)),
                "id": each.incident_id,
                "state": "open",
                "run_id": each.run_id,
                "opened_at": body["ts"],
                "title": Summary.from_json(each.run_summary).shown_title if each.run_summary else "",
                "like_this": same[each.fingerprint or each.incident_id],
            },
        )
        for each in listed
    )
