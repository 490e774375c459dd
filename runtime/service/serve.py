"""The process of a served runtime, in the background or the foreground."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from orbiter.errors import OrbiterError
from runtime.config.environment import InvalidEnvironment, read_env_file
from runtime.config.loader import load_configuration, load_env_file
from runtime.daemon.log_file import EscapedOutput, LogMask, RotatingLogHandler, log_path
from runtime.daemon.sockets import SocketError
from runtime.execution.execution_config import ExecutionConfig
from runtime.service.gc_policy import relaxed_gc
from runtime.service.late_modules import import_late_modules
from runtime.service.program_version import installed_fingerprint, program_version
from runtime.service.runtime import Runtime

log = logging.getLogger(__name__)

PROGRAM_CHECK_S = 3.0
"""How often, in seconds, it is looked whether another program is installed."""
LATE_IMPORT_S = 1.0
"""After how many seconds what is imported late is imported: when the first console has its first picture."""


def build_execution_config(workspace: Path, settings: Mapping[str, Any]) -> ExecutionConfig:
    """What drives are given: what is configured for the workspace, with `settings` over its section `[runtime]`.

    Raises:
        InvalidConfiguration: an `orbiter.toml`, a variable or a setting that cannot be used.
    """
    return load_configuration(workspace, over={"runtime": dict(settings)}).execution_config(program=program_version())


async def serve(state_dir: Path, given: ExecutionConfig, ready: Callable[[], None], *, outlive: bool) -> bool:
    """Drive and serve until SIGINT or SIGTERM, or until a console says stop. A second signal ends it at once.

    Also until another program is installed in place of this one: then, and only then, True is returned, and what
    called goes on as that one (see `exec_program`). Where a tool blocks the driving thread for good the process ends
    here, with status 0: the lock must not stay with it. With `outlive` a hang-up of the terminal ends nothing. `ready`
    is called when the sockets are open. Raises as `Runtime.start` and `Runtime.ended`.
    """
    loop = asyncio.get_running_loop()
    begun = await asyncio.to_thread(
        installed_fingerprint
    )  # before anybody is told that it works: what comes after is a change
    stopped = False  # also while the runs are being let go of for another program
    async with Runtime(state_dir, given) as runtime:
        ending = [signal.SIGINT, signal.SIGTERM] + ([] if outlive else [signal.SIGHUP])

        def stop() -> None:
            nonlocal stopped
            stopped = True
            runtime.stop()
            for number in ending:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)

        if outlive:
            loop.add_signal_handler(signal.SIGHUP, lambda: log.info("hang-up: going on"))
        for number in ending:
            loop.add_signal_handler(number, stop)
        with relaxed_gc():
            ready()
            changing = await _until_changed(runtime, begun)
            if changing:
                await runtime.drain()
        stopped = stopped or runtime.stopping
    if changing and not stopped:
        return True
    if runtime.has_stuck_thread:
        _exit_at_once()
    return False


async def _until_changed(runtime: Runtime, begun: str) -> bool:
    """True once the program has changed, False when the runtime is to end. Raises as `Runtime.ended`."""
    ended, changed = asyncio.create_task(runtime.wait_for_end()), asyncio.create_task(program_changed(begun))
    try:
        await asyncio.wait({ended, changed}, return_when=asyncio.FIRST_COMPLETED)
        if changed.done() and (failed := changed.exception()) is not None:
            log.error("a change of the program will not be noticed: %r", failed)
            await asyncio.wait({ended})
        if ended.done():
            await ended
            log.info("stopping: every run stays as it is")
            return False
        log.info(
            "another program is installed (%s): letting go of every run, then going on as that one", program_version()
        )
        return True
    finally:
        for task in (ended, changed):
            task.cancel()
        await asyncio.gather(ended, changed, return_exceptions=True)


async def program_changed(begun: str, every_s: float = PROGRAM_CHECK_S) -> None:
    """Return when another program than `begun` is installed. One that is not all there yet is waited for, one
    that cannot be loaded is named and left alone. From then on nothing of our own is imported: it would be the new
    program's.
    """
    await asyncio.sleep(min(every_s, LATE_IMPORT_S))
    try:
        await asyncio.to_thread(import_late_modules)
    except (ImportError, OSError, ValueError) as exc:
        log.warning("the program was replaced while it started: %s", exc)
    seen = begun
    while True:
        await asyncio.sleep(every_s)
        found = await asyncio.to_thread(installed_fingerprint)
        if found not in ("", begun) and found == seen:
            if await _new_program_loads():
                return
            begun = found
        seen = found


async def _new_program_loads() -> bool:
    command = [sys.executable, "-P", "-c", "import runtime.service.serve"]
    # On a thread: where the start of a process is cancelled asyncio may wait for ever (python/cpython#103847).
    trying = await asyncio.to_thread(subprocess.run, command, stdin=subprocess.DEVNULL, capture_output=True)
    if trying.returncode:
        why = trying.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        log.error(
            "another program is installed (%s) and cannot be loaded (%s): going on as before", program_version(), why
        )
    return not trying.returncode


def _exit_at_once() -> NoReturn:
    """End at once: threads that never come back would be waited for."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)


