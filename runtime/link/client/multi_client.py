"""Several runtimes in one console: their views side by side, and each command to the right one.

Screens read it as they read one `LinkClient`. Ids of runs, incidents and grants are random: no two hosts share one,
unless both names lead to the same workspace, and then it is the same run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from runtime.link.client.client import (
    LinkClient,
    LinkError,
    LinkLost,
    LinkPhase,
    LinkQuality,
    LinkStatus,
    PictureProgress,
)
from runtime.link.client.streamed_text import StreamedText
from runtime.operations.requests.struct import Request
from runtime.record.inbox_row import InboxRow
from runtime.record.state.operator_terms import Role

if TYPE_CHECKING:
    from runtime.record.state.durable_run import DurableRun
    from runtime.record.state.summary import Summary
    from runtime.record.state.workspace_events import GrantAdded

R = TypeVar("R")
_PHASES_WORST_FIRST: tuple[LinkPhase, ...] = ("lost", "connecting", "connected", "closed")


class MultiClient:
    """Clients by the name of their host, in the order in which they were named.

    `status` is that of the worst off; its reason says what is wrong with which. The others go on.
    """

    def __init__(self, clients: Mapping[str, LinkClient]) -> None:
        self.clients = dict(clients)

    # -- what screens read -------------------------------------------------------------------------------------

    @property
    def summaries(self) -> Mapping[str, Summary]:
        return {key: row for client in self.clients.values() for key, row in client.summaries.items()}

    @property
    def incidents(self) -> Mapping[str, InboxRow]:
        return {key: row for client in self.clients.values() for key, row in client.incidents.items()}

    @property
    def grants(self) -> Mapping[str, GrantAdded]:
        return {key: row for client in self.clients.values() for key, row in client.grants.items()}

    @property
    def ready(self) -> bool:
        return any(client.ready for client in self.clients.values())

    @property
    def loading(self) -> Mapping[str, PictureProgress]:
        """How much is there of the pictures of which parts are missing, by host."""
        return {name: told for name, client in self.clients.items() for told in client.loading.values()}

    @property
    def status(self) -> LinkStatus:
        found = {client.status.phase for client in self.clients.values()}
        away = "; ".join(
            f"{name}: {client.status.reason or client.status.phase}"
            for name, client in self.clients.items()
            if client.status.phase != "connected"
        )
        mismatch = all(client.status.mismatch for client in self._lost_clients())
        for phase in _PHASES_WORST_FIRST:
            if phase in found:
                return LinkStatus(phase, away, phase == "lost" and mismatch)
        return LinkStatus("closed")

    @property
    def position(self) -> object:
        """Where the pictures stand: equal as long as nothing that they tell of has changed."""
        return tuple(client.position for client in self.clients.values())

    @property
    def role(self) -> Role:
        """`viewer` if no host lets us do more; where only some do, the others refuse."""
        return "viewer" if all(client.role == "viewer" for client in self.clients.values()) else "operator"

    @property
    def host_names(self) -> tuple[str, ...]:
        """The hosts that are connected: what `ask` may be told as `where`, for what every host has to be asked."""
        return tuple(name for name, client in self.clients.items() if client.status.phase == "connected")

    @property
    def qualities(self) -> tuple[LinkQuality, ...]:
        """How good the link to each host is."""
        return tuple(found for client in self.clients.values() for found in client.qualities)

    def host_of(self, run_id: str) -> str:
        """The host that a run is on; empty if none tells of it."""
        return next((name for name, client in self.clients.items() if run_id in client.summaries), "")

    def provider_keys(self, run_id: str) -> tuple[str, ...]:
        """The names of the providers' keys that the runtime of a run has."""
        return self._client_of_run(run_id).provider_keys(run_id)

    def run(self, run_id: str) -> DurableRun | None:
        return self._client_of_run(run_id).run(run_id)

    def problem(self, run_id: str) -> str:
        return self._client_of_run(run_id).problem(run_id)

    def text(self, run_id: str, node_id: str) -> StreamedText | None:
        return self._client_of_run(run_id).text(run_id, node_id)

    # -- what screens do ---------------------------------------------------------------------------------------

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        ends = [client.subscribe(listener) for client in self.clients.values()]

        def end() -> None:
            for each in ends:
                each()

        return end

    def watch(self, run_id: str) -> None:
        self._client_of_run(run_id).watch(run_id)

    def unwatch(self, run_id: str) -> None:
        for client in self.clients.values():
            if client.watches(run_id):
                client.unwatch(run_id)
                return

    async def ask(self, request: Request[R], /, *, where: str = "") -> R:
        """Ask the runtime that the run, incident or grant of the request belongs to, or the one on the host `where`.

        A request for all hosts (`Request.all_hosts`) that names nothing goes to every host that is connected, and one
        that acts only to those that let us act. Lists of results are joined.

        Raises:
            LinkError: no host is named, and nothing says which is meant; or some of those that were asked said no:
                which, why, and where it was done.
            CommandRefused: a runtime said no.
            LinkLost: there is no runtime to ask.
        """
        client = self._client_named(where) if where else self._client_for(request)
        if client is not None:
            return await client.ask(request)
        if not request.all_hosts:
            raise LinkError(f"{request.verb}: say on which host: {', '.join(self.clients)}")
        asked = {name: each for name, each in self.clients.items() if each.status.phase == "connected"}
        if not asked:
            raise LinkLost(self.status.reason or "no host is connected")
        if request.acts:
            asked = {name: each for name, each in asked.items() if each.role == "operator"} or asked
        answers = await _await_all({name: each.ask(request) for name, each in asked.items()})
        return cast("R", tuple(row for answer in answers for row in answer) if answers[0] is not None else None)

    @property
    def needs_login(self) -> bool:
        """Whether a lost host wants a login: `login`, then, and not `revive`."""
        return any(client.needs_login for client in self._lost_clients())

    def login(self) -> None:
        """Log in to the hosts that want it, one after the other. Blocks; the terminal is ssh's meanwhile.

        Raises:
            LinkLost: with the reasons of all that cannot be.
        """
        reasons: list[str] = []
        for name, client in self.clients.items():
            if client.needs_login:
                try:
                    client.login()
                except LinkLost as exc:
                    reasons.append(f"{name}: {exc}")
        if reasons:
            raise LinkLost("; ".join(reasons))

    async def revive(self) -> None:
        """Bring back those that are lost.

        Raises:
            LinkLost: with the reasons of all that cannot be.
        """
        reasons: list[str] = []
        for name, client in self.clients.items():
            if client.status.phase == "lost":
                try:
                    await client.revive()
                except LinkLost as exc:
                    reasons.append(f"{name}: {exc}")
        if reasons:
            raise LinkLost("; ".join(reasons))

    def start(self) -> None:
        """Begin to connect."""
        for client in self.clients.values():
            client.start()

    async def close(self) -> None:
        """End all of them."""
        await asyncio.gather(*(client.close() for client in self.clients.values()))

    # -- whom a thing belongs to -------------------------------------------------------------------------------

    def _lost_clients(self) -> Iterator[LinkClient]:
        return (client for client in self.clients.values() if client.status.phase == "lost")

    def _client_named(self, name: str) -> LinkClient:
        if name not in self.clients:
            raise LinkError(f"no host here is called {name!r}: {', '.join(self.clients)}")
        return self.clients[name]

    def _client_of_run(self, run_id: str) -> LinkClient:
        """The client that tells of a run, else the first: its runtime then says that there is no such run."""
        clients = list(self.clients.values())
        for client in clients:
            if client.watches(run_id) or run_id in client.summaries:
                return client
        return clients[0]

    def _client_for(self, request: Request[Any]) -> LinkClient | None:
        """The client that tells of the run, incident or grant that is named; None if none is named or none knows it."""
        run_id, incident_id, grant_id = (getattr(request, f"{name}_id", "") for name in ("run", "incident", "grant"))
        for client in self.clients.values():
            if run_id in client.summaries or incident_id in client.incidents or grant_id in client.grants:
                return client
        if named := run_id or incident_id or grant_id:
            raise LinkError(f"no host of this console has {named}")
        return next(iter(self.clients.values())) if len(self.clients) == 1 else None


async def _await_all(asked: Mapping[str, Awaitable[Any]]) -> list[Any]:
    """What every host answered; when all have, for what one refuses another has done. Raises `LinkError`."""
    answers = await asyncio.gather(*asked.values(), return_exceptions=True)
    refusals: list[LinkError] = []
    words: list[str] = []
    for name, answer in zip(asked, answers, strict=True):
        if isinstance(answer, LinkError):
            refusals.append(answer)
            words.append(f"{name}: {answer}")
        elif isinstance(answer, BaseException):
            raise answer
        else:
            words.append(f"{name}: done")
    if refusals:
        raise refusals[0] if len(asked) == 1 else LinkError("; ".join(words)) from refusals[0]
    return list(answers)
