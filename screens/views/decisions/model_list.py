"""The list of models wherever one is asked for: in a prompt, for many decisions, for a run that goes on from a step."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from runtime.judgement.recovery.option_spec import ParamChoice
from runtime.judgement.reports.explanation.model_choices import ModelChoice, provider_choices
from screens.views.shared.render_context import RenderContext

OTHER_MODEL: Final = ParamChoice("", "another: type its name")
"""The row after which a name is typed."""


def model_rows(models: Iterable[ModelChoice], keys: Collection[str], context: RenderContext) -> tuple[ParamChoice, ...]:
    """The models, then the providers that can be asked; empty where neither is known.

    Args:
        models: what the run knows.
        keys: the names of the variables with providers' keys that the runtime has.
        context: what cleans the names.
    """
    return tuple(
        ParamChoice(each.name, f"{context.sanitize_line(each.name, 60)}{context.glyphs.dot}{each.why}")
        for each in (*models, *provider_choices(keys))
    )


def typed_from(value: str) -> str | None:
    """What a name is typed behind, where a row of the list lacks the name; None where it has it."""
    return value if value == OTHER_MODEL.value or value.endswith(":") else None
