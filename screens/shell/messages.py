"""Messages from screens to the app: open a screen, copy, export.

Messages are not compared: without `eq` and `repr` their classes, which are made before the first frame, take a third of
the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass(eq=False, repr=False)
class OpenRun(Message):
    """Show a run; at an incident of it, if one is named."""

    run_id: str
    incident_id: str = ""


@dataclass(eq=False, repr=False)
class OpenPlace(Message):
    """Show one of the places of `screens.base.screen_registry`.

    `run_id` for those that can be about one run, as the log.
    """

    name: str
    run_id: str = ""


@dataclass(eq=False, repr=False)
class OpenComparison(Message):
    """Show where two runs differ: `left` is the earlier one, or the origin of a fork."""

    left: str
    right: str


@dataclass(eq=False, repr=False)
class OpenHome(Message):
    """Back to where this was opened from: from a run to the place, from a place to what was shown before it."""


@dataclass(eq=False, repr=False)
class GoStep(Message):
    """Back (-1) or forward (1) among the screens that were shown."""

    step: int


@dataclass(eq=False, repr=False)
class CopyText(Message):
    """Put a text on the clipboard; into a file of this `name` where that cannot be. `what` says what it is."""

    text: str
    what: str
    name: str


@dataclass(eq=False, repr=False)
class ExportText(Message):
    """Write a text to a file whose name ends so."""

    text: str
    name: str


@dataclass(eq=False, repr=False)
class ExportReport(Message):
    """Write the HTML report of a run to a file; `export` is the text of its export."""

    run_id: str
    export: str


@dataclass(eq=False, repr=False)
class TakePicture(Message):
    """Write a picture of the screen to a file."""


@dataclass(eq=False, repr=False)
class BeginHere(Message):
    """Offer to write what a first run in the console's directory needs."""


@dataclass(eq=False, repr=False)
class EditSettings(Message):
    """Open the file that a setting stands in (``FILE:LINE``; the directory's own for others), and read it again."""

    source: str


@dataclass(eq=False, repr=False)
class ReadSettings(Message):
    """Read the files of settings again."""


@dataclass(eq=False, repr=False)
class ChooseTheme(Message):
    """Show a theme from now on, and the next time too."""

    name: str
