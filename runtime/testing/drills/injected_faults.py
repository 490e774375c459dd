"""The faults of a drill, put between attempts and their calls; the same seam for our agents and for guests."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from orbiter.errors import ToolError
from orbiter.models.model_errors import CallContext
from runtime.execution.execution_config import CallSite, ExecutionConfig
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.testing.drills.call_log import CallEntry, CallLog, Happening
from runtime.testing.drills.drill_file import Drill, DrilledFault


class InjectedFaults:
    """The interceptor of a drill. What it has injected before stands in the log, so that it goes on after a kill.

    Args:
        drill: The faults.
        log: Where each call and each fault is noted.
    """

    def __init__(self, drill: Drill, log: CallLog) -> None:
        self._drill = drill
        self._log = log
        self._calls: dict[int, list[str]] = {number: [] for number in range(len(drill.faults))}
        self._injected: dict[int, int] = dict.fromkeys(self._calls, 0)
        self._ended = 0
        for entry in log.read():
            self._count(entry)

    def _count(self, entry: CallEntry) -> None:
        if entry.fault >= 0:
            if entry.what in ("injected", "killed"):
                self._injected[entry.fault] += 1
            if entry.node_id and entry.node_id not in self._calls[entry.fault]:
                self._calls[entry.fault].append(entry.node_id)
        self._ended += entry.what == "done"

    def _note(self, what: Happening, site: CallSite, fault: int = -1) -> None:
        entry = CallEntry(what, site.node_id, site.step.kind, site.attempt, _repeatable(site), fault)
        self._log.write(entry)
        if what in ("done", "injected", "killed"):
            self._count(entry)

    async def call(self, site: CallSite, make: Callable[[], Awaitable[Any]]) -> Any:
        """The call's own result, or the fault that is due at it."""
        if site.step.kind == "value":
            return await make()
        self._kill_between(site)
        number = self._due(site)
        if number is None:
            return await self._made(site, make)
        fault = self._drill.faults[number]
        if fault.kill:
            await self._made(site, make)
            self._kill(site, number)
        self._note("injected", site, number)
        if fault.hang:
            await asyncio.sleep(fault.hang_s)
            raise TimeoutError(
                f"the drill let {site.step.name} hang; no limit of its own ended it in {fault.hang_s:g} s"
            )
        raise _error(fault, site)

    async def _made(self, site: CallSite, make: Callable[[], Awaitable[Any]]) -> Any:
        self._note("begun", site)
        try:
            result = await make()
        except BaseException:
            self._note("failed", site)
            raise
        self._note("done", site)
        return result

    def _due(self, site: CallSite) -> int | None:
        for number, fault in enumerate(self._drill.faults):
            if not _fits(fault, site):
                continue
            calls = self._calls[number]
            if site.node_id not in calls:
                calls.append(site.node_id)
                self._log.write(CallEntry("begun", site.node_id, "", 0, fault=number))
            if calls.index(site.node_id) == fault.call - 1 and self._injected[number] < fault.times:
                return number
        return None

    def _kill_between(self, site: CallSite) -> None:
        """Between two steps the next one has begun already: one that must not be repeated would be in doubt."""
        if not _repeatable(site):
            return
        for number, fault in enumerate(self._drill.faults):
            if fault.after_step and self._ended >= fault.after_step and not self._injected[number]:
                self._kill(site._replace(node_id=""), number)

    def _kill(self, site: CallSite, number: int) -> None:
        self._note("killed", site, number)
        os.kill(os.getpid(), signal.SIGKILL)


def _repeatable(site: CallSite) -> bool:
    return site.step.kind != "tool" or site.step.traits.idempotent


def _fits(fault: DrilledFault, site: CallSite) -> bool:
    name = fault.model if site.step.kind == "llm" else fault.tool
    called = site.model if site.step.kind == "llm" else site.step.name
    return bool(name) and fnmatchcase(called, name) and fnmatchcase(site.step.agent, fault.agent)


def _error(fault: DrilledFault, site: CallSite) -> Exception:
    if fault.status is None:
        return ToolError(fault.error) if site.step.kind == "tool" else ConnectionError(fault.error)
    provider, _, model = site.model.partition(":")
    headers = {} if fault.retry_after_s is None else {"retry-after": f"{fault.retry_after_s:g}"}
    return CallContext(provider, model or provider).http_error(fault.status, headers, "injected by a drill")


def drilled(config: ExecutionConfig, drill: Drill, log: CallLog) -> ExecutionConfig:
    """The configuration of a drive with the drill's faults in it.

    Args:
        config: What is configured for the workspace.
        drill: The faults.
        log: Where each call is noted.

    Raises:
        ValueError: a permission is not one.
    """
    refused = [fault.permission for fault in drill.faults if fault.permission]
    policy = config.permissions
    if refused:
        denied = PermissionPolicy.from_mapping({"deny": refused}, root=config.workspace)
        policy = replace(policy, rules=(*denied.rules, *policy.rules))
    return replace(config, permissions=policy, interceptor=InjectedFaults(drill, log), notices=None, analysis="off")
