"""Breakers over the link: a console sees what the drives have learned, and lets a breaker go."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.link.client.client import CommandRefused, LinkClient
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config

SWARM = """
from orbiter import Agent
from orbiter.models.scripted.replies import Fault
from orbiter.models.scripted.provider import script

script("down", lambda messages, tools: Fault(status=503))
agent = Agent(name="down", model="scripted:down")
"""
CONFIG = """
[errors]
max_attempts = 2
base_retry_delay = 0.01
circuit_breaker_threshold = 2
circuit_breaker_timeout = 3000
[analysis]
model = "off"
"""


async def test_a_breaker_is_seen_and_reset(tmp_path: Path) -> None:
    (tmp_path / "down.py").write_text(SWARM)
    (tmp_path / "orbiter.toml").write_text(CONFIG)
    with EmbeddedRuntime(tmp_path / ".orbiter", build_execution_config(tmp_path, {})) as runtime:
        console = LinkClient(runtime.transport())
        console.start()
        try:
            assert await console.command("breakers") == []
            await console.command("start", ref="down.py:agent", input="go")
            await console.wait_until(lambda: bool(console.incidents))
            (row,) = await console.command("breakers")
            assert (row["id"], row["state"], row["failures"]) == ("model:scripted:down", "open", 2)
            with pytest.raises(CommandRefused, match="there is no breaker"):
                await console.command("reset", key="model:other")
            await console.command("reset", key="model:scripted:down")
            assert await console.command("breakers") == []
        finally:
            await console.close()
