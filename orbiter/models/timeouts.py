"""How long a model may take to connect, to begin, to go on, and to finish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orbiter.config import ModelConfig


@dataclass(slots=True, frozen=True)
class ModelTimeouts:
    """Seconds. Keep-alive pings and empty events are not content: a deadline runs on through them."""

    connect: float = 5.0
    """Until the connection stands. Both SDKs' own default."""
    first_token: float = 300.0
    """From the request to the first content. Long, because models that think in silence may need minutes."""
    silence: float = 120.0
    """Between two pieces of content. Providers hold long tool arguments back and send them at once."""
    total: float = 600.0
    """Until a reply asked for whole is there. Both SDKs' own default."""

    @classmethod
    def of(cls, config: ModelConfig, options: dict[str, Any]) -> ModelTimeouts:
        """Deadlines of a provider: its options, taken out of `options`; else `config.timeout` where one was set.

        Option names are `connect_timeout`, `first_token_timeout`, `silence_timeout` and `total_timeout`.
        """
        wanted = config.timeout if "timeout" in config.model_fields_set else None
        default = cls()

        def seconds(name: str, otherwise: float) -> float:
            given = options.pop(f"{name}_timeout", None)
            if given is None:
                return otherwise if wanted is None else wanted
            if not given > 0:
                raise ValueError(f"{name}_timeout must be a number of seconds above 0, not {given!r}")
            return float(given)

        connect = options.pop("connect_timeout", None)
        return cls(
            connect=float(connect) if connect else min(default.connect, wanted or default.connect),
            first_token=seconds("first_token", default.first_token),
            silence=seconds("silence", default.silence),
            total=seconds("total", default.total),
        )
