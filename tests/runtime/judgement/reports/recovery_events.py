"""Events of runs that failed and were answered, at seconds of one day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Impact,
    Origin,
    Persistence,
)

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ADA = ev.Actor(name="ada", channel="console")
BOB = ev.Actor(name="bob", channel="cli")


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def fault(impact: Impact = Impact.NODE) -> Classification:
    return Classification(origin=Origin.TOOL, cause=Cause.TOOL_FAILED, persistence=Persistence.TRANSIENT, impact=impact)


def opened(key: str, seconds: float = 0, impact: Impact = Impact.NODE, **more: object) -> ev.IncidentOpened:
    given = {"run_id": "r1", "message": f"{key} failed", "lineage": ("agent", "save"), **more}
    return ev.IncidentOpened(incident_id=key, fault=fault(impact), ts=at(seconds), **given)  # type: ignore[arg-type]


def answered(key: str, option: str, seconds: float, by: ev.Actor = ADA, **more: object) -> ev.IncidentAnswered:
    given = {"run_id": "r1", "revision": 1, **more}
    return ev.IncidentAnswered(incident_id=key, option=option, ts=at(seconds), by=by, **given)  # type: ignore[arg-type]


def grant(grant_id: str = "g1", pattern: str = "/data/**", **more: object) -> ev.GrantAdded:
    given = {"subject": "*", "verb": "fs.write", "lifetime": "always", "ts": at(0), "by": ADA, **more}
    return ev.GrantAdded(grant_id=grant_id, pattern=pattern, **given)  # type: ignore[arg-type]
