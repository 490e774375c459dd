"""A swarm with an error configuration of its own: a rate limit that an operator waits out, and a permission to publish.

    orbiter-console run examples/market_report.py:desk "Lamps"

It runs without a key, on the script below. The exchange counts requests: while there is a file `quota-is-used-up` it
raises a `RateLimitError`. The swarm's `ErrorHandlingConfig` says that rate limits are not waited out unasked, so the
run waits. Remove the file and answer with `retry`. Then `publish` needs a permission that is not granted: the code says
which, so the incident offers `grant`.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from orbiter import Agent, ErrorHandlingConfig, Swarm, require_permission, tool
from orbiter.errors import RateLimitError
from orbiter.models import Call, Reply, script
from orbiter.policy import ProviderErrorSettings

REPORT = Path("market-report.txt")
"""Where the report is published."""


@tool(idempotent=True, failure="fail")
def quote(product: str) -> str:
    """Ask the exchange for a price."""
    if Path("quota-is-used-up").exists():
        raise RateLimitError(
            "The exchange allows 100 requests an hour",
            context={"limit": 100, "used": 100, "retry_after": 1800},
            suggestion="Wait until the hour is over",
        )
    return f"{product}: 12.50"


@tool
async def publish(text: str) -> str:
    """Publish the report."""
    await require_permission("report.publish:market")
    await asyncio.to_thread(REPORT.write_text, f"{text}\n", encoding="utf-8")
    return "published"


script(
    "market",
    [
        Reply(calls=[Call("quote", {"product": "Lamps"})]),
        Reply(calls=[Call("publish", {"text": "Lamps: 12.50"})]),
        Reply("The report is out."),
    ],
)
desk = Swarm(
    agents=[Agent(name="analyst", model="scripted:market", tools=[quote, publish])],
    errors=ErrorHandlingConfig(
        auto_retry_on_rate_limits=False,
        max_attempts=2,
        base_retry_delay=0.1,
        provider_settings={"openai": ProviderErrorSettings(max_retries=2, insufficient_quota_action="fallback")},
    ),
)
