"""The log lines of faults: level and words as in seed 003."""

from __future__ import annotations

import logging
from typing import NamedTuple

from runtime.judgement.faults import cause_text
from runtime.judgement.recovery.retry import RetryDecision
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Persistence,
    Severity,
)


class LogLine(NamedTuple):
    """A log line; `level` as in `logging`."""

    level: int
    text: str


def retry_line(fault: Classification, name: str, decision: RetryDecision) -> LogLine | None:
    """``Server error 503 from gpt-5. Retry 1/3 after 1.0s``; None where nothing is repeated here.

    Args:
        fault: What happened.
        name: The model or tool that was called.
        decision: What is done; retries are counted after the first attempt, as the seed does.
    """
    if decision.delay_s is None:
        return None
    status = f" {fault.http_status}" if fault.http_status is not None else ""
    turn = f"Retry {decision.attempt}/{decision.max_attempts - 1} after {round(decision.delay_s, 3)}s"
    return LogLine(logging.WARNING, f"{_what(fault)}{status} from {name}. {turn}")


def success_line(retries: int) -> LogLine:
    """``Request successful after 2 retries``."""
    return LogLine(logging.INFO, f"Request successful after {retries} {'retry' if retries == 1 else 'retries'}")


def fault_line(fault: Classification) -> LogLine:
    """A fault that is left over: a warning where it can be mended, an error where not, critical where the run ends.

    One that no rule knows is an error with its technical side, since it was not expected.
    """
    if fault.cause in (Cause.UNKNOWN, Cause.INTERNAL):
        said = ": ".join(each for each in (fault.author_message, fault.technical) if each)
        return LogLine(logging.ERROR, f"Unexpected error: {said or fault.user_message}")
    if fault.severity in (Severity.CRITICAL, Severity.FATAL):
        return LogLine(logging.CRITICAL, fault.user_message)
    if fault.severity is Severity.INFO:
        return LogLine(logging.DEBUG, fault.user_message)
    mendable = fault.persistence in (Persistence.TRANSIENT, Persistence.NEEDS_CHANGE)
    denied = fault.cause in (Cause.PERMISSION_DENIED, Cause.AUTH_FAILED)
    return LogLine(logging.WARNING if mendable and not denied else logging.ERROR, fault.user_message)


def _what(fault: Classification) -> str:
    if fault.cause is Cause.SERVICE_UNAVAILABLE:
        return "Server error"
    if fault.cause is Cause.RATE_LIMITED:
        return "Rate limit"
    return {Cause.TIMEOUT: "Timeout", Cause.NETWORK: "Connection error"}.get(
        fault.cause, cause_text.CAUSE_TEXT[fault.cause]
    )
