"""Opens the console on a workspace: attaches to its runtime or starts one, and runs the app.

Textual reads its settings when it is imported; so they are set here, and it is imported only after that. The runtime
is looked for, or started, when the first frame is painted: a person sees at once that something happens.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from console.output import print_note, supports_unicode
from console.preferences.schema import Preferences, mouse_by_default
from console.workspace import Workspace, workspace
from runtime.judgement.recovery.option_table import option_keys
from runtime.service.gc_policy import GcPolicy
from screens.shell import streams
from themes.choice import DEFAULT_THEME

if TYPE_CHECKING:
    from runtime.judgement.reports.explanation.runtime_home import HomeSource, RuntimeHome
    from runtime.link.client.client import LinkClient
    from runtime.link.transports.transport import Transport
    from screens.shell.context import ConsoleContext, Link

TEXTUAL_SETTINGS = {
    "TEXTUAL_ANIMATIONS": "none",  # a scroll that glides sends ten frames for one
    "TEXTUAL_SMOOTH_SCROLL": "0",
    "ESCDELAY": "50",  # milliseconds until Escape alone is a key
    "TEXTUAL_FPS": "500",  # a key waits up to two frames after another paint; what changes by itself has its own pace
}
"""What Textual reads from the environment when it is imported."""
_SLOW_LINE = {"TEXTUAL_FPS": "15", "ESCDELAY": "100"}
"""Over ssh the rest of a sequence may come later than its beginning: what is left of it would count as keys."""


def open_console(
    place: Workspace,
    *,
    embedded: bool = False,
    run_id: str = "",
    mouse: bool | None = None,
    theme: str = DEFAULT_THEME,
    preferences: Preferences | None = None,
    settings: Mapping[str, Any] | None = None,
) -> int:
    """Open the console and return its exit code when it is closed.

    A runtime in the background is started where none is there, and goes on afterwards; with `embedded` the runtime
    lives in this process and its runs stand still until the next one. `mouse` goes over the operator's `preferences`,
    as those go over `console.preferences.schema.mouse_by_default`. `theme` is one of
    `themes.catalog.ThemeCatalog`'s. `settings` as `runtime.service.serve` takes them.

    Raises:
        Unreachable: the runtime did not come up; with the last lines of its log.
        Locked: embedded, and another process drives this workspace.
        ThemeError: there is no such theme, or its file cannot be used.
        InvalidConfiguration: a setting that is not known, or a value that it cannot have.
    """
    given = dict(settings or {})
    with ExitStack() as stack:

        def in_here() -> Link:
            from runtime.service.embedded import EmbeddedRuntime
            from runtime.service.serve import build_execution_config

            return make_client(
                stack.enter_context(EmbeddedRuntime(place.state, build_execution_config(place.root, given))).transport()
            )

        from runtime.link.transports.transport import local_transport

        transport = local_transport(place.state, workspace=place.root, settings=given)
        there = not embedded and transport.call_ahead()

        def in_background() -> Link:
            if not there:
                asyncio.run(transport.revive())
            return make_client(transport)

        if embedded or streams.are_own():  # a demo has imported user code here already
            from console.output_capture import capture_output

            stack.enter_context(capture_output(_to_log(place)))
        return run_app(
            in_here if embedded else in_background,
            at_once=there,
            run_id=run_id,
            mouse=mouse,
            theme=theme,
            preferences=preferences,
            goes_on=not embedded,
            home=lambda: _home_of(place, embedded=embedded),
        )


def _home_of(place: Workspace, *, embedded: bool) -> RuntimeHome:
    """The runtime of a workspace: how it is started again, and the file that it has its keys from."""
    from runtime.config.loader import InvalidConfiguration, load_configuration
    from runtime.judgement.reports.explanation.runtime_home import RuntimeHome

    try:
        named = load_configuration(place.root).settings.runtime.env_file
    except InvalidConfiguration:
        named = ""  # the page of settings says what is wrong with it
    return RuntimeHome(embedded=embedded, env_file=str(place.root / Path(named).expanduser()) if named else "")


def _to_log(place: Workspace) -> Callable[[str], None]:
    """What user code prints beside the console, for the log that a runtime in the background would write."""
    from console.embedded import log_line

    return partial(log_line, place)


def make_client(transport: Transport, host: str = "") -> LinkClient:
    """A console's end of the link on a way to a runtime; `host` is what it is called, if it is elsewhere."""
    from runtime.link.client.client import LinkClient

    return LinkClient(transport, host=host)


