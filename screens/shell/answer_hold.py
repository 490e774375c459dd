"""An answer that is held for some seconds before it is sent, so that it can be taken back.

It is kept in the console's memory only: a console that is killed never sends it, and the decision stays open.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

from msgspec import Struct
from textual.app import App

from screens.shell.timer import Alarm


class HeldAnswer(Struct, frozen=True):
    """An answer that was given and is not sent yet.

    Attributes:
        incident_id: what it answers.
        words: its step and option, for a line.
        send: sends it; deals with a refusal itself.
        let_go: shows that it is held no more: it is sent, was taken back, or is no longer asked for.
    """

    incident_id: str
    words: str
    send: Callable[[], Awaitable[None]]
    let_go: Callable[[], None]


class AnswerHold:
    """Holds one answer at a time: another one sends the first."""

    def __init__(self, seconds: float = 0.0, *, clock: Callable[[], float] = monotonic) -> None:
        """`seconds`: for how long an answer is held; 0: not at all."""
        self.seconds = seconds
        self._clock = clock
        self._held: HeldAnswer | None = None
        self._due = 0.0
        self._alarm: Alarm | None = None

    @property
    def held(self) -> HeldAnswer | None:
        return self._held

    @property
    def seconds_left(self) -> int:
        """Whole seconds until it is sent, at least 1."""
        return max(1, round(self._due - self._clock() + 0.5))

    async def take(self, app: App[Any], answer: HeldAnswer) -> None:
        """Hold an answer and send it later; send what was held before, and the answer itself if none is to be held."""
        await self.send_now()
        if self.seconds <= 0:
            await answer.send()
            return
        self._held, self._due = answer, self._clock() + self.seconds

        def ring() -> None:
            app.run_worker(self.send_now(answer), group="held", exit_on_error=False)

        self._alarm = Alarm(app, ring, clock=self._clock)
        self._alarm.set(self.seconds)

    async def send_now(self, answer: HeldAnswer | None = None) -> None:
        """Send what is held, if anything is; with an `answer`, only if it is that."""
        if self._held is None or answer not in (None, self._held):
            return
        held = self._release()
        await held.send()

    def take_back(self) -> HeldAnswer | None:
        """Forget what is held: it is never sent. None if nothing was held."""
        return self._release() if self._held is not None else None

    def _release(self) -> HeldAnswer:
        assert self._held is not None
        held, self._held = self._held, None
        if self._alarm is not None:
            self._alarm.stop()
        held.let_go()
        return held
