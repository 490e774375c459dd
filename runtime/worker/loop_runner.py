"""Runs the driving loop to its end, whatever user code raises in a task or callback of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from orbiter._internal.user_code import make_text_safe, text_with_timeout

log = logging.getLogger(__name__)

END_S = 5.0
"""Seconds that tasks get to end when the loop does."""


def run_to_end(driving: Coroutine[Any, Any, None]) -> None:
    """As `asyncio.run`, in a thread whose loop carries user code.

    asyncio lets `KeyboardInterrupt` and `SystemExit` of a task or a callback stop its loop. Here Ctrl-C has no effect
    (signals arrive in the main thread), so user code raised it: the loop goes on, and who awaits that task gets it. The
    loop also goes on where user code calls `loop.stop()`.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.set_exception_handler(_report)
        _go_on(loop, driving)
    finally:
        _close(loop)


def _go_on(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any]) -> None:
    task = loop.create_task(coroutine)
    while True:
        try:
            loop.run_until_complete(task)
            return
        except (KeyboardInterrupt, SystemExit) as exc:
            if task.done():
                raise
            said = text_with_timeout(exc)
            log.error("user code raised %s in a task or callback of its own: %s", type(exc).__name__, said)  # noqa: TRY400 - its text may hang
        except RuntimeError:
            if task.done():
                raise
            log.error("user code stopped the event loop; it goes on")  # noqa: TRY400 - the stack is ours


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """Close a loop, without waiting for what does not end: a task that catches its cancellation, an asynchronous
    generator that does not close, a thread of the loop's default executor that user code blocks.
    """
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        _go_on(loop, asyncio.wait(left, timeout=END_S))
    pending = [task for task in left if not task.done()]
    for task in left.difference(pending):
        if not task.cancelled() and (exc := task.exception()) is not None:
            log.error("a task that was cancelled raised %s: %s", type(exc).__name__, text_with_timeout(exc))
    if pending:
        log.warning("tasks of user code caught their cancellation, and are left behind: %d", len(pending))
    else:
        closing = loop.create_task(loop.shutdown_asyncgens())
        _go_on(loop, asyncio.wait({closing}, timeout=END_S))
    asyncio.set_event_loop(None)
    loop.close()


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """As asyncio reports what a task or callback raised and nothing awaits, once it is safe to put it into words."""
    exc = context.get("exception")
    if not isinstance(exc, BaseException):
        loop.default_exception_handler(context)
        return

    async def report() -> None:
        await make_text_safe(exc)
        loop.default_exception_handler(context)

    reporting = loop.create_task(report())
    _reporting.add(reporting)
    reporting.add_done_callback(_reporting.discard)


_reporting: set[asyncio.Task[None]] = set()
