"""The places of the console: screens with a digit for a key. Each is imported when it is first shown."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from screens.link import Session
    from screens.linked import LinkedScreen


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
    Place("inbox", "Inbox", "1", "screens.home", "HomeScreen", ("home", "decisions", "incidents")),
    Place("swarms", "Swarms", "2", "screens.swarms", "SwarmsScreen", ("runs",)),
    Place("permissions", "Permissions", "3", "screens.ledger", "LedgerScreen", ("grants", "ledger")),
    Place("limits", "Breakers and budgets", "4", "screens.limits", "LimitsScreen", ("breakers", "budgets")),
    Place("log", "Log", "5", "screens.log", "LogScreen", ("logs", "events")),
    Place("settings", "Settings", "6", "screens.settings", "SettingsScreen", ("config",)),
    Place("audit", "Audit", "7", "screens.audit", "AuditScreen", ("decided",)),
)

PLACES: Final = {place.name: place for place in _ALL}
"""By name, in the order of their keys."""

HOME: Final = "inbox"
