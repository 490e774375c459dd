"""The places of the console: screens with a digit for a key. Each is imported when it is first shown."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from screens.base.runtime_screen import LinkedScreen
    from screens.shell.context import Session


class Place(NamedTuple):
    """One place: the name that `OpenPlace` and `:` use, its title, its key, and the class of its screen."""

    name: str
    title: str
    key: str
    module: str
    screen: str
    aliases: tuple[str, ...] = ()

    def open(self, session: Session, run_id: str = "") -> LinkedScreen:
        """A new screen; about one run, where it can be."""
        made = getattr(import_module(self.module), self.screen)
        found: LinkedScreen = made(session, run_id) if run_id else made(session)
        return found


_ALL: Final = (
    Place("inbox", "Inbox", "1", "screens.pages.inbox", "HomeScreen", ("home", "decisions", "incidents")),
    Place("swarms", "Swarms", "2", "screens.pages.swarms", "SwarmsScreen", ("runs",)),
    Place("permissions", "Permissions", "3", "screens.pages.grants", "LedgerScreen", ("grants", "ledger")),
    Place("limits", "Breakers and budgets", "4", "screens.pages.limits", "LimitsScreen", ("breakers", "budgets")),
    Place("log", "Log", "5", "screens.pages.log", "LogScreen", ("logs", "events")),
    Place("settings", "Settings", "6", "screens.pages.settings", "SettingsScreen", ("config",)),
    Place("audit", "Audit", "7", "screens.pages.audit", "AuditScreen", ("decided",)),
)

PLACES: Final = {place.name: place for place in _ALL}
"""By name, in the order of their keys."""

HOME: Final = "inbox"
