"""The table of all handlers, from which the verbs of the link are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.operations.context import Handler
from runtime.operations.handlers import answers, limits, permissions, reports, runs, workers
from runtime.operations.requests.struct import Request

HANDLERS: Final[Mapping[type[Request[Any]], Handler]] = {
    **runs.HANDLERS,
    **answers.HANDLERS,
    **permissions.HANDLERS,
    **limits.HANDLERS,
    **reports.HANDLERS,
    **workers.HANDLERS,
}
"""The handler of each request. A request without one is of the runtime as a process (`ShowStatus`, `StopRuntime`)."""
