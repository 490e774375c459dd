"""A whole runtime: the driving thread, and the server on the loop that starts it.

Nothing is shared between them but the journal's file, hints, and pieces of streamed replies.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from runtime.daemon import sockets
from runtime.daemon.log_file import log_path
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.view_redaction import ViewRedactor
from runtime.link.server.reply_streams import ReplyStreams
from runtime.link.server.server import LinkServer
from runtime.link.server.verbs import operation_verbs, runtime_verbs, with_agent_rules
from runtime.operations.agent_rules import AgentRules
from runtime.operations.context import OperationContext
from runtime.operations.operations import Operations
from runtime.operations.requests.reports import BlockedRun, RuntimeStatus
from runtime.record.journal_care import JournalCare
from runtime.record.live_replies import LiveReplies
from runtime.record.places import live_replies, open_journal
from runtime.record.state.events import utc_now
from runtime.record.state.operator_terms import Role
from runtime.worker.driving_thread import DrivingThread
from runtime.worker.duties.changed_patterns import note_rereadings
from runtime.worker.worker_report import provider_keys

log = logging.getLogger(__name__)


class Runtime:
    """Drives a workspace's runs and serves its consoles.

        async with Runtime(state_dir, config) as runtime:
            await runtime.ended()

    Args:
        state_dir: Where journal, lock and sockets are; made if it is not there.
        config: What every drive is given; where pieces of replies go is set here.
        listening: Open the sockets too. Without them only `adopt` brings consoles.
        driving: Drive runs. Without it what is in the journal is only shown.
    """

    def __init__(
        self, state_dir: Path, config: ExecutionConfig, *, listening: bool = True, driving: bool = True
    ) -> None:
        self._state_dir = state_dir
        self._streams = ReplyStreams()
        self._config = replace(config, deltas=self._streams)
        self._driving_thread = DrivingThread(state_dir, self._config, program=config.program or "orbiter-console")
        self._listening = listening
        self._driving = driving
        self._since = utc_now()
        self._stopping = asyncio.Event()
        self._draining = False
        self._sockets: sockets.Sockets | None = None
        self._journal: JournalCare | None = None
        self._replies: LiveReplies | None = None
        self._server: LinkServer | None = None

    async def start(self) -> None:
        """Take the lock, begin to drive and to serve.

        Raises:
            Locked: another process drives this workspace.
            JournalError: the journal cannot be opened.
            SocketError: the sockets cannot be made.
        """
        if self._driving:
            await asyncio.to_thread(self._driving_thread.start)
        try:
            await self._serve()
        except BaseException:
            await self.close()
            raise

    async def adopt(self, sock: socket.socket, role: Role = "operator") -> None:
        """Serve a console over one end of a socket pair."""
        assert self._server is not None
        await self._server.adopt(sock, role)

    @property
    def has_stuck_thread(self) -> bool:
        """Whether, after `close`, the driving thread goes on: blocked, and with the lock."""
        return self._driving_thread.is_alive

    @property
    def stopping(self) -> bool:
        """Whether a stop was requested."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Let `ended` return. For the loop's own thread."""
        self._stopping.set()

    async def wait_for_end(self) -> None:
        """Wait for `stop`, or for a console to ask for it.

        Raises:
            DrivingThreadError: the driving thread ended with an error.
        """
        loop, died = asyncio.get_running_loop(), asyncio.Event()
        if self._driving:
            self._driving_thread.on_end(lambda: loop.call_soon_threadsafe(died.set))
        either = [asyncio.create_task(event.wait()) for event in (self._stopping, died)]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in either:
                task.cancel()
        if not self._stopping.is_set():
            log.error("the driving thread has ended")
            await asyncio.to_thread(self._driving_thread.stop)  # raises what ended it

    async def drain(self) -> None:
        """Let go of the runs as whole as can be (see `Host.stop`) while consoles are served on; less so once an
        operator says stop.

        Raises:
            DrivingThreadError: the driving thread had ended with an error.
        """
        self._draining = True
        draining = asyncio.create_task(asyncio.to_thread(self._driving_thread.stop, whole=True))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({draining, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not draining.done():
                self._driving_thread.stop_now()
        finally:
            stopping.cancel()
            await draining

    async def close(self) -> None:
        """Let go of the runs while the consoles still watch, then send them away.

        Raises:
            DrivingThreadError: the driving thread had ended with an error.
        """
        if self._server is not None:
            self._server.stop_listening()
        if self._sockets is not None:
            self._sockets.close()
        try:
            await asyncio.to_thread(self._driving_thread.stop)
        finally:
            with self._server.hold_connections() if self._server is not None else contextlib.nullcontext():
                if self._server is not None:
                    await self._server.close()
                if self._replies is not None:
                    await self._replies.close()
                if self._journal is not None:
                    await self._journal.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def status(self) -> RuntimeStatus:
        """What `status` answers."""
        held_up = tuple(
            BlockedRun(run_id=each.run_id, reason=each.reason, since=each.since.isoformat(), times=each.times)
            for each in self._driving_thread.blocked_runs
        )
        return RuntimeStatus(
            pid=os.getpid(),
            program=self._config.program,
            workspace=self._config.workspace,
            state_dir=str(self._state_dir),
            since=self._since.astimezone(UTC).isoformat(timespec="seconds"),
            uptime_s=round((datetime.now(UTC) - self._since).total_seconds(), 1),
            consoles=self._server.connection_count if self._server is not None else 0,
            driving=self._driving_thread.is_alive,
            stopping=self._stopping.is_set(),
            draining=tuple(sorted(self._driving_thread.driving)) if self._draining else (),
            held_up=held_up,
            keys=tuple(provider_keys()),
        )

    async def _serve(self) -> None:
        self._journal = await open_journal(self._state_dir)
        self._replies = live_replies(self._state_dir)
        await note_rereadings(self._journal, self._config.permissions)
        views = ViewRedactor(self._config.redact, masked=self._config.redact_views)
        context = OperationContext(
            self._journal,
            Path(self._config.workspace),
            log_path(self._state_dir),
            self._config,
            hint=self._driving_thread.hint,
        )
        verbs = operation_verbs(Operations(context)) | runtime_verbs(self.status, self.stop)
        verbs = with_agent_rules(verbs, AgentRules(context))
        self._server = LinkServer(
            self._journal,
            verbs,
            program=self._config.program,
            workspace=self._config.workspace,
            keys=provider_keys(),
            streams=self._streams,
            replies=self._replies,
            held_up=lambda: self._driving_thread.held_up,
            slow=lambda: self._driving_thread.slow,
            displaced=self._driving_thread.check_files if self._driving else self._journal.displaced,
            views=views,
        )
        await self._server.start()
        if self._listening:
            self._sockets = sockets.listen(self._state_dir)
            for role, sock in self._sockets.by_role.items():
                await self._server.listen(sock, role)
