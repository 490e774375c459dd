"""The driving thread: the supervisor on a thread and event loop of its own.

Serving (or a console) and driving share no object: they meet in the journal, in hints and in deltas. The host holds
the workspace's lock for as long as it drives.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from orbiter.errors import OrbiterError, text_of
from runtime.execution.execution_config import ExecutionConfig
from runtime.record import workspace_lock
from runtime.record.journal import Displaced, JournalError
from runtime.record.journal_care import JournalCare
from runtime.record.lease_owner import has_died, owner_name
from runtime.record.places import journal_address, live_replies, open_journal
from runtime.record.state.operator_terms import DEFAULT_QUEUE
from runtime.worker.blocked_runs import BlockedRun
from runtime.worker.engines.choice import choose_engine
from runtime.worker.engines.port import EngineError
from runtime.worker.journal_loss import check_for_loss, end_displaced, sign_journal
from runtime.worker.loop_runner import run_to_end
from runtime.worker.loop_watchdog import LoopWatchdog
from runtime.worker.presence import Presence
from runtime.worker.reply_publisher import ReplyPublisher
from runtime.worker.run_mark import mark_this_process
from runtime.worker.supervisor import Supervisor
from runtime.worker.worker_report import held_up_words, slow_words, worker_report

log = logging.getLogger(__name__)

FILE_CHECK_S = 0.5
"""How often, in seconds, it is looked whether lock and journal are still at their paths."""
STOP_TIMEOUT_S = 15.0
"""How long, in seconds, the driving thread may take to end, over the time for draining, before it is left behind: its
loop is blocked by a tool, or a module that it loads never ends.
"""


class DrivingThreadError(OrbiterError):
    """The driving thread could not begin, or ended with an error."""


class DrivingThread:
    """A runtime's driving thread for one workspace.

    Args:
        state_dir: Where journal, lock and log are; made if it is not there.
        config: What every drive is given.
        program: Who holds the lock, for those who find it held.
    """

    def __init__(self, state_dir: Path, config: ExecutionConfig, *, program: str = "orbiter-console") -> None:
        self._state_dir = state_dir
        self._config = config
        self._program = program
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._supervisor: Supervisor | None = None
        self._watchdog: LoopWatchdog | None = None
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._displaced = ""
        self._journal: JournalCare | None = None
        self._presence: Presence | None = None

    def start(self) -> None:
        """Take the lock and begin to drive. Returns once it does.

        Raises:
            Locked: another process drives this workspace.
            JournalError: the journal cannot be opened.
            EngineError: the engine that is configured cannot be used here.
        """
        held = workspace_lock.acquire(self._state_dir, program=self._program)
        mark_this_process(self._state_dir)
        self._thread = threading.Thread(target=self._work, args=(held,), name="orbiter-driving", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            self._thread.join()
            if isinstance(self._failed, JournalError | EngineError):
                raise self._failed
            raise DrivingThreadError(f"the driving thread could not begin: {self._failed}") from self._failed

    def hint(self) -> None:
        """Something may have become runnable. From any thread."""
        self._tell(Supervisor.hint)

    def stop(self, *, whole: bool = False) -> None:
        """Let go of every run (each is found as it was), close the journal, give the lock back. From any other thread.

        With `whole` every step under way comes to its end first, for a minute at most (`ExecutionConfig.change_s`),
        unless a caller is in `stop_now`.

        A thread that does not end in time is left behind (it stays `alive`): nothing is lost, for its runs are found as
        after a crash, but the lock is held until this process ends.

        Raises:
            DrivingThreadError: the driving thread had ended with an error.
            Displaced: the state directory was removed, moved or replaced.
        """
        if self._thread is None:
            return
        self._tell(partial(Supervisor.stop, whole=whole))
        self._thread.join((self._config.change_s if whole else self._config.drain_s) + STOP_TIMEOUT_S)
        if self._thread.is_alive():
            log.error("the driving thread is blocked and does not end: it is left behind")
            return
        self._thread = None
        if isinstance(self._failed, Displaced):
            raise self._failed
        if self._failed is not None:
            said = text_of(self._failed) or type(self._failed).__name__
            raise DrivingThreadError(f"the driving thread ended with an error: {said}") from self._failed

    def stop_now(self) -> None:
        """A stop that waits for every step shall wait no longer than any other. From any thread."""
        with suppress(RuntimeError):  # it has ended at this very moment
            self._tell(Supervisor.stop)

    def _tell(self, call: Callable[[Supervisor], object]) -> None:
        """Have it called on the driving loop, if there is one."""
        if self._loop is not None and self._supervisor is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, self._supervisor)

    def on_end(self, tell: Callable[[], object]) -> None:
        """Call `tell` when the driving thread ends, from a thread that waits for it; at once if it has ended."""

        def wait(thread: threading.Thread) -> None:
            thread.join()
            with suppress(RuntimeError):  # the caller has gone: the loop to be told is closed
                tell()

        if self._thread is not None:
            threading.Thread(target=wait, args=(self._thread,), name="orbiter-driving-end", daemon=True).start()

    @property
    def driving(self) -> list[str]:
        """Ids of the runs that are driven now. From any thread."""
        return self._supervisor.driving if self._supervisor is not None else []

    @property
    def held_back(self) -> str:
        """Why what happens is held in memory, in words; empty where it is written. From any thread."""
        return self._supervisor.held_back if self._supervisor is not None else ""

    @property
    def blocked_runs(self) -> list[BlockedRun]:
        """Runs that cannot be carried on now, and why; first, what blocks them all. From any thread."""
        found = self._supervisor.blocked_runs if self._supervisor is not None else []
        blocked = self._watchdog.blocked if self._watchdog is not None else None
        return [BlockedRun(*blocked), *found] if blocked is not None else found

    @property
    def held_up(self) -> str:
        """What people should know of what is not carried on here, in words; empty if nothing is held up. From any
        thread.
        """
        if self._displaced:
            return f"{self._displaced}: nothing new begins, and the runtime ends"
        if self._supervisor is None:
            return ""
        unserved = self._presence.unserved if self._presence is not None else {}
        return held_up_words(self._supervisor, self.blocked_runs, unserved)

    @property
    def slow(self) -> str:
        """What only takes long here, in words: an import that is not late yet. From any thread."""
        return slow_words(self.blocked_runs)

    @property
    def displaced(self) -> str:
        """Why the runtime is about to end, where its state directory was removed, moved or replaced; else empty. From
        any thread.
        """
        return self._displaced

    def check_files(self) -> str:
        """Whether the journal's files are displaced or overwritten now, in words; empty if not. From any thread."""
        return self._displaced or (self._journal.displaced() if self._journal is not None else "")

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _work(self, held: workspace_lock.Lock) -> None:
        try:
            with held:
                run_to_end(self._drive(held))
        except BaseException as exc:
            self._failed = exc
        finally:
            self._ready.set()

    async def _drive(self, held: workspace_lock.Lock) -> None:
        async with await open_journal(self._state_dir) as journal:
            await check_for_loss(journal)
            # Elsewhere a process of the same name and number may live: there a lease runs out by itself.
            for run_id in await journal.expire_leases(has_died) if journal.is_local else ():
                log.info("run %s: its driver is gone; it goes on here", run_id)
            await sign_journal(journal)
            self._journal = journal
            self._loop = asyncio.get_running_loop()
            journal.hold_back(True)
            owner = owner_name()
            # A directory has one runtime, which drives all of its runs.
            config = self._config
            queues = None if journal.is_local else config.queues or (DEFAULT_QUEUE,)
            replies = live_replies(self._state_dir)
            publisher = ReplyPublisher(replies, config.deltas) if replies is not None else None
            config = replace(config, queues=queues, deltas=publisher or config.deltas)
            engine = choose_engine(config, journal_address(self._state_dir), journal, owner)
            supervisor = self._supervisor = Supervisor(journal, config, engine=engine, owner=owner)
            watchdog = self._watchdog = LoopWatchdog()
            looking = asyncio.create_task(self._check_files(journal, held, supervisor))
            self._presence = Presence(
                journal,
                lambda: worker_report(supervisor, config, self.blocked_runs, self._displaced),
                policy=config.code_policy,
                continue_since=supervisor.continue_since,
            )
            present = asyncio.create_task(self._presence.serve())
            publishing = asyncio.create_task(publisher.serve()) if publisher is not None else None
            self._ready.set()
            try:
                await supervisor.serve()
            finally:
                watchdog.stop()
                looking.cancel()
                present.cancel()
                await asyncio.gather(present, return_exceptions=True)
                if publishing is not None and replies is not None:
                    publishing.cancel()
                    await asyncio.gather(publishing, return_exceptions=True)
                    await replies.close()
            if displaced := self._displaced or journal.displaced():
                await end_displaced(journal, self._state_dir, displaced)

    async def _check_files(self, journal: JournalCare, held: workspace_lock.Lock, supervisor: Supervisor) -> None:
        """End the driving where another process could work at the same paths."""
        unlocked = ""
        while True:
            await asyncio.sleep(FILE_CHECK_S)
            self._displaced = journal.displaced()
            if held.displaced:
                try:
                    held.take_again()
                    log.warning("the lock %s was removed while it was held: it is taken again", held.path)
                except workspace_lock.Locked as exc:
                    self._displaced = self._displaced or f"the lock {held.path} was removed while it was held"
                    self._displaced += f", and {exc.holder} works there now"
                    supervisor.stop(at_once=True)
                except JournalError as exc:
                    if str(exc) != unlocked:
                        log.error("nothing would keep a second runtime out: %s", exc)  # noqa: TRY400
                    unlocked = str(exc)
            if self._displaced:
                log.error("%s: nothing new begins, and the runtime ends", self._displaced)
                supervisor.stop()
                if journal.overwritten():
                    await journal.keep_log()
                return
