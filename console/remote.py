"""The console on remote runtimes (`--host`): over the user's own ssh, one for each host.

Everybody who has to be asked something is asked before the app takes the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping

from console.open import make_client, run_app
from console.output import print_note
from console.preferences.schema import Preferences
from runtime.link.client.client import LinkClient
from runtime.link.client.multi_client import MultiClient
from runtime.link.transports.ssh import SshTransport
from runtime.link.transports.transport import Unreachable
from themes.choice import DEFAULT_THEME


def open_hosts(
    ways: Mapping[str, tuple[SshTransport, bool]],
    *,
    start: bool = False,
    mouse: bool | None = None,
    theme: str = DEFAULT_THEME,
    preferences: Preferences | None = None,
) -> int:
    """Open the console on the runtimes of other machines and return its exit code when it is closed.

    Args:
        ways: The way to each host by its name, and whether a runtime is to be started there if none works. Where none
            is, the console opens, says so, and offers a key.
        start: Start one on every host.
        mouse: As `console.open.open_console`.
        theme: As there.
        preferences: As there.

    Raises:
        Unreachable: none of the hosts can be reached; with the reason.
    """
    log_in(ways, start=start)
    clients = {name: make_client(way, name) for name, (way, _) in ways.items()}
    link: LinkClient | MultiClient = MultiClient(clients)
    if len(clients) == 1:
        (link,) = clients.values()
    return run_app(lambda: link, mouse=mouse, theme=theme, preferences=preferences, opening=", ".join(clients))


def log_in(ways: Mapping[str, tuple[SshTransport, bool]], *, start: bool) -> None:
    """Connect to each host while ssh may ask on the terminal. Raises `Unreachable` if no console is worth opening."""
    failed: list[Unreachable] = []
    for way, wanted in ways.values():
        try:
            way.login(start=start or wanted)
        except Unreachable as exc:
            if not exc.absent:
                failed.append(exc)
                if len(ways) > 1:
                    print_note(str(exc))
    if len(failed) == len(ways):
        raise Unreachable(str(failed[0]) if len(failed) == 1 else "none of the hosts can be reached")
