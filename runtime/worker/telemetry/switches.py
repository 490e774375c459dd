"""Whether traces can be sent, and how long spans are gathered: the extra `otel`, and two of the standard variables."""

from __future__ import annotations

import logging
import os
from importlib.util import find_spec

log = logging.getLogger("runtime.traces")

DEFAULT_DELAY_S = 5.0
_EXTRA = "opentelemetry.exporter.otlp.proto.http"


def schedule_delay_s() -> float:
    """Seconds for which spans are gathered: `OTEL_BSP_SCHEDULE_DELAY`, in milliseconds."""
    given = os.environ.get("OTEL_BSP_SCHEDULE_DELAY", "")
    return float(given) / 1_000 if given.isdigit() else DEFAULT_DELAY_S


def is_disabled() -> bool:
    """Whether `OTEL_SDK_DISABLED` says that nothing is sent."""
    return os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"


def check_extra() -> bool:
    """Whether the extra is installed; the log says so where it is not."""
    if extra_installed():
        return True
    log.error("[otel] is on, but its packages are missing: pip install 'orbiter-console[otel]'. Nothing is sent")
    return False


def extra_installed() -> bool:
    """Whether the extra is installed."""
    try:
        return find_spec(_EXTRA) is not None
    except ModuleNotFoundError:
        return False
