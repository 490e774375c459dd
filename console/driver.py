"""What drives a workspace's runs while a verb follows one: the base of the drivers."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Driver(ABC):
    """Drives a workspace's runs while its ``async with`` lasts."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._drive())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        (failed,) = await asyncio.gather(self._task, return_exceptions=True)
        await self._stop()
        if exc is None and isinstance(failed, Exception):
            raise failed

    async def wait_for_failure(self) -> None:
        """Raises, with its cause, when driving has come to an end; never returns before. Cancel it when done."""
        assert self._task is not None
        await asyncio.shield(self._task)

    @abstractmethod
    async def _drive(self) -> None:
        """Drive until cancelled; raises what ends it."""

    @abstractmethod
    async def _stop(self) -> None:
        """Stop what drives, after `_drive` has ended."""
