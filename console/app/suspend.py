"""Suspend and resume of the console: `ctrl+z` and `fg`. The runs go on, except for those of `--embedded`."""

from __future__ import annotations

import os

from textual.app import App
from textual.binding import Binding


class SuspendableApp(App[None]):
    """An app that can be stopped from a shell, and from nowhere else: nobody could let it go on."""

    BINDINGS = [Binding("ctrl+z", "suspend_process", "Back to the shell", show=False, system=True)]  # noqa: RUF012 - Textual's own

    def action_suspend_process(self) -> None:
        """Give the terminal to the shell."""
        if has_shell():
            super().action_suspend_process()
        else:
            self.no_shell()

    def no_shell(self) -> None:
        """Say that there is none."""
        raise NotImplementedError


def has_shell() -> bool:
    """Whether whoever started this program has job control: it is of our session, and gave us a group of our own."""
    parent = os.getppid()
    try:
        return os.getsid(parent) == os.getsid(0) and os.getpgid(parent) != os.getpgrp()
    except OSError:  # of another session, or gone
        return False
