"""Breakers over the link: a console sees what the drives have learned, and lets a breaker go."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.link.client.client import CommandRefused
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config
from tests.runtime.link.linked import linked
from tests.swarm_texts import BREAKER_CONFIG, DOWN


async def test_a_breaker_is_seen_and_reset(tmp_path: Path) -> None:
    (tmp_path / "down.py").write_text(DOWN)
    (tmp_path / "orbiter.toml").write_text(BREAKER_CONFIG)
    with EmbeddedRuntime(tmp_path / ".orbiter", build_execution_config(tmp_path, {})) as runtime:
        async with linked(runtime.transport()) as console:
            assert await console.command("breakers") == []
            await console.command("start", ref="down.py:agent", input="go")
            await console.wait_until(lambda: bool(console.incidents))
            (row,) = await console.command("breakers")
            assert (row["id"], row["state"], row["failures"]) == ("model:scripted:down", "open", 2)
            with pytest.raises(CommandRefused, match="unknown breaker"):
                await console.command("reset", key="model:other")
            await console.command("reset", key="model:scripted:down")
            assert await console.command("breakers") == []
