"""The session of a console, from its first frame to its end: opened, shown, told of what is new, closed.

Only Textual is imported before the first frame. The screens, and the runtime's vocabulary behind them, come when the
terminal already shows something; so does the runtime itself, where one has to be started.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.app.messages import show_message
from console.terminal.patched_app import PatchedApp
from runtime.service.gc_policy import GcPolicy

if TYPE_CHECKING:
    from console.app.notifications import NoticeBell
    from console.preferences.schema import Preferences
    from runtime.judgement.reports.notices import NoticeRules
    from runtime.record.state.durable_run import DurableRun
    from screens.shell.context import ConsoleContext, DigestNotice
    from screens.views.lists.settings import Setting

COLLECT_CHECK_S = 1.0
NOTICE_S = 1.0
"""How long the end of the console waits for the runtime to note that an operator looked."""


class ConsoleSession:
    """Owned by the app, whose methods call it.

    Args:
        app: Shows it.
        preferences: What the operator prefers, by now.
        settings: What the page of settings shows.
        title: The title of the terminal; empty where it keeps its own.
        at_terminal: Whether it is shown in a terminal, which it may write to.
        made: Its context; or what makes that, called in a thread once the first frame stands.
        at_once: What makes the context takes no time, and nothing is painted before it.
        digest: The operator is told what happened since they looked the last time, and that they look now is noted.
        gc_policy: When garbage is collected.
        show: Shows the first screen.
    """

    def __init__(
        self,
        app: PatchedApp,
        made: ConsoleContext | Callable[[], ConsoleContext],
        *,
        preferences: Callable[[], Preferences],
        settings: Callable[[], Sequence[Setting]],
        title: str,
        at_terminal: bool,
        at_once: bool,
        digest: bool,
        gc_policy: GcPolicy,
        show: Callable[[], None],
    ) -> None:
        self.failure: Exception | None = None
        """What kept it from opening."""
        self.gc_policy = gc_policy
        self._app = app
        self._preferences = preferences
        self._settings = settings
        self._title = title
        self._at_terminal = at_terminal
        self._made = made
        self._at_once = at_once
        self._digest = digest
        self._show_first = show
        self._bell: NoticeBell | None = None

    @property
    def context(self) -> ConsoleContext:
        """What screens are given; only once it is open."""
        assert not callable(self._made)
        return self._made

    def begin(self) -> None:
        """Open it, and show the first screen."""
        app = self._app
        if self._at_terminal:
            app.set_interval(COLLECT_CHECK_S, self.gc_policy.collect_if_due)
        if not callable(self._made):
            self._show()
        elif self._at_once:
            app.call_next(self._open_at_once)
        else:
            app.call_after_refresh(self._open)

    async def _open_at_once(self) -> None:
        with self._app.batch_update():  # the first frame is the first screen's
            await self._open()

    async def _open(self) -> None:
        assert callable(self._made)
        try:
            self._made = self._made() if self._at_once else await asyncio.to_thread(self._made)
            from console.app.startup import (
                attach_console,  # knows the runtime's words, which the session has just loaded
            )

            await attach_console(self._made.link, "screens.pages.inbox")
        except Exception as exc:
            self.failure = exc
            self._app.exit(return_code=1)
        else:
            self._show()
        finally:
            self.gc_policy.loaded()

    def _show(self) -> None:
        from runtime.link.client.client import LinkClient
        from runtime.link.client.multi_client import MultiClient

        preferences = self._preferences()
        keys = preferences.keymap.words() if preferences.keymap is not None else self.context.keys
        guide = _tour_text if preferences.guide else None
        self._made = replace(self.context, settings=self._settings, keys=keys, guide=guide)
        link = self.context.link
        self._show_first()
        if isinstance(link, LinkClient | MultiClient):
            link.start()
        load = self._load_rest
        self._app.call_after_refresh(lambda: self._app.run_worker(load(), group="load", exit_on_error=False))

    async def _load_rest(self) -> None:
        """The first screen stands: load what it did without, while keys are answered already."""
        from screens.shell.background_load import load_in_background

        await load_in_background(partial(import_module, "console.app.notifications"))
        self._listen()
        await load_in_background(partial(import_module, "screens.pages.run"))

    def _listen(self) -> None:
        """From now on tell of decisions that were not there."""
        from console.app.notifications import NoticeBell

        app, preferences = self._app, self._preferences()
        self._bell = NoticeBell(app, write=app.write_terminal if self._at_terminal else None, title=self._title)
        self._bell.begin(self.context.link, preferences.notices)
        for line in preferences.unknown:
            show_message(app, line, "warning")
        if self._digest:
            app.run_worker(self._tell_digest(), group="digest", exit_on_error=False)
        if self._at_terminal:
            self.gc_policy.begin()

    async def _tell_digest(self) -> None:
        """Once there is a runtime to ask."""
        from console.app.digest import show_digest

        def tell(found: DigestNotice) -> None:
            self.context.away.line, self.context.away.sentences = found.line, found.sentences
            show_message(self._app, f"{found.line}  (:digest has all of it)", "info")

        await show_digest(self.context.link, self.context.clock, tell)

    def apply(self, preferences: Preferences, rules: NoticeRules) -> None:
        """From now on these preferences hold."""
        keymap = preferences.keymap
        self.context.name_keys(
            keymap.words() if keymap is not None else {}, keymap.letters() if keymap is not None else None
        )
        self.context.hold.seconds = preferences.undo_seconds
        if self._bell is not None:
            self._bell.set_rules(rules)

    async def close(self, *, left: bool) -> None:
        """End it. `left`: the operator left; who is killed or loses the terminal has sent nothing."""
        if callable(self._made):
            return
        link = self._made.link
        if left:
            with suppress(TimeoutError):
                async with asyncio.timeout(NOTICE_S):
                    await self._made.hold.send_now()
        if self._digest:
            from console.app.digest import record_look
            from runtime.link.client.client import LinkError

            with suppress(LinkError, TimeoutError):
                async with asyncio.timeout(NOTICE_S):
                    await record_look(link)
        await link.close()


def _tour_text(run: DurableRun, incident_id: str) -> str:
    from console.demo.tour import tour_text  # with the first run that is shown

    return tour_text(run, incident_id)
