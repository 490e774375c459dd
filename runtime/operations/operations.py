"""Carries out requests, each by its handler. Link verbs are made from the table of all handlers, and command-line verbs
send their requests here: an operation is written once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

from runtime.operations.context import Handler, OperationContext, Origin
from runtime.operations.requests.struct import Request

R = TypeVar("R")


def handler_of(kind: type[Request[Any]]) -> Handler:
    """The handler of a request. It stands in the module of `handlers` that is called as that of the request; a process
    that carries out one request loads that one alone.

    Raises:
        KeyError: the runtime as a process carries it out (`ShowStatus`, `StopRuntime`).
    """
    subject = kind.__module__.rpartition(".")[2]
    found: Handler = import_module(f"runtime.operations.handlers.{subject}").HANDLERS[kind]
    return found


class Operations:
    """The operations of one workspace."""

    def __init__(self, context: OperationContext) -> None:
        self._context = context

    async def run(self, request: Request[R], origin: Origin) -> R:
        """Carry out a request; its result.

        Raises:
            OperationError: it cannot be carried out; nothing was written.
            OrbiterError: the same, from what the operation uses (`InvalidCommand`, `SwarmLoadError`, …).
            JournalError: the journal cannot be read or written.
        """
        result: R = await handler_of(type(request))(self._context, request, origin)
        if request.acts:
            self._context.hint()
        return result
