"""`drill init`, and what `run --drill` does: a run with faults on purpose, in a state directory of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Final

import click

from console.driver import Driver
from console.exit_codes import FAILED
from console.linear.operators import Operator
from console.output import print_json, print_line, print_note
from console.verbs.base import BadInput, open_for_reading, state_of, verb
from console.verbs.runs.run_common import WantedRun, exit_code, run_and_follow
from console.workspace import Workspace, workspace
from runtime.record.ids import new_id
from runtime.record.state.events import utc_now
from runtime.testing.drills.call_log import CallLog
from runtime.testing.drills.drill_account import DrillAccount, account_of
from runtime.testing.drills.drill_file import STARTER, Drill, InvalidDrill, read_drill
from runtime.testing.drills.drive_drill import LOG_FILE
from screens.render.sanitize import sanitize_line

_MOST_LIVES: Final = 100


@verb(json=False)
@click.argument("what", metavar="init", type=click.Choice(["init"]))
@click.argument("file", default="drills.toml", required=False)
async def drill(what: str, file: str) -> int:
    """Write an example file of faults, by default drills.toml. Use it with: run REF --drill FILE"""
    _write_starter(file)
    print_note(f"written: {file}; try it with: orbiter-console run REF INPUT --drill {file}")
    return 0


def _write_starter(path: str) -> None:
    try:
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(STARTER)
    except FileExistsError as exc:
        raise BadInput(f"{path} is there already: name another file, for example: drill init more-drills.toml") from exc
    except OSError as exc:
        raise BadInput(f"{path} cannot be written: {exc.strerror or exc}; give a file in a folder that exists") from exc


class DrillDriver(Driver):
    """Drives a drill's runs in another process, and in another one again where the drill kills it."""

    def __init__(self, place: Workspace, file: Path, *, grace_s: float) -> None:
        super().__init__()
        self._place = place
        self._file = file
        self._grace_s = grace_s
        self._process: asyncio.subprocess.Process | None = None

    async def _drive(self) -> None:
        for _ in range(_MOST_LIVES):
            with (self._place.state / "drill.log").open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "runtime.testing.drills.drive_drill",
                    str(self._place.state),
                    str(self._file),
                    str(self._grace_s),
                    cwd=self._place.root,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    # The workspace's modules must not be found before ours.
                    env={**os.environ, "PYTHONSAFEPATH": "1"},
                )
            code = await self._process.wait()
            if code != -signal.SIGKILL:
                raise BadInput(
                    f"the process of the drill ended with {code}: see {self._place.state / 'drill.log'}", code=FAILED
                )
        raise BadInput(f"the process of the drill was killed {_MOST_LIVES} times", code=FAILED)

    async def _stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._process.wait()


async def run_drill(wanted: WantedRun, file: str, *, as_json: bool, decider: type[Operator] | None) -> int:
    """Run a swarm with the faults of a file, and print the account of it.

    Raises:
        BadInput: the file cannot be used, or the process of the drill cannot go on.
    """
    path, faults = _read(file)
    place = _own_state()
    ended = await run_and_follow(
        wanted,
        as_json=as_json,
        decider=decider,
        driver=lambda where, grace_s: DrillDriver(where, path, grace_s=grace_s),
    )
    async with open_for_reading() as journal:
        assert journal is not None
        account = account_of(faults, await state_of(journal, ended.id), CallLog(place.state / LOG_FILE).read())
    if as_json:
        print_json(account.as_json())
    else:
        _print(account)
    return exit_code(ended) if account.sound else FAILED


def _read(file: str) -> tuple[Path, Drill]:
    path = Path(file).absolute()
    try:
        return path, read_drill(path)
    except InvalidDrill as exc:
        raise BadInput(sanitize_line(str(exc), limit=1_000)) from exc


def _own_state() -> Workspace:
    """A state directory for this drill alone: its kills end no other run, its grants and breakers are its own."""
    here = workspace()
    directory = here.state / "drills" / f"{utc_now():%y%m%d-%H%M%S}-{new_id(4)}"
    directory.mkdir(parents=True, mode=0o700)
    os.environ["ORBITER_STATE"] = str(directory)
    os.environ.pop("ORBITER_WORKSPACE", None)
    print_note(f"the drill has a state directory of its own: --state {os.path.relpath(directory)}")
    return workspace()


def _print(account: DrillAccount) -> None:
    print_line(f"\ndrill of run {account.run_id}: {account.state}")
    for title, entries, none in (
        ("happened", account.happened, "nothing"),
        ("did not come about", account.missed, ""),
        ("healed by itself", account.healed, "nothing"),
        ("asked a person", account.asked, "nothing"),
        ("lost", account.lost, "nothing"),
        ("doubled", account.doubled, "nothing"),
    ):
        if entries or none:
            print_line(f"  {title}: {none if not entries else len(entries)}")
        for entry in entries:
            print_line(f"    {sanitize_line(entry, limit=500)}", framed=True)
