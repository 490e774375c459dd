"""Partial results: what was finished when a group failed, kept with the error so that an operator may accept it."""

from __future__ import annotations

from orbiter.errors import causes
from orbiter.types import RunResult


def attach_partial_result(exc: BaseException, result: RunResult) -> None:
    """Remember what is there, under the name of the container whose result it would be (`result.agent`)."""
    exc.partial = result  # type: ignore[attr-defined]


def partial_result_of(exc: BaseException, name: str) -> RunResult | None:
    """What the container `name` had finished, as degraded; None if nothing. Found in wrapped errors, too."""
    for link in causes(exc):
        found = getattr(link, "partial", None)
        if isinstance(found, RunResult) and found.agent == name:
            warning = f"accepted as it was when '{name}' failed: {exc}"
            return found.model_copy(update={"state": "degraded", "warnings": [*found.warnings, warning]})
    return None
