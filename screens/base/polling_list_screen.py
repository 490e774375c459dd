"""The base of lists whose rows are asked of the runtime."""

from __future__ import annotations

from screens.base.list_screen import ListScreen
from screens.base.polling_screen import PollingScreen


class PollingListScreen(ListScreen, PollingScreen):
    """There is a list as soon as there was an answer."""

    @property
    def ready(self) -> bool:
        return self._asker.answered

    def draw(self) -> None:
        super().draw()
        self.show_problem()
