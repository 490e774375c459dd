"""Prices of model calls: those of the package `genai-prices`, and an operator's own. Unknown models cost "unknown"."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from orbiter.config import parse_model_string
from orbiter.types import Usage

_MILLION = 1_000_000
_VERSION = re.compile(r"(?:-\d{4}-?\d{2}-?\d{2}|-latest|-preview|@\d{8})$")

PRICED_PROVIDERS: Mapping[str, str] = {
    **{name: name for name in ("anthropic", "azure", "deepseek", "google", "groq", "mistral", "openai", "openrouter")},
    "gemini": "google",
    "xai": "x-ai",
}
"""Providers whose models the package has prices of: its names by ours. Models of a user's own provider are never
looked up there: a local model may have a name that a vendor's has too."""


class Price(BaseModel):
    """US dollars per million tokens. Where a cache price is not given, cached tokens cost what input costs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, description="tokens that are sent")
    output: float = Field(ge=0, description="tokens of the reply")
    cached: float | None = Field(default=None, ge=0, description="tokens read from a cache; not set: as `input`")
    cache_write: float | None = Field(default=None, ge=0, description="tokens written to a cache; not set: as `input`")

    def cost(self, usage: Usage) -> float:
        """US dollars for one call."""
        plain = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        total = plain * self.input + usage.cached_tokens * cached + usage.cache_write_tokens * written
        return (total + usage.output_tokens * self.output) / _MILLION


class PriceTable(BaseModel):
    """The package's prices under an operator's own, which are `models`, by model string (``provider:name``)."""

    model_config = ConfigDict(frozen=True)

    models: dict[str, Price] = Field(default_factory=dict)

    def cost(self, model: str, usage: Usage, at: datetime) -> float | None:
        """US dollars for one call made at that time; None where the price is unknown, which is not the same as nothing.

        An operator's own price may be given without the model's version (``-2024-08-06``, ``-latest``).
        """
        own = self._own(model)
        return _packaged_cost(model, usage, at) if own is None else own.cost(usage)

    def needs_package(self, model: str) -> bool:
        """Whether the model's price is looked up in the package, and that is not loaded. Loading takes 0.1 to 0.4 s."""
        packaged = parse_model_string(model)[0] in PRICED_PROVIDERS and self._own(model) is None
        return packaged and "genai_prices.data" not in sys.modules

    def overridden(self, prices: Mapping[str, Any]) -> Self:
        """The table with an operator's own prices over it.

        Raises:
            pydantic.ValidationError: A price is not valid.
        """
        own = {":".join(parse_model_string(name)): Price.model_validate(price) for name, price in prices.items()}
        return self.model_copy(update={"models": {**self.models, **own}})

    def _own(self, model: str) -> Price | None:
        if not self.models:
            return None
        name = ":".join(parse_model_string(model))
        return self.models.get(name) or self.models.get(_VERSION.sub("", name))


def load_prices() -> None:
    """Load the package with its data, which makes no request. To be called in a thread: it takes 0.1 to 0.4 s."""
    import_module("genai_prices.data")


def _packaged_cost(model: str, usage: Usage, at: datetime) -> float | None:
    provider, name = parse_model_string(model)
    if provider not in PRICED_PROVIDERS:
        return None
    import genai_prices

    tokens = genai_prices.Usage(
        # Some servers count cached tokens beside the input and not in it.
        input_tokens=max(usage.input_tokens, usage.cached_tokens + usage.cache_write_tokens),
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        found = genai_prices.calc_price(
            tokens, name, provider_id=PRICED_PROVIDERS[provider], genai_request_timestamp=at
        )
    except (LookupError, ValueError):  # a model without a price, or a price of another kind than tokens
        return None
    return float(found.total_price)
