"""`dial-stdio`: a byte pump to this workspace's runtime, for a console on another machine. Imports nothing heavy."""

from __future__ import annotations

import os
import sys

import click

from console.workspace import workspace
from runtime.link.transports.dial_stdio import dial_stdio as pump
from runtime.record.state.operator_terms import Role


@click.command(name="dial-stdio")
@click.option("--viewer", is_flag=True, help="Look only, without acts.")
@click.option("--as", "name", metavar="NAME", help="Who is at the far end, for the audit.")
@click.option("--start", is_flag=True, help="Start a runtime if none works here.")
@click.option("--state", metavar="DIR", help="Where the workspace keeps its state.")
def dial_stdio(*, viewer: bool, name: str | None, start: bool, state: str | None) -> None:
    """Connect stdin and stdout to this workspace's runtime; what `--host` runs over ssh. Exit 69: no runtime."""
    if name is not None and not name.strip():  # else the caller could choose one
        raise click.UsageError("--as needs a name, for example --as anna")
    if state is not None:
        os.environ["ORBITER_STATE"] = os.path.abspath(state)  # noqa: PTH100 - pathlib costs start-up time
    place = workspace()
    role: Role = "viewer" if viewer else "operator"
    sys.exit(pump(place.state, role=role, name=name or "", start_in=place.root if start else None))
