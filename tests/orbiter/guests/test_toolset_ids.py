"""Tool sets of pydantic-ai are read by names that are not public: a version that has others is refused in words."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import FunctionToolset

from orbiter.errors import ConfigurationError
from orbiter.guests.pydantic_ai.toolset_ids import name_toolsets, with_toolsets


def test_an_agent_that_keeps_its_tool_sets_in_another_way_is_refused_with_its_version() -> None:
    agent = Agent(TestModel())
    del agent._constructor_dynamic_toolset_count
    with pytest.raises(ConfigurationError, match=r"pydantic-ai [\d.]+ keeps tool sets .* pip install"):
        with_toolsets(agent, [])


def test_a_tool_set_that_keeps_its_id_in_another_way_is_refused_with_the_version() -> None:
    class Other(FunctionToolset[object]):
        @property
        def _explicit_id(self) -> str | None:
            raise AttributeError("'Other' object has no attribute '_explicit_id'")

    with pytest.raises(ConfigurationError, match=r"_explicit_id"):
        name_toolsets([Other([])])
