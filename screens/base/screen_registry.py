"""The registry of screens that have a digit for a key. Each is imported when it is first shown."""

from __future__ import annotations

from typing import Final, NamedTuple


class ScreenEntry(NamedTuple):
    """One place: the name that `OpenPlace` and `:` use, its title, its key, and the class of its screen."""

    name: str
    title: str
    key: str
    module: str
    screen: str
    aliases: tuple[str, ...] = ()


_ENTRIES: Final = (
    ScreenEntry("inbox", "Inbox", "1", "screens.pages.inbox", "InboxScreen", ("home", "decisions", "incidents")),
    ScreenEntry("swarms", "Runs", "2", "screens.pages.swarms", "SwarmsScreen", ("runs",)),
    ScreenEntry("permissions", "Permissions", "3", "screens.pages.grants", "GrantsScreen", ("grants", "ledger")),
    ScreenEntry("limits", "Limits", "4", "screens.pages.limits", "LimitsScreen", ("breakers", "budgets")),
    ScreenEntry("log", "Log", "5", "screens.pages.log", "LogScreen", ("logs", "events")),
    ScreenEntry("settings", "Settings", "6", "screens.pages.settings", "SettingsScreen", ("config",)),
    ScreenEntry("audit", "Audit", "7", "screens.pages.audit", "AuditScreen", ("decided",)),
    ScreenEntry("workers", "Workers", "8", "screens.pages.workers", "WorkersScreen", ("machines",)),
)

SCREENS: Final = {place.name: place for place in _ENTRIES}
"""By name, in the order of their keys."""

HOME_SCREEN: Final = "inbox"
