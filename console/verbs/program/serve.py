"""`serve` and `stop`: the workspace's runtime without a console."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import click

from console.output import print_json, print_line, print_note, print_raw
from console.output_capture import capture_output, give_streams_back
from console.verbs.base import BadInput, make_state, verb
from console.workspace import Workspace, workspace
from runtime.config.environment import InvalidEnvironment, find_interpreter, read_env_file
from runtime.config.loader import load_configuration
from runtime.daemon import daemon
from runtime.daemon.errors import DaemonError
from runtime.service.serve import build_execution_config, exec_program
from runtime.service.serve import serve as carry_on


@verb()
@click.option("--foreground", is_flag=True, help="Run in the foreground, and report on stderr what happens.")
@click.option("--grace", type=click.FloatRange(0), metavar="SECONDS", help="Instead of the configured grace_s (60).")
@click.option("--unit", is_flag=True, help="Print a systemd user unit for this workspace, and start nothing.")
@click.option("--python", default="", metavar="PATH", help="The interpreter that runs the swarms, in the background.")
@click.option("--env-file", metavar="FILE", help="A file with variables for the runtime, one NAME=value per line.")
async def serve(
    *, foreground: bool, grace: float | None, unit: bool, python: str, env_file: str | None, as_json: bool
) -> int:
    """Start this workspace's runtime in the background. It drives the runs and serves the consoles until it is stopped.

    A run that only waits is unloaded from memory after --grace seconds, and loaded again when it is answered.
    """
    place = workspace()
    file, variables = _read_variables(place, env_file)
    if unit:
        try:
            print_raw(_systemd_unit(place, python, file))
        except ValueError as exc:
            raise BadInput(f"a unit for {place.root} cannot be printed as it is: {exc}") from exc
        return 0
    make_state(place.state)
    given = {} if grace is None else {"grace_s": grace}
    try:
        if foreground:
            what = f"driving the runs of {place.state}; ctrl+c stops, and every run stays as it is"
            environ = dict(os.environ)
            os.environ.update({name: each for name, each in variables.items() if name not in environ})
            with capture_output():
                changed = await carry_on(
                    place.state, build_execution_config(place.root, given), lambda: print_note(what), outlive=False
                )
            if changed:
                print_note("another program is installed: going on as that one")
                give_streams_back()
                exec_program(sys.orig_argv[1:], environ)
            print_note("stopped")
            return 0
        found = await asyncio.to_thread(
            daemon.ensure_runtime,
            place.state,
            workspace=place.root,
            python=python,
            env_file=file,
            settings=given,
        )
    except InvalidEnvironment as exc:
        raise BadInput(str(exc)) from exc
    except DaemonError:
        load_configuration(place.root)  # a mistake in it is bad input, with words of its own
        raise
    if as_json:
        print_json({"pid": found.pid, "program": found.program, "state": "started" if found.started else "running"})
    else:
        print_line(f"{'started' if found.started else 'running already'}: {found.program}, pid {found.pid}")
    return 0


def _read_variables(place: Workspace, env_file: str | None) -> tuple[Path | None, dict[str, str]]:
    """The file that `--env-file` names, and what is in it. It is read before anything begins.

    Raises:
        BadInput: it cannot be used.
    """
    if env_file is None:
        return None, {}
    try:
        file = place.root / Path(env_file).expanduser()
        return file, read_env_file(file)
    except (InvalidEnvironment, RuntimeError) as exc:  # RuntimeError: the home directory of ~name is not known
        raise BadInput(f"--env-file: {exc}") from exc


def _systemd_unit(place: Workspace, python: str, env_file: Path | None) -> str:
    """A unit for ``systemctl --user``: it starts with the login, with lingering without one (systemd.service(5))."""
    chosen = find_interpreter(place.root, python)
    command = [str(chosen), "-m", "console", "--state", str(place.state), "serve", "--foreground"]
    quoted = " ".join(f'"{_escape(word)}"' for word in command)
    keys = f'EnvironmentFile="{_escape(str(env_file.resolve()))}"\n' if env_file else ""
    return (
        "# systemctl --user enable --now orbiter-console.service, after saving this as\n"
        "# ~/.config/systemd/user/orbiter-console.service; loginctl enable-linger keeps it without a login.\n"
        "[Unit]\n"
        f"Description=Orbiter Console runtime of {_escape(str(place.root))}\n\n"
        "[Service]\n"
        f"WorkingDirectory={_escape(str(place.root))}\n{keys}ExecStart={quoted}\n"
        "Restart=on-failure\nKillSignal=SIGTERM\nTimeoutStopSec=30\n\n"
        "[Install]\nWantedBy=default.target\n"
    )


def _escape(text: str) -> str:
    # A percent sign begins a specifier in a unit, a dollar sign a variable.
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")


@verb()
async def stop(*, as_json: bool) -> int:
    """Stop this workspace's runtime. Its runs are kept, and continue when a runtime is started again."""
    place = workspace()
    stopped = await asyncio.to_thread(daemon.stop, place.state)
    if as_json:
        print_json({"state": "stopped" if stopped else "absent"})
    else:
        print_line("stopped" if stopped else f"no runtime works on {place.state}")
    return 0
