"""An agent whose tool says itself what its failures mean, in words for an operator who does not develop software.

    orbiter-console run examples/sensor_history.py:control_room "How was the pressure today?"

It runs without a key, on the script below. The archive refuses the first call: that is RETRIABLE, and is tried again
unasked. Then the channel that the model asks for is not known: that is CRITICAL, so the run waits, with the author's
sentence and suggestions. Answer with `edit` and a channel that is there:

    orbiter-console answer INCIDENT edit --arguments '{"channel": "pressure"}'
"""

from __future__ import annotations

import itertools
from typing import Any

from orbiter import Agent, Swarm, Tool
from orbiter.models import Call, Reply, script
from orbiter.severity import ErrorClassification, ErrorSeverity

VALUES = {"pressure": (1.2, 1.3, 1.9), "temperature": (20.5, 21.0, 20.8)}
"""What the archive has, by channel."""


class SensorHistory(Tool):
    """Values of a channel of the archive, and what its failures mean (`classify_error`, `get_retry_policy`)."""

    name = "sensor_history"
    description = "Today's values of a channel."
    parameters = {  # noqa: RUF012 - as `Tool` declares it
        "type": "object",
        "properties": {"channel": {"type": "string"}},
        "required": ["channel"],
    }

    def __init__(self) -> None:
        super().__init__()
        self._calls = itertools.count()

    async def execute(self, **arguments: Any) -> str:
        """Read the archive; it refuses the first call of each process."""
        if next(self._calls) == 0:
            raise ConnectionError("archive.example: connection reset by peer")
        return ", ".join(f"{value} bar" for value in VALUES[arguments["channel"]])

    @staticmethod
    def classify_error(exc: Exception, context: dict[str, Any]) -> ErrorClassification | None:
        """What a failure means; None: as the built-in rules say."""
        if isinstance(exc, ConnectionError):
            return ErrorClassification(
                severity=ErrorSeverity.RETRIABLE,
                user_message="The archive is busy, it is asked again",
                metadata={"technical_details": f"{exc} (attempt {context['attempt']})"},
            )
        if isinstance(exc, KeyError):
            return ErrorClassification(
                severity=ErrorSeverity.CRITICAL,
                user_message=f"The archive has no channel named {exc.args[0]}",
                metadata={
                    "technical_details": repr(exc),
                    "suggestions": [f"Take one of these channels: {', '.join(VALUES)}"],
                },
            )
        return None

    @staticmethod
    def get_retry_policy() -> dict[str, float]:
        """How often the archive is asked, and how far apart."""
        return {"max_attempts": 3, "delay_seconds": 0.1, "backoff_factor": 2.0}


script(
    "control-room",
    [Reply(calls=[Call("sensor_history", {"channel": "main_pressure"})]), Reply("Today's values: ${result}")],
)
control_room = Swarm(agents=[Agent(name="historian", model="scripted:control-room", tools=[SensorHistory()])])
