"""The launch of a runtime in the background: a session of its own, stdin from /dev/null, output to a log file.

It says on a pipe that its sockets are open; the pipe closes if it dies before.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from runtime.daemon.errors import DaemonError
from runtime.daemon.log_file import last_lines

_BOOT_CODE = """
import gc, os, sys
if sys.version_info < (3, 11):
    sys.exit("%s is Python %d.%d; orbiter-console needs 3.11 or newer there: name another one in the setting 'python'"
             % (sys.executable, sys.version_info[0], sys.version_info[1]))
if os.fork():
    os._exit(0)
try:
    gc.disable()  # what is imported stays: a search for garbage in it takes a part of the start
    from runtime.service.serve import main
    gc.freeze()
    gc.enable()
except ModuleNotFoundError as exc:
    sys.exit("%s cannot run orbiter-console (%s). This helps: %s -m pip install orbiter-console"
             % (sys.executable, exc, sys.executable))
sys.exit(main())
"""

_ERROR_LINE = re.compile(r"[\d-]+ [\d:,]+ ERROR [\w.]+: (.+)")
"""A log of one line: what kept the runtime from coming up, in a sentence."""


def launch(interpreter: Path, arguments: list[str], root: Path, output: int, until: float) -> dict[str, Any] | None:
    """Start a runtime with its log on `output`; what it says when it is ready, None if it died or is late.

    Args:
        interpreter: The Python that it works under.
        arguments: For `runtime.service.serve`.
        root: The directory that it works in.
        output: The file descriptor that it writes to.
        until: When it is late, by `time.monotonic`.

    Raises:
        DaemonError: the interpreter cannot be started.
    """
    ready, its_end = os.pipe()
    try:
        try:
            # -c must not find the workspace's modules before ours: a swarm's `runtime.py` would be taken for us.
            environment = {**os.environ, "PYTHONSAFEPATH": "1"}
            with subprocess.Popen(  # noqa: S603 - the user's own interpreter
                [str(interpreter), "-c", _BOOT_CODE, *arguments, "--ready-fd", str(its_end)],
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=(its_end,),
                env=environment,
            ):
                pass  # it forks and ends at once; the runtime is not our child
        except OSError as exc:
            raise DaemonError(f"cannot start {interpreter}: {exc.strerror or exc}") from exc
        finally:
            os.close(its_end)
        return _read_ready_line(ready, until)
    finally:
        os.close(ready)


def _read_ready_line(descriptor: int, until: float) -> dict[str, Any] | None:
    read = b""
    while not read.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return None
        data = os.read(descriptor, 4096)
        if not data:
            return None
        read += data
    said = json.loads(read)
    return said if isinstance(said, dict) else None


def _is_full(place: Path) -> bool:
    """Whether the disk has no room left. Some file systems do not say how much they have: all their figures are 0."""
    with suppress(OSError):
        disk = shutil.disk_usage(place)
        return disk.total > 0 and not disk.free
    return False


def start_failure(log: Path, begin: int, reason: str) -> str:
    """Why no runtime came up: `reason`, if there is one, and what its log has from `begin` on."""
    fresh = log.exists() and log.stat().st_size > begin
    end = last_lines(log, since=begin) if fresh else ""
    words = [reason or "the runtime ended before it was ready"]
    said = _ERROR_LINE.fullmatch(end)
    if said is not None and not reason:
        words = [f"no runtime can work here: {said[1]}"]
    elif end:
        words.append(f"its log ({log}) ends with:\n{end}")
    elif _is_full(log.parent):
        words.append(f"the disk of {log.parent} is full: free space, then try again")
    else:
        words.append(f"it wrote nothing to its log ({log})")
    return ": ".join(words)
