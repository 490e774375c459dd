"""Carries out commands of consoles, each exactly once, over reconnects and restarts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from orbiter.errors import OrbiterError
from runtime.link.server.verbs import Verb
from runtime.link.wire.protocol import Command, CommandReply
from runtime.operations.context import OperationError, Origin
from runtime.operations.requests.codec import InvalidField, decode_request, encode
from runtime.operations.requests.struct import Request
from runtime.record.journal import Journal, JournalError
from runtime.record.state.events import Actor
from runtime.record.state.operator_terms import Role
from runtime.record.state.struct_json import struct_to_builtins

log = logging.getLogger(__name__)


class CommandHandler:
    """The verbs of one runtime."""

    def __init__(
        self, journal: Journal, verbs: Mapping[str, Verb], displaced: Callable[[], str] = str, *, program: str = ""
    ) -> None:
        self._journal = journal
        self._program = program
        self._displaced = displaced
        self._verbs = verbs
        self._working: dict[str, asyncio.Task[CommandReply]] = {}

    async def execute(self, command: Command, by: Actor, role: Role) -> CommandReply:
        """Do what the command says, or say why not. Never raises."""
        verb = self._verbs.get(command.verb)
        if verb is None:
            return _refusal_reply(
                command,
                "unknown_command",
                f"{self._program or 'this runtime'} has no command {command.verb!r:.80}. If the console is of another"
                f" version, close it and open it again. There are: {', '.join(sorted(self._verbs))}",
            )
        acts = verb.request.acts
        if acts and role != "operator":
            return _refusal_reply(command, "viewer", "a viewer may look, not act")
        try:
            request = decode_request(verb.request, command.args)
        except InvalidField as exc:
            return _refusal_reply(command, "bad_input", f"{command.verb}: {exc}")
        if acts and command.verb != "stop" and (displaced := self._displaced()):
            return _refusal_reply(
                command, "journal", f"not carried out: {displaced}. The runtime ends; what it recorded is kept"
            )
        if not acts:
            return await self._run_verb(command, verb, request, by)
        return await self._execute_once(command, verb, request, by)

    async def _execute_once(self, command: Command, verb: Verb, request: Request[Any], by: Actor) -> CommandReply:
        working = self._working.get(command.id)
        if working is not None:
            return replace(await asyncio.shield(working), repeated=True)
        task = asyncio.create_task(self._recorded_reply(command, verb, request, by))
        self._working[command.id] = task
        task.add_done_callback(lambda _: self._working.pop(command.id, None))
        return await asyncio.shield(task)

    async def _recorded_reply(self, command: Command, verb: Verb, request: Request[Any], by: Actor) -> CommandReply:
        try:
            stored = await self._journal.command(command.id)
            if stored is not None:
                return convert({**stored, "t": "reply", "id": command.id, "repeated": True}, CommandReply)
        except (JournalError, ValueError) as exc:
            log.exception("cannot tell whether command %s was carried out before", command.id)
            return _refusal_reply(
                command, "journal", f"not carried out: the journal cannot tell whether it was carried out before: {exc}"
            )
        reply = await self._run_verb(command, verb, request, by)
        if reply.error in ("journal", "internal"):
            return reply  # nothing was decided: the same command may be sent again
        try:
            await self._journal.command(command.id, _stored_fields(reply))
        except JournalError:
            log.exception("command %s was carried out, its reply could not be stored", command.id)
        return reply

    async def _run_verb(self, command: Command, verb: Verb, request: Request[Any], by: Actor) -> CommandReply:
        try:
            in_run = by.channel == "mcp" and (command.agent is None or command.agent.in_run)
            result = await verb.run(request, Origin(by, command.id, in_run))
            return CommandReply(id=command.id, ok=True, result=encode(result))
        except OperationError as exc:
            return _refusal_reply(command, exc.error, str(exc), **exc.detail)
        except JournalError as exc:
            log.exception("command %s", command.verb)
            return _refusal_reply(command, "journal", str(exc))
        except (OrbiterError, ValueError, LookupError) as exc:
            return _refusal_reply(command, "bad_input", _text(exc))
        except Exception as exc:
            log.exception("command %s", command.verb)
            return _refusal_reply(command, "internal", f"{type(exc).__name__}: {exc}; the runtime's log has more")


def _stored_fields(reply: CommandReply) -> dict[str, Any]:
    """What the journal keeps of a reply: all but whose it is."""
    fields = struct_to_builtins(reply)
    return {name: value for name, value in fields.items() if name not in ("t", "id", "repeated")}


def _refusal_reply(command: Command, error: str, message: str, **detail: Any) -> CommandReply:
    return CommandReply(id=command.id, ok=False, error=error, message=message, detail=detail)


def _text(exc: BaseException) -> str:
    """A `KeyError` quotes its message."""
    return str(exc.args[0]) if isinstance(exc, KeyError) and exc.args else str(exc) or type(exc).__name__
