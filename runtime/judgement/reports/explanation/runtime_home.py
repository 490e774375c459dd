"""Where a runtime has its keys from, and how it is started again: what a front end knows, and no event tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from runtime.judgement.reports.explanation.sentence import Fact
from runtime.judgement.reports.narration import Foreign

_PATH_CHARS: Final = 120


class RuntimeHome(Struct, frozen=True):
    """The runtime that a front end is connected to.

    Attributes:
        embedded: it lives in the process of the front end, and ends with it.
        env_file: the file that it reads variables from; empty where none is set.
        host: the host that it is on; empty: this machine.
    """

    embedded: bool = False
    env_file: str = ""
    host: str = ""


HomeSource = Callable[[], RuntimeHome | None]
"""Asked only where a sentence needs it; None: not known."""


def home_fact(name: str, home: RuntimeHome | None, events: tuple[int, ...]) -> Fact | None:
    """``key_place`` (``/srv/.env``) or ``restart`` (what has to be typed); None where the runtime is not known.

    Args:
        name: one of the two.
        home: the runtime.
        events: the events behind the incident.
    """
    if home is None:
        return None
    if name == "key_place":
        if home.env_file:
            return ((Foreign(home.env_file, _PATH_CHARS),), events)
        shell = "the environment of this console" if home.embedded else "the environment that it is started in"
        return ((shell,), events)
    if home.embedded:
        return (("quit this console and open it again",), events)
    there = ("on ", Foreign(home.host, _PATH_CHARS), ", ") if home.host else ("in a second terminal, ",)
    return ((*there, "orbiter-console stop, then orbiter-console serve"), events)


HOME_FACTS: Final = ("key_place", "restart")
"""The names that templates have for them."""
