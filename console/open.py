"""The console on a workspace: the way to its runtime, and the app on it.

Textual reads its settings when it is imported; so they are set here, and it is imported only after that.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from console.output import note
from console.workspace import Workspace
from runtime.link.client import LinkClient
from runtime.link.embedded import Embedded
from runtime.link.serve import conditions, program
from runtime.link.transport import Transport, local_transport
from runtime.record.state import RUN_TERMINAL

if TYPE_CHECKING:
    from console.app import OrbiterApp

_TEXTUAL = {
    "TEXTUAL_ANIMATIONS": "none",  # a scroll that glides sends ten frames for one
    "TEXTUAL_SMOOTH_SCROLL": "0",
    "ESCDELAY": "50",
}
_SLOW_LINE = {"TEXTUAL_FPS": "15"}


def open_console(
    place: Workspace,
    *,
    embedded: bool = False,
    run_id: str = "",
    mouse: bool | None = None,
    settings: Mapping[str, Any] | None = None,
) -> int:
    """Open the console and return its exit code when it is closed.

    A runtime in the background is started where none is there, and goes on afterwards; with `embedded` the runtime
    lives in this process and its runs stand still until the next one. `mouse` is off by default over SSH, where a
    terminal that is attached again sends reports that nobody asked for. `settings` as `runtime.link.serve` takes them.

    Raises:
        Unreachable: the runtime did not come up; with the last lines of its log.
        Locked: embedded, and another process drives this workspace.
        BadSetting: a setting that is not known, or a value that it cannot have.
    """
    given = dict(settings or {})
    if embedded:
        with Embedded(place.state, conditions(place.root, given)) as runtime:
            return _run(runtime.transport(), run_id=run_id, mouse=mouse)

    transport = local_transport(place.state, workspace=place.root, settings=given)
    asyncio.run(transport.revive())
    return _run(transport, run_id=run_id, mouse=mouse, goes_on=True)


def _run(transport: Transport, *, run_id: str, mouse: bool | None, goes_on: bool = False) -> int:
    over_ssh = bool(os.environ.get("SSH_CONNECTION"))
    for name, value in {**_TEXTUAL, **(_SLOW_LINE if over_ssh else {})}.items():
        os.environ.setdefault(name, value)
    from console.app import OrbiterApp  # after the settings that Textual reads on import
    from screens.glyphs import ASCII, UNICODE
    from screens.link import Session

    client = LinkClient(transport, program=program())
    glyphs = UNICODE if "utf" in (sys.stdout.encoding or "").lower() else ASCII
    app = OrbiterApp(Session(client, glyphs=glyphs), run_id=run_id)
    app.run(mouse=not over_ssh if mouse is None else mouse)
    if goes_on:
        _say_what_goes_on(client, app)
    return app.return_code or 0


def _say_what_goes_on(client: LinkClient, app: OrbiterApp) -> None:
    """The console is closed, the runs are not: say so where the shell's prompt will be."""
    if app.return_code:
        return
    going = sum(found.state not in RUN_TERMINAL for found in client.summaries.values())
    if going:
        note(f"{going} {'run goes' if going == 1 else 'runs go'} on; orbiter-console shows them again")
