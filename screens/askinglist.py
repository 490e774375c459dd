"""A list of what the link's picture does not hold: the runtime is asked for it, and again when something changed."""

from __future__ import annotations

from screens.asking import Asker
from screens.link import Session
from screens.listscreen import ListScreen


class AskingListScreen(ListScreen):
    """Those who inherit from this say in `ask` what they want to know."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._asker = Asker(self, self.ask)

    async def ask(self) -> None:
        """Ask each host, and keep the answers. Raises as `Link.command`, and as whoever cannot read an answer."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self._stop = self.link.subscribe(self._asker.follow)
        self._asker.follow()

    def on_unmount(self) -> None:
        self._stop()

    def on_screen_resume(self) -> None:
        self._asker.resume()

    @property
    def ready(self) -> bool:
        return self._asker.answered

    def news(self) -> str:
        """A problem of the questions that was not told yet."""
        return self._asker.news()

    def draw(self) -> None:
        super().draw()
        if news := self.news():
            self.say(news, "error")
