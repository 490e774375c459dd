"""Carries out commands of consoles, each exactly once, over reconnects and restarts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from orbiter.errors import OrbiterError
from runtime.link.verbs.registry import CommandError, CommandOrigin, Verb
from runtime.link.wire.protocol import Command, CommandReply, Role
from runtime.record.journal import Journal, JournalError
from runtime.record.state.events import Actor

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
        if verb.acts and role != "operator":
            return _refusal_reply(command, "viewer", "a viewer may look, not act")
        try:
            args = verb.args.model_validate(command.args)
        except ValidationError as exc:
            return _refusal_reply(command, "bad_input", _first_validation_error(command.verb, exc))
        if verb.acts and command.verb != "stop" and (displaced := self._displaced()):
            return _refusal_reply(
                command, "journal", f"not carried out: {displaced}. The runtime ends; what it recorded is kept"
            )
        if not verb.acts:
            return await self._run_verb(command, verb, args, by)
        return await self._execute_once(command, verb, args, by)

    async def _execute_once(self, command: Command, verb: Verb, args: Any, by: Actor) -> CommandReply:
        working = self._working.get(command.id)
        if working is not None:
            return (await asyncio.shield(working)).model_copy(update={"repeated": True})
        task = asyncio.create_task(self._recorded_reply(command, verb, args, by))
        self._working[command.id] = task
        task.add_done_callback(lambda _: self._working.pop(command.id, None))
        return await asyncio.shield(task)

    async def _recorded_reply(self, command: Command, verb: Verb, args: Any, by: Actor) -> CommandReply:
        try:
            stored = await self._journal.command(command.id)
            if stored is not None:
                return CommandReply.model_validate({**stored, "id": command.id, "repeated": True})
        except (JournalError, ValidationError) as exc:
            log.exception("cannot tell whether command %s was carried out before", command.id)
            return _refusal_reply(command, "journal", f"not carried out: whether it was before cannot be told: {exc}")
        reply = await self._run_verb(command, verb, args, by)
        if reply.error in ("journal", "internal"):
            return reply  # nothing was decided: the same command may be sent again
        try:
            await self._journal.command(command.id, reply.model_dump(mode="json", exclude={"t", "id", "repeated"}))
        except JournalError:
            log.exception("command %s was carried out, its reply could not be stored", command.id)
        return reply

    async def _run_verb(self, command: Command, verb: Verb, args: Any, by: Actor) -> CommandReply:
        try:
            return CommandReply(id=command.id, ok=True, result=await verb.run(args, CommandOrigin(by, command.id)))
        except CommandError as exc:
            return _refusal_reply(command, exc.error, str(exc), **exc.detail)
        except JournalError as exc:
            log.exception("command %s", command.verb)
            return _refusal_reply(command, "journal", str(exc))
        except (OrbiterError, ValueError, LookupError) as exc:
            return _refusal_reply(command, "bad_input", _text(exc))
        except Exception as exc:
            log.exception("command %s", command.verb)
            return _refusal_reply(command, "internal", f"{type(exc).__name__}: {exc}; the runtime's log has more")


def _refusal_reply(command: Command, error: str, message: str, **detail: Any) -> CommandReply:
    return CommandReply(id=command.id, ok=False, error=error, message=message, detail=detail)


def _text(exc: BaseException) -> str:
    """A `KeyError` quotes its message."""
    return str(exc.args[0]) if isinstance(exc, KeyError) and exc.args else str(exc) or type(exc).__name__


def _first_validation_error(verb: str, exc: ValidationError) -> str:
    first = exc.errors(include_url=False)[0]
    return f"{verb}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
