"""What an agent may do that asks over MCP: look, propose, and act as far as its person's own configuration says.

A safety rail and no boundary: an agent of the same account can also call the command line. Refusals are recorded.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any, Final

from runtime.config.schema import McpSettings
from runtime.judgement.recovery.option_table import OPTIONS, agent_options
from runtime.judgement.recovery.options import confirmation_of
from runtime.operations.context import OperationContext, OperationError, Origin
from runtime.operations.rate_limit import RateLimit
from runtime.operations.requests.answers import AnswerIncident, ProposeAnswer
from runtime.operations.requests.runs import AbortRun, FreezeRuns, StartRun
from runtime.operations.requests.struct import Request
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Effect

ACTS_PER_MINUTE: Final = 20
"""Acts of all agents on one runtime, those that are refused among them."""

_SWITCHES: Final[dict[type[Request[Any]], str]] = {
    StartRun: "start_run",
    FreezeRuns: "freeze_run",
    AbortRun: "abort_run",
}
"""The word in `[mcp] may_act` that lets an agent send a request."""
_REASON_CHARS: Final = 500


class AgentRules:
    """The rules of one workspace. The user's file is read again for each act: what it says holds at once.

    Args:
        context: The workspace.
        settings: What is configured now; None: what the files say. Raises `InvalidConfiguration`.
        rate: How often agents may act.
    """

    def __init__(
        self,
        context: OperationContext,
        settings: Callable[[], McpSettings] | None = None,
        rate: RateLimit | None = None,
    ) -> None:
        self._context = context
        self._settings = settings or (lambda: context.configuration().settings.mcp)
        self._rate = rate or RateLimit(ACTS_PER_MINUTE, 60.0)
        self._told_of_rate = False

    async def check(self, request: Request[Any], origin: Origin) -> None:
        """Let a request of an agent pass, or record why not.

        Raises:
            OperationError: it may not be sent.
            InvalidConfiguration: what the person allows cannot be read; nothing is allowed then.
        """
        if not request.acts:
            return
        if wait := self._rate.take():
            often = f"at most {ACTS_PER_MINUTE} times a minute"
            words = f"agents act too often here: {often}; wait {math.ceil(wait)} seconds"
            if not self._told_of_rate:  # once: a flood of refusals must not fill the journal
                self._told_of_rate = True
                await self._record(request, origin, words)
            raise OperationError("rate", words)
        self._told_of_rate = False
        if why := await self._refusal(request, origin):
            await self._record(request, origin, why)
            raise OperationError("agent", why)

    async def _refusal(self, request: Request[Any], origin: Origin) -> str:
        """Why the request may not be sent; empty if it may."""
        if origin.in_run:
            return (
                "this client works inside a run, or may do so: it can look, but neither propose nor act. Start the"
                " client outside of every run to propose and act"
            )
        if isinstance(request, ProposeAnswer):
            return ""
        settings = await asyncio.to_thread(self._settings)
        if isinstance(request, AnswerIncident):
            return await self._answer_refusal(request, settings)
        switch = _SWITCHES.get(type(request), "")
        if not switch:
            return f"{request.verb!r} is for people: an agent never may"
        if isinstance(request, FreezeRuns) and not request.run_id:
            return "an agent freezes one run, by its id"
        if isinstance(request, StartRun) and request.options:
            return "an agent starts runs as they are configured, without options"
        if switch not in settings.may_act:
            return (
                f"{switch} is not allowed to agents here: a person allows it in their own orbiter.toml ([mcp] may_act)"
            )
        return ""

    async def _answer_refusal(self, request: AnswerIncident, settings: McpSettings) -> str:
        option = request.option
        if option not in OPTIONS:
            _, opened, _ = await self._context.incident(request.incident_id)
            offered = ", ".join(each.id for each in opened.options)
            return f"unknown option {option!r}: {opened.incident_id} offers {offered}"
        if option not in agent_options():
            return f"{option!r} is never answered by an agent: propose it, and a person decides"
        if option not in settings.may_answer:
            return (
                f"{option!r} is not allowed to agents here: propose it, and a person decides, who may also allow it in"
                " their own orbiter.toml ([mcp] may_answer)"
            )
        if request.reach is not None and request.reach != OPTIONS[option].reach:
            return f"an agent's answer applies only to the {OPTIONS[option].reach} that asks"
        run_id, opened, _ = await self._context.incident(request.incident_id)
        if opened.in_doubt or opened.fault.effect in (Effect.UNKNOWN, Effect.APPLIED):
            return f"the call of {opened.incident_id} may have taken effect: a person looks, and decides"
        if opened.action.get("permission"):  # whatever is left to answer there grants it: an edit, other arguments
            return f"{option!r} at {opened.incident_id} grants a permission: propose it, and a person decides"
        case = confirmation_of(opened, option, runs=await self._runs_at_breaker(opened))
        if case == "shared":
            return f"{option!r} concerns more than run {run_id}: a person decides"
        if case is not None:
            return f"{option!r} is confirmed by a person at {opened.incident_id}: propose it, and a person decides"
        return ""

    async def _runs_at_breaker(self, opened: ev.IncidentOpened) -> int:
        breaker = opened.action.get("breaker")
        if not breaker:
            return 1
        waiting = await self._context.journal.incidents()
        return len({each.run_id for each in waiting if each.opened.action.get("breaker") == breaker})

    async def _record(self, request: Request[Any], origin: Origin, why: str) -> None:
        incident_id, run_id = getattr(request, "incident_id", ""), getattr(request, "run_id", "")
        found = await self._context.journal.incident(incident_id) if incident_id else None
        refused = ev.AgentRefused(
            act=request.verb,
            option=str(getattr(request, "option", ""))[:_REASON_CHARS],
            incident_id=found[1].incident_id if found is not None else incident_id[:_REASON_CHARS],
            subject_run=found[0] if found is not None else run_id[:_REASON_CHARS],
            why=why,
            reason=str(getattr(request, "reason", ""))[:_REASON_CHARS],
            by=origin.by,
        )
        await self._context.journal.post(ev.WORKSPACE_RUN_ID, refused)
