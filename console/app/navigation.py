"""Where the operator is: opens screens, as the history says. A place stays as it was left."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from textual.app import App
from textual.screen import Screen

from screens.base.screen_registry import HOME_SCREEN, SCREENS, ScreenEntry
from screens.shell.navigation_history import History, Visit

if TYPE_CHECKING:
    from screens.base.runtime_screen import RuntimeScreen
    from screens.shell.context import ConsoleContext

log = logging.getLogger(__name__)

_COMPARISON = "comparison"
"""The place of two runs side by side: without a key of its own, for it is reached from the runs."""


class Navigator:
    """Owned by the app, on whose stack it puts the screens.

    Args:
        app: Its screens are opened and replaced.
        session: Gives the session for new screens.
        report: Says why a screen could not be opened.
    """

    def __init__(self, app: App[Any], session: Callable[[], ConsoleContext], report: Callable[[str], None]) -> None:
        self._app = app
        self._session = session
        self._report = report
        self._history = History()
        self._stood: History | None = None
        """The history when the screen that stands was opened."""
        self._places: dict[str, RuntimeScreen] = {}

    def begin(self, run_id: str) -> None:
        """Show the inbox; over it a run, if one is named."""
        self._history.go(Visit(HOME_SCREEN))
        if run_id:
            self._history.go(Visit("", run_id))
        self._visit()

    def open_run(self, run_id: str, incident_id: str) -> None:
        """Show a run: the one that is shown already, or another in its place."""
        from screens.pages.run import RunScreen

        screen = self._app.screen
        if isinstance(screen, RunScreen) and screen.run_id == run_id:
            screen.go_to(incident_id)
        else:
            self._history.go(Visit("", run_id))
            self._visit(incident_id)

    def open_place(self, name: str, run_id: str) -> None:
        """Show a screen that has a key; about one run, if one is named."""
        if name in SCREENS and self._history.current != (here := Visit(name, run_id)):
            self._history.go(here)
            self._visit()

    def open_comparison(self, left: str, right: str) -> None:
        """Show where two runs differ."""
        self._history.go(Visit(_COMPARISON, left, right))
        self._visit()

    def open_home(self) -> None:
        """Back to where this was opened from."""
        if self._history.up() is not None:
            self._visit()

    def step(self, step: int) -> None:
        """Back or forward in the history."""
        if self._history.step(step) is not None:
            self._visit()

    def replace_broken(self, screen: Screen[Any]) -> bool:
        """Show the inbox in place of a screen of ours, which is made again when it is opened the next time; False if it
        is another.
        """
        from screens.base.runtime_screen import RuntimeScreen

        if not isinstance(screen, RuntimeScreen):
            return False
        self._forget(screen)
        self._history.go(Visit(HOME_SCREEN))
        self._visit()
        self._forget(screen)
        return True

    def _visit(self, incident_id: str = "") -> None:
        """Show what the history says. A place stays as it was left; a run is read again."""
        here, above = self._history.current, self._history.above()
        assert here is not None
        app = self._app
        try:
            screen = self._screen_of(here, incident_id)
            screen.came_from = (self._title_of(above),) if above is not None else ()
            if len(app.screen_stack) > 1:
                app.switch_screen(screen)
            else:
                app.push_screen(screen)
        except Exception as exc:  # a place that is broken must not take the others away from the operator
            if self._stood is None:
                raise
            self._history = self._stood
            self._forget(self._places.get(here.place))
            log.exception("a screen could not be opened")
            self._report(f"This cannot be opened, please report it: {type(exc).__name__}: {exc}")
            return
        self._stood = replace(self._history)

    def _screen_of(self, visit: Visit, incident_id: str) -> RuntimeScreen:
        if not visit.place:
            from screens.pages.run import RunScreen  # with all that a run is read with: the lists do without

            return RunScreen(self._session(), visit.run_id, incident_id)
        if visit.place == _COMPARISON:
            from screens.pages.comparison import ComparisonScreen

            return ComparisonScreen(self._session(), visit.run_id, visit.other_id)
        place = SCREENS[visit.place]
        if visit.run_id:
            return _new_screen(place, self._session(), visit.run_id)
        if place.name not in self._places:
            screen = self._places[place.name] = _new_screen(place, self._session())
            self._app.install_screen(screen, f"{place.name} {id(screen)}")
        return self._places[place.name]

    def _forget(self, screen: Screen[Any] | None) -> None:
        """A place that failed is made again when it is opened the next time."""
        for name in [name for name, place in self._places.items() if place is screen]:
            del self._places[name]
        if screen is not None and screen not in self._app.screen_stack and self._app.is_screen_installed(screen):
            self._app.uninstall_screen(screen)

    def _title_of(self, visit: Visit) -> str:
        if visit.place:
            return SCREENS[visit.place].title.lower() if visit.place in SCREENS else visit.place
        from screens.views.lists.runs import title_of

        session = self._session()
        summary = session.link.summaries.get(visit.run_id)
        return title_of(summary, session.render_context()) if summary is not None else visit.run_id


def _new_screen(entry: ScreenEntry, session: ConsoleContext, run_id: str = "") -> RuntimeScreen:
    """The screen of an entry; about one run, where it can be."""
    made = getattr(import_module(entry.module), entry.screen)
    found: RuntimeScreen = made(session, run_id) if run_id else made(session)
    return found