def run_app(
    way: Callable[[], Link],
    *,
    run_id: str = "",
    mouse: bool | None = None,
    theme: str = DEFAULT_THEME,
    preferences: Preferences | None = None,
    goes_on: bool = True,
    opening: str = "looking for the runtime of this workspace",
    at_once: bool = False,
    who_may: str = "",
    home: HomeSource | None = None,
) -> int:
    """Run the app on the link that `way` gives, which is called when the first frame stands; the exit code.

    `at_once`: `way` takes no time, and the first frame is that of the first screen. `goes_on`: the runs outlive the
    console; else they share its process. `who_may`: what is said where one may only look, if not how to log in as one
    who may act. `home`: where the runtime has its keys from. Raises what `way` does.
    """
    preferred = preferences or Preferences()
    gc_policy = GcPolicy(enabled=goes_on if preferred.idle_gc is None else preferred.idle_gc)
    gc_policy.loading()
    over_ssh = bool(os.environ.get("SSH_CONNECTION"))
    for name, value in {**TEXTUAL_SETTINGS, **(_SLOW_LINE if over_ssh else {})}.items():
        os.environ.setdefault(name, value)
    from console.app.app import OrbiterApp  # after the settings that Textual reads on import
    from console.log_file import LOG_NAME, log_to
    from screens.shell.frame_rate import FrameRateGovernor

    unicode = supports_unicode()  # asked now: Textual takes stdout for itself

    def session() -> ConsoleContext:
        from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
        from screens.shell.answer_hold import AnswerHold
        from screens.shell.context import ConsoleContext

        glyphs = UNICODE_GLYPHS if unicode else ASCII_GLYPHS
        letters = preferred.keymap.letters() if preferred.keymap is not None else option_keys()
        hold = AnswerHold(preferred.undo_seconds)
        made = ConsoleContext(way(), glyphs=glyphs, governor=governor, letters=letters, hold=hold, runtime_home=home)
        return replace(made, who_may=who_may) if who_may else made

    governor = FrameRateGovernor()
    app = OrbiterApp(
        session,
        theme=theme,
        shelf=workspace().themes(os.environ),
        ascii_only=not unicode,
        run_id=run_id,
        opening=opening,
        governor=governor,
        preferences=preferred,
        gc_policy=gc_policy,
        digest=True,
        at_once=at_once,
    )
    wanted = preferred.mouse if mouse is None else mouse
    app.mouse = mouse_by_default(os.environ) if wanted is None else wanted
    written = log_to(workspace().state / LOG_NAME)
    app.errors.log_file = str(written.path)
    if streams.are_own():  # what user code prints has a place of its own; Textual would drop it
        vars(app).update(_capture_stdout=sys.stdout, _capture_stderr=sys.stderr)
    try:
        app.run(mouse=app.mouse)
    except Exception as exc:  # the terminal is given back already, or never was taken
        logging.getLogger(__name__).exception("the console failed")
        app.errors.broke = app.errors.broke or f"{type(exc).__name__}: {exc}"
    if app.failure is not None:
        raise app.failure
    if app.errors.broke:
        then = "The runs go on; orbiter-console shows them again" if goes_on else "Its runs wait for the next one"
        why = f"The console failed and had to close: {app.errors.broke}. {then}."
        print_note(f"{why} Please report it: {written.path} has all of it.")
        return app.return_code or 1
    if goes_on and not app.return_code:
        _print_ongoing(app.session)
    return app.return_code or 0


def _print_ongoing(session: ConsoleContext) -> None:
    """The console is closed, the runs are not: say so where the shell's prompt will be."""
    from runtime.record.state.durable_run import RUN_TERMINAL

    going = sum(found.state not in RUN_TERMINAL for found in session.link.summaries.values())
    if going:
        context = session.render_context()
        what = "it" if going == 1 and not context.partial else "them"
        print_note(f"{context.counted(going, 'run goes on', 'runs go on')}; orbiter-console shows {what} again")
