"""What screens ask of the app: to show another screen."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass
class OpenRun(Message):
    """Show a run; at an incident of it, if one is named."""

    run_id: str
    incident_id: str = ""


@dataclass
class OpenHome(Message):
    """Back to the list of what needs a decision."""
