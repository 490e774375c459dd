"""The provider on loopback that adapters are tested against."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.orbiter.models.loopback import AnthropicSays, Loopback, OpenAISays, Says


@pytest.fixture(params=[AnthropicSays(), OpenAISays()], ids=["anthropic", "openai"])
def says(request: pytest.FixtureRequest) -> Says:
    found: Says = request.param
    return found


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with Loopback() as running:
        yield running
