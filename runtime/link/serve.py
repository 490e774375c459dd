"""The process of a background runtime, as `runtime.work.daemon` starts it; and the same in the foreground."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orbiter.errors import OrbiterError
from runtime.judgement.permission_policy import PermissionPolicy
from runtime.judgement.retry import RetryPolicy
from runtime.link.program import program
from runtime.link.runtime import Runtime
from runtime.work.conditions import Conditions
from runtime.work.configuration import load, take_env_file
from runtime.work.environment import UnusableEnvironment, read_env_file
from runtime.work.logfile import RotatingDescriptors, log_path
from runtime.work.sockets import SocketError

log = logging.getLogger(__name__)


class Settings(BaseModel):
    """What is set for one runtime, over what is configured; each field as `runtime.work.life.Conditions` has it.

    `policy` is in the words of `RetryPolicy.from_mapping`, `permissions` of `PermissionPolicy.from_mapping`.
    """

    model_config = ConfigDict(extra="forbid")
    grace_s: float = Field(default=60.0, ge=0)
    deadline_s: float | None = Field(default=None, ge=0)
    enable_error_routing: bool = True
    analysis: str = "off"
    policy: dict[str, Any] = Field(default_factory=dict)
    permissions: dict[str, Any] = Field(default_factory=dict)


class BadSetting(ValueError):
    """A setting that is not known, or a value that it cannot have."""


def conditions(workspace: Path, settings: Mapping[str, Any]) -> Conditions:
    """What drives are given: what is configured for the workspace, with settings over it.

    Raises:
        BadConfiguration: an `orbiter.toml` that cannot be used.
        BadSetting: a setting that is not known, or a value that it cannot have.
    """
    configured = load(workspace)
    try:
        given = Settings.model_validate(dict(settings))
        over: dict[str, Any] = {name: getattr(given, name) for name in given.model_fields_set}
        if "policy" in over:
            over["policy"] = RetryPolicy.from_mapping(given.policy)
        if "permissions" in over:
            over["permissions"] = PermissionPolicy.from_mapping(given.permissions, root=str(workspace))
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        raise BadSetting(f"setting {'.'.join(map(str, first['loc']))}: {first['msg']}") from exc
    except ValueError as exc:
        raise BadSetting(f"setting: {exc}") from exc
    return configured.conditions(program=program(), **over)


async def serve(state_dir: Path, given: Conditions, ready: Callable[[], None], *, outlive: bool) -> None:
    """Drive and serve until SIGINT or SIGTERM, or until a console says stop. A second signal ends it at once.

    With `outlive` a hang-up of the terminal ends nothing. `ready` is called when the sockets are open. Raises as
    `Runtime.start` and `Runtime.ended`.
    """
    loop = asyncio.get_running_loop()
    async with Runtime(state_dir, given) as runtime:
        ending = [signal.SIGINT, signal.SIGTERM] + ([] if outlive else [signal.SIGHUP])

        def stop() -> None:
            runtime.stop()
            for number in ending:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)

        if outlive:
            loop.add_signal_handler(signal.SIGHUP, lambda: log.info("hang-up: going on"))
        for number in ending:
            loop.add_signal_handler(number, stop)
        ready()
        await runtime.ended()
        log.info("stopping: every run is found as it is")


def main(arguments: list[str] | None = None) -> int:
    """The background runtime's process. Says one line of JSON on `--ready-fd` when it is there."""
    parser = argparse.ArgumentParser(prog="orbiter runtime", description=main.__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--env-file", type=Path)
    parser.add_argument("--settings", type=json.loads, default={})
    parser.add_argument("--ready-fd", type=int, required=True)
    given = parser.parse_args(arguments)
    os.umask(0o077)
    os.environ.pop("PYTHONSAFEPATH", None)  # ours alone, not for the processes that tools start
    os.set_inheritable(given.ready_fd, False)
    logging.basicConfig(level=logging.INFO, handlers=[RotatingDescriptors(log_path(given.state))])

    def ready() -> None:
        log.info("%s: runtime of %s, pid %d", program(), given.workspace, os.getpid())
        with suppress(BrokenPipeError):  # whoever started us has gone
            os.write(given.ready_fd, json.dumps({"pid": os.getpid(), "program": program()}).encode() + b"\n")
        os.close(given.ready_fd)

    try:
        if given.env_file is not None:
            for name, value in read_env_file(given.env_file).items():
                os.environ.setdefault(name, value)
        take_env_file(load(given.workspace))
        asyncio.run(serve(given.state, conditions(given.workspace, given.settings), ready, outlive=True))
    except (OrbiterError, SocketError, UnusableEnvironment, BadSetting) as exc:
        log.error("%s", exc)  # noqa: TRY400 - the message is for the person who started us, and says it all
        return 1
    except Exception:
        log.exception("the runtime ended with an error")
        return 1
    log.info("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
