"""The process that drives a drill: it may be killed, and another one goes on. It ends when its stdin does.

Run as a program: ``python -m runtime.testing.drills.drive_drill STATE FILE GRACE``, in the workspace's directory.
"""

from __future__ import annotations

import sys
from pathlib import Path

from runtime.config.loader import load_configuration, load_env_file
from runtime.testing.drills.call_log import CallLog
from runtime.testing.drills.drill_file import read_drill
from runtime.testing.drills.injected_faults import drilled
from runtime.worker.driving_thread import DrivingThread

LOG_FILE = "calls.jsonl"
"""The log of calls, in the state directory of the drill."""


def main(state: str, file: str, grace_s: str) -> None:
    """Drive the runs of a state directory, with the faults of a drill, until stdin ends."""
    configured = load_configuration(Path.cwd())
    load_env_file(configured)
    config = configured.execution_config(grace_s=float(grace_s))
    config = drilled(config, read_drill(Path(file)), CallLog(Path(state) / LOG_FILE))
    driving = DrivingThread(Path(state), config, program="orbiter-console run --drill")
    driving.start()
    try:
        sys.stdin.buffer.read()
    finally:
        driving.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
