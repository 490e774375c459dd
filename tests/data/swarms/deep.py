"""A deep agent for the runtime's tests: files of its own state, and a helper that it hands work to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent  # type: ignore[import-not-found]  # not among the locked packages
from langchain_core.tools import tool

from tests.data.swarms.graphs import effect, results, scripted


@tool
def reach(host: str) -> str:
    """Fails while the host is down."""
    effect(f"reach {host}")
    if Path(os.environ["ORBITER_TEST_EFFECTS"]).with_name("down").exists():
        raise ConnectionRefusedError(111, f"connection to {host} refused")
    return f"reached {host}"


def deep(middleware: Sequence[Any]) -> Any:
    """Writes a plan, lets a helper reach the host, and reads the plan."""
    helper = scripted([("reach", "r", {"host": "h"})], lambda messages: f"helped: {results(messages)}")
    model = scripted(
        [("write_file", "w", {"file_path": "/plan.md", "content": "the plan"})],
        [("task", "k", {"description": "reach it", "subagent_type": "helper"})],
        [("read_file", "q", {"file_path": "/plan.md"})],
        lambda messages: f"the end: {results(messages)}",
    )
    described = {"name": "helper", "description": "Reaches.", "system_prompt": "Reach.", "model": helper}
    return create_deep_agent(
        model=model,
        middleware=middleware,
        subagents=[{**described, "tools": [reach], "middleware": middleware}],
    )
