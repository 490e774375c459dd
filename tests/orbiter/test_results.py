"""How results are made: what pydantic's own `model_copy` would give, and sooner."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from orbiter._internal.loop.run_results import copy_result, result_of
from orbiter.types import AgentOutput, RunResult, Usage, UserMessage

FIELDS: dict[str, Any] = {"total_steps": 3, "outputs": {"a": "x"}, "state": "degraded"}


class Own(RunResult):
    """A user's own kind of result."""

    score: int = 0


@pytest.mark.parametrize("result", [RunResult(output="x", steps=1), Own(output="x", score=7)])
def test_a_changed_result_is_the_copy_that_pydantic_makes(result: RunResult) -> None:
    found, copied = copy_result(result, FIELDS), result.model_copy(update=FIELDS)
    assert found == copied
    assert type(found) is type(copied)
    assert found.model_fields_set == copied.model_fields_set
    assert found.model_dump_json() == copied.model_dump_json()
    assert result.total_steps == 0


def test_the_result_of_a_run_is_frozen_and_its_own() -> None:
    usage = Usage(input_tokens=1, output_tokens=2, total_tokens=3)
    one, two = (result_of("a", AgentOutput(text="x"), [UserMessage(content="q")], usage) for _ in range(2))
    assert one == two == RunResult.model_validate_json(one.model_dump_json())
    assert one.messages is not two.messages
    assert one.outputs is not two.outputs
    with pytest.raises(ValidationError):
        setattr(one, "output", "y")  # noqa: B010 - as a caller that does not know that it is frozen
