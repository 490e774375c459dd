"""How much of the first picture is there, in words, while parts of it are missing."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.link.client.client import PictureProgress


def progress_text(loading: Mapping[str, PictureProgress], runs: int, incidents: int) -> str:
    """`2,000 of 10,000 runs, 40 of 300 decisions loaded`; empty where nothing is missing. `runs` and `incidents`: how
    many of all hosts are there.
    """
    missing_runs = sum(each.all_runs - each.runs for each in loading.values())
    missing_incidents = sum(each.all_incidents - each.incidents for each in loading.values())
    parts = [
        f"{there:,} of {there + missing:,} {name}"
        for there, missing, name in ((runs, missing_runs, "runs"), (incidents, missing_incidents, "decisions"))
        if missing > 0
    ]
    return f"{', '.join(parts)} loaded" if parts else ""
