"""Whether a decision like those of a bulk answer was answered before, and what came of it: asked of their runtime."""

from __future__ import annotations

from runtime.link.client.client import LinkError
from runtime.operations.requests.answers import FindPrecedent, Precedent
from runtime.record.state.durable_run import Summary
from screens.shell.context import ConsoleContext
from screens.views.decisions.incident_groups import OpenDecision


class PrecedentSearch:
    """Asked again as its run goes on, until it is known what came of that answer."""

    def __init__(self, session: ConsoleContext, decision: OpenDecision) -> None:
        """`decision`: one of those that are answered."""
        self.found: Precedent | None = None
        self._session = session
        self._decision = decision
        self._its_run: Summary | None = None

    def went_on(self) -> bool:
        """Whether its run did something since this method was last called, where nothing is proven yet: look again."""
        if self.found is None or self.found.state != "not proven":
            return False
        before, self._its_run = self._its_run, self._session.link.summaries.get(self.found.run_id)
        return self._its_run != before

    async def look(self) -> str:
        """Ask the runtime that the decision is on; why it is not known, where it does not say."""
        link, incident_id = self._session.link, self._decision.opened.incident_id
        try:
            self.found = await link.ask(
                FindPrecedent(incident_id=incident_id), where=link.host_of(self._decision.run_id)
            )
        except LinkError as exc:
            return f"Whether one of them was answered before is not known: {exc}"
        return ""
