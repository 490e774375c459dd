"""The base of screens that ask a runtime again when the workspace changed, one question at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import ClassVar, Final

from runtime.link.client.client import LinkError, LinkLost
from screens.base.runtime_screen import RuntimeScreen
from screens.shell.context import ConsoleContext
from screens.shell.timer import Alarm

MIN_POLL_INTERVAL_S: Final = 1.0
"""Seconds between an answer and the next question, at least."""
MAX_SHARE: Final = 0.25
"""The part of the time that may be spent waiting for answers: on a slow link there are fewer questions."""


class QueryPoller:
    """Calls `ask` soon after `poll_soon`. `problem` is why the last answer is not there; empty if it is. That the link
    is lost does not fail a question: the screen says so, and it is asked again when there is a runtime.
    """

    def __init__(
        self,
        screen: RuntimeScreen,
        ask: Callable[[], Awaitable[None]],
        *,
        pause: float = MIN_POLL_INTERVAL_S,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._screen = screen
        self._ask = ask
        self._pause = pause
        self._clock = clock
        self._alarm = Alarm(screen, self._due, clock=clock)
        self._asking = False
        self._stale = False
        self._free_at = 0.0
        self._seen: object = None
        self._said = ""
        self.answered = False
        self.problem = ""

    def link_changed(self) -> None:
        """Called for each change of the link: asks if the picture is another, and not because a reply came in."""
        position = self._screen.link.position
        if position != self._seen:
            self._seen = position
            self.poll_soon()

    def next_problem(self) -> str:
        """A problem that was not told yet; each is told once."""
        told, self._said = self._said, self.problem
        return self.problem if self.problem != told else ""

    def poll_soon(self) -> None:
        """Ask, as soon as that may be."""
        self._stale = True
        if not self._alarm.pending and not self._asking and self._screen.is_active:
            self._alarm.set(self._free_at - self._clock())

    def resume(self) -> None:
        """The screen is to be seen again: ask what was not asked meanwhile."""
        if self._stale:
            self.poll_soon()

    def _due(self) -> None:
        if self._screen.is_active:
            self._asking, self._stale = True, False
            self._screen.run_worker(self._work(), group="asking", exit_on_error=False)

    async def _work(self) -> None:
        began = self._clock()
        try:
            await self._ask()
            self.answered, self.problem = True, ""
        except LinkLost:
            self._seen = None
        except LinkError as exc:
            self.problem = str(exc)
        except (KeyError, TypeError, ValueError) as exc:
            self.problem = f"the runtime's answer cannot be read: {type(exc).__name__}: {exc}"
        finally:
            now = self._clock()
            self._asking = False
            self._free_at = now + max(self._pause, (now - began) / MAX_SHARE)
        self._screen.pace.request()
        if self._stale:
            self.poll_soon()


class PollingScreen(RuntimeScreen):
    """A screen of what the link's picture does not hold: the runtime is asked for it, and again when something changed.
    Those who inherit from this say in `ask` what they want to know.
    """

    POLL_INTERVAL_S: ClassVar[float] = MIN_POLL_INTERVAL_S

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__(session)
        self._asker = QueryPoller(self, self.fetch, pause=self.POLL_INTERVAL_S)

    async def fetch(self) -> None:
        """Ask each host, and keep the answers. Raises as `Link.command`, and as what reads the answers."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self._stop = self.link.subscribe(self._asker.link_changed)
        self._asker.link_changed()

    def on_unmount(self) -> None:
        self._stop()

    def on_screen_resume(self) -> None:
        self._asker.resume()

    def next_problem(self) -> str:
        """A problem of the questions that was not told yet."""
        return self._asker.next_problem()

    def show_problem(self) -> None:
        """Say it."""
        if news := self.next_problem():
            self.show_message(news, "error")