def exec_program(command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Go on as the program that is installed now, in this very process: its number stays what it was."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execve(sys.executable, [sys.executable, *command], dict(environ))  # noqa: S606 - ourselves


def main(arguments: list[str] | None = None) -> int:
    """The background runtime's process. Says one line of JSON on `--ready-fd` when it is there."""
    parser = argparse.ArgumentParser(prog="orbiter runtime", description=main.__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--env-file", type=Path)
    parser.add_argument("--settings", type=json.loads, default={})
    parser.add_argument("--ready-fd", type=int, help="of a pipe that the starting process reads")
    given = parser.parse_args(arguments)
    os.umask(0o077)
    os.environ.pop("PYTHONSAFEPATH", None)  # ours alone, not for the processes that tools start
    environ = dict(os.environ)
    if given.ready_fd is not None:
        os.set_inheritable(given.ready_fd, False)
    mask = LogMask()
    logging.basicConfig(level=logging.INFO, handlers=[RotatingLogHandler(log_path(given.state), mask)])
    sys.stdout, sys.stderr = EscapedOutput(1, mask), EscapedOutput(2, mask)  # in the log when a tool prints it

    def ready() -> None:
        log.info("%s: runtime of %s, pid %d", program_version(), given.workspace, os.getpid())
        if given.ready_fd is None:
            return
        with suppress(BrokenPipeError):  # the process that started us has gone
            os.write(given.ready_fd, json.dumps({"pid": os.getpid(), "program": program_version()}).encode() + b"\n")
        os.close(given.ready_fd)

    try:
        if given.env_file is not None:
            for name, value in read_env_file(given.env_file).items():
                os.environ.setdefault(name, value)
        configured = load_configuration(given.workspace)
        mask.patterns = configured.settings.redaction.patterns
        load_env_file(configured)
        changed = asyncio.run(
            serve(given.state, build_execution_config(given.workspace, given.settings), ready, outlive=True)
        )
    except (OrbiterError, SocketError, InvalidEnvironment) as exc:
        log.error("%s", exc)  # noqa: TRY400 - the message is for the person who started us, and says it all
        return 1
    except Exception:
        log.exception("the runtime ended with an error")
        return 1
    if changed:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it has a handler of its own again
        exec_program(["-P", "-m", "runtime.service.serve", *_to_arguments(given)], environ)
    log.info("stopped")
    return 0


def _to_arguments(given: argparse.Namespace) -> list[str]:
    words = ["--state", str(given.state), "--workspace", str(given.workspace)]
    if given.env_file is not None:
        words += ["--env-file", str(given.env_file)]
    return [*words, "--settings", json.dumps(given.settings)]


if __name__ == "__main__":
    sys.exit(main())
