"""A vendor's client has retries of its own. Under a runtime a step's attempts are the only ones: as many requests reach
the server as there are attempts. Outside of it an agent is as its framework alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path

import pytest

from runtime.judgement.recovery.retry import RetryPolicy
from runtime.record.state.durable_run import RUN_TERMINAL
from runtime.swarms.loader import load_swarm
from tests.orbiter.models.loopback import Answer, AnthropicSays, Loopback, OpenAISays, Says
from tests.runtime.bench import Bench
from tests.runtime.guest_bench import starts

FILE = Path(__file__).parents[2] / "data" / "swarms" / "online_guests.py"
start = starts(FILE)
FOUR = RetryPolicy(max_attempts=4, base=0.001)
ONE_MODEL = [
    "pydantic_openai",
    "pydantic_anthropic",
    "pydantic_wrapped",
    "langchain_openai",
    "langchain_anthropic",
    "openai_agents",
]
TWO_MODELS = ["pydantic_fallback", "langchain_bound", "langchain_inside"]


@pytest.fixture(scope="module", autouse=True)
def _frameworks() -> None:
    """Imported before a limit of time holds for it, and by no worker that has none of these tests."""
    import_module("tests.data.swarms.online_guests")


def failing_thrice(name: str) -> list[Answer]:
    """Busy twice, then too many requests with a hint, then a reply."""
    says: Says = AnthropicSays() if "anthropic" in name else OpenAISays()
    last = {"connection": "close"}  # no client outlives its test
    soon = {"retry-after-ms": "1", **last}
    busy = Answer(503, soon, body='{"error": {"message": "busy", "type": "server_error"}}')
    limited = Answer(429, soon, body='{"error": {"message": "slow down", "type": "rate_limit_error"}}')
    return [busy, busy, limited, Answer(headers=last, body=says.whole("Done"))]


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch, name: str) -> AsyncIterator[Loopback]:
    """The server that the agent called `name` asks."""
    async with Loopback() as server:
        server.answers = failing_thrice(name)
        monkeypatch.setenv("ORBITER_TEST_URL", server.url)
        yield server


@pytest.mark.parametrize("name", [*ONE_MODEL, *TWO_MODELS])
async def test_under_a_runtime_as_many_requests_are_made_as_attempts(bench: Bench, server: Loopback, name: str) -> None:
    async with bench.driving(policy=FOUR):
        run = await start(bench, name)
        state = await bench.until(run, lambda now: now.phase in RUN_TERMINAL or bool(now.open_incidents))
    models = 2 if name in TWO_MODELS else 1
    step = state.nodes["asking~0/llm~0"]
    assert (state.output, len(server.asked), step.attempts * models) == ("Done", 4, 4)
    assert [each.headers["x-stainless-retry-count"] for each in server.asked] == ["0"] * 4
    assert "max_retries" not in str(step.requested)
    assert state.nodes["asking~0"].warnings == ()


@pytest.mark.parametrize("name", ["pydantic_openai", "langchain_openai", "openai_agents"])
async def test_without_a_runtime_the_client_asks_again_as_it_does_alone(
    tmp_path: Path, server: Loopback, name: str
) -> None:
    alone = load_swarm(f"{FILE}:{name}", tmp_path)
    with pytest.raises(Exception, match="slow down"):
        await alone.run("go")
    assert [each.headers["x-stainless-retry-count"] for each in server.asked] == ["0", "1", "2"]
