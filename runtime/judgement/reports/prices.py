"""Prices of model calls: a dated table, and an operator's own prices. Unknown models cost "unknown"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from importlib.resources import files
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from orbiter.config import parse_model_string
from orbiter.types import Usage

_MILLION = 1_000_000
_VERSION = re.compile(r"(?:-\d{4}-?\d{2}-?\d{2}|-latest|-preview|@\d{8})$")


class Price(BaseModel):
    """US dollars per million tokens. Where a cache price is not given, cached tokens cost what input costs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)

    def cost(self, usage: Usage) -> float:
        """US dollars for one call."""
        plain = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        total = plain * self.input + usage.cached_tokens * cached + usage.cache_write_tokens * written
        return (total + usage.output_tokens * self.output) / _MILLION


class PriceTable(BaseModel):
    """Prices by model string (``provider:name``), as they were on the day `as_of`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    as_of: date
    source: str = ""
    models: dict[str, Price] = Field(default_factory=dict)

    def price(self, model: str) -> Price | None:
        """The price of a model, exact or without its version (``-2024-08-06``, ``-latest``); None: unknown."""
        name = ":".join(parse_model_string(model))
        return self.models.get(name) or self.models.get(_VERSION.sub("", name))

    def cost(self, model: str, usage: Usage) -> float | None:
        """US dollars for one call; None where the model's price is unknown, which is not the same as nothing."""
        price = self.price(model)
        return None if price is None else price.cost(usage)

    def overridden(self, prices: Mapping[str, Any]) -> Self:
        """The table with an operator's own prices over it.

        Raises:
            pydantic.ValidationError: A price that is none.
        """
        own = {":".join(parse_model_string(name)): Price.model_validate(price) for name, price in prices.items()}
        return self.model_copy(update={"models": {**self.models, **own}})


@lru_cache(maxsize=1)
def builtin_prices() -> PriceTable:
    """The table that comes with the program."""
    return PriceTable.model_validate_json(files("runtime.judgement").joinpath("prices.json").read_text("utf-8"))
