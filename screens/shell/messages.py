"""Messages from screens to the app: open a screen, copy, export.

They are not dataclasses: these are made before the first frame, and each costs ten times as much to make.
"""

from __future__ import annotations

from textual.message import Message


class OpenRun(Message):
    """Show a run; at an incident of it, if one is named."""

    def __init__(self, run_id: str, incident_id: str = "") -> None:
        super().__init__()
        self.run_id = run_id
        self.incident_id = incident_id


class OpenPlace(Message):
    """Show one of the places of `screens.base.screen_registry`.

    `run_id` for those that can be about one run, as the log.
    """

    def __init__(self, name: str, run_id: str = "") -> None:
        super().__init__()
        self.name = name
        self.run_id = run_id


class OpenComparison(Message):
    """Show where two runs differ: `left` is the earlier one, or the origin of a fork."""

    def __init__(self, left: str, right: str) -> None:
        super().__init__()
        self.left = left
        self.right = right


class OpenHome(Message):
    """Back to where this was opened from: from a run to the place, from a place to what was shown before it."""


class GoStep(Message):
    """Back (-1) or forward (1) among the screens that were shown."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


class CopyText(Message):
    """Put a text on the clipboard; into a file of this `name` where that cannot be. `what` says what it is."""

    def __init__(self, text: str, what: str, name: str) -> None:
        super().__init__()
        self.text = text
        self.what = what
        self.name = name


class ExportText(Message):
    """Write a text to a file whose name ends so."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__()
        self.text = text
        self.name = name


class ExportReport(Message):
    """Write the HTML report of a run to a file; `export` is the text of its export."""

    def __init__(self, run_id: str, export: str) -> None:
        super().__init__()
        self.run_id = run_id
        self.export = export


class TakePicture(Message):
    """Write a picture of the screen to a file."""


class BeginHere(Message):
    """Offer to write what a first run in the console's directory needs."""


class EditSettings(Message):
    """Open the file that a setting stands in (``FILE:LINE``; the directory's own for others), and read it again."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source


class ReadSettings(Message):
    """Read the files of settings again."""


class ChooseTheme(Message):
    """Show a theme from now on, and the next time too."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
