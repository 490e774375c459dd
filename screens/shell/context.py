"""The context of screens: the link to a runtime, clock, settings; `LinkClient` is such a link."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct, field

from runtime.judgement.recovery.option_table import option_keys
from runtime.judgement.reports.priority import by_priority
from screens.render.glyphs import UNICODE_GLYPHS, Glyphs
from screens.shell.answer_hold import AnswerHold
from screens.shell.armed_keys import ARM_AFTER_S, ArmedKeys, LastKey
from screens.shell.frame_rate import FrameRateGovernor
from screens.views.decisions.incident_groups import OpenDecision
from screens.views.shared.link_quality import WHO_MAY
from screens.views.shared.list_state import StableOrder
from screens.views.shared.render_context import RenderContext

if TYPE_CHECKING:
    from runtime.judgement.reports.explanation.runtime_home import HomeSource
    from runtime.link.client.client import LinkQuality, LinkStatus, PictureProgress
    from runtime.link.client.streamed_text import StreamedText
    from runtime.operations.requests.struct import Request
    from runtime.record.state.durable_run import DurableRun
    from runtime.record.state.operator_terms import Role
    from runtime.record.state.summary import Summary
    from runtime.record.state.workspace_events import GrantAdded
    from screens.views.lists.settings import Setting

R = TypeVar("R")

MAX_NOTICES = 500
"""Lines that were said and can be read again."""


class Link(Protocol):
    """What is known of a runtime, and how to ask it for something. All of it belongs to the screen's own loop."""

    @property
    def summaries(self) -> Mapping[str, Summary]: ...

    @property
    def incidents(self) -> Mapping[str, OpenDecision]: ...

    @property
    def grants(self) -> Mapping[str, GrantAdded]:
        """Grants in force, by id."""
        ...

    @property
    def position(self) -> object:
        """Equal as long as nothing of this has changed."""
        ...

    @property
    def role(self) -> Role:
        """Whether one may act, or only look."""
        ...

    @property
    def status(self) -> LinkStatus: ...

    @property
    def qualities(self) -> Sequence[LinkQuality]:
        """How good the link to each host is."""
        ...

    @property
    def ready(self) -> bool:
        """Whether anything was told yet."""
        ...

    @property
    def loading(self) -> Mapping[str, PictureProgress]:
        """How much is there of what is told first, by host (`host_of`), while parts of it are missing; else nothing."""
        ...

    def run(self, run_id: str) -> DurableRun | None: ...

    def problem(self, run_id: str) -> str: ...

    def text(self, run_id: str, node_id: str) -> StreamedText | None:
        """The reply that a node is streaming, as far as it is."""
        ...

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]: ...

    def watch(self, run_id: str) -> None: ...

    def unwatch(self, run_id: str) -> None: ...

    async def ask(self, request: Request[R], /, *, where: str = "") -> R:
        """The result of a request. Raises `runtime.link.client.client.LinkError`."""
        ...

    def host_of(self, run_id: str, /) -> str:
        """The host that a run is on; empty where there is only one."""
        ...

    def provider_keys(self, run_id: str, /) -> Sequence[str]:
        """The names of the variables with providers' keys that the runtime of a run has; never their values."""
        ...

    @property
    def host_names(self) -> Sequence[str]:
        """The names by which `ask` is told where: one, which is empty, where there is one host."""
        ...

    @property
    def needs_login(self) -> bool:
        """Whether a lost runtime wants a login: `login`, then, and not `revive`."""
        ...

    def login(self) -> None:
        """Blocks, and needs the terminal. Raises `runtime.link.client.client.LinkLost`."""
        ...

    async def revive(self) -> None:
        """Raises `runtime.link.client.client.LinkLost`."""
        ...

    async def close(self) -> None: ...


class Notice(Struct, frozen=True):
    """One line that was said: when, in what severity, and its text, which may be foreign."""

    at: datetime
    severity: str
    text: str


class DigestNotice(Struct):
    """What happened since the operator looked the last time: a line and the sentences of the digest; foreign."""

    line: str = ""
    sentences: tuple[str, ...] = ()


def utc_now() -> datetime:
    return datetime.now(UTC)


class ConsoleContext(Struct, frozen=True):
    """What all screens of a console share."""

    link: Link
    glyphs: Glyphs = UNICODE_GLYPHS
    clock: Callable[[], datetime] = utc_now
    arm_after: float = ARM_AFTER_S
    """Seconds after which what was painted takes keys that act."""
    monotonic: Callable[[], float] = monotonic
    """The clock of `armed_keys`."""
    last_key: LastKey = field(default_factory=LastKey)
    governor: FrameRateGovernor = field(default_factory=FrameRateGovernor)
    said: deque[Notice] = field(default_factory=lambda: deque(maxlen=MAX_NOTICES))
    """What was said in a line on any screen, the oldest first."""
    away: DigestNotice = field(default_factory=DigestNotice)
    settings: Callable[[], Sequence[Setting]] = tuple
    """What the console works with, for the page of settings."""
    letters: Mapping[str, str] = field(default_factory=option_keys)
    """The key of each option of a decision; none where it is empty."""
    keys: Mapping[str, str] = {}
    """The key of each action in words, by its id; nothing where all are the usual ones."""

    guide: Callable[[DurableRun, str], str] | None = None
    """What a guided tour says of a run and the decision that is shown; empty for other runs."""
    guide_hidden: list[bool] = []
    """Holds something where the operator hides the tour's words."""

    hold: AnswerHold = field(default_factory=AnswerHold)
    """The answer that can still be taken back."""

    who_may: str = WHO_MAY
    """What is said where one may only look: who may do more, or why that is not possible."""

    runtime_home: HomeSource | None = None
    """Where the runtime has its keys from, and how it is started again; None: not known."""

    order: StableOrder = field(default_factory=StableOrder)
    """In which decisions stand; see `decisions`."""

    def decisions(self) -> list[OpenDecision]:
        """The open decisions, the one to take next first: the same on every screen, and as they were until one of them
        comes or goes. While parts of them are missing, as they were told: those first that matter most.
        """
        link = self.link
        incidents = link.incidents
        ranked = self.order.order(
            incidents.keys(),
            lambda: (
                found.opened.incident_id
                for found in by_priority(incidents.values(), link.summaries, self.clock(), link.host_of)
            ),
            partial=bool(link.loading),
        )
        return [incidents[key] for key in ranked]

    def may_act(self, run_id: str = "") -> bool:
        """Whether more than looking is allowed where a run is; without one, on any host."""
        links = self.link.qualities
        if run_id:
            where = self.link.host_of(run_id)
            links = [each for each in links if each.host == where] or links
        return self.link.role == "operator" and (not links or any(each.role == "operator" for each in links))

    @property
    def is_connected(self) -> bool:
        """Whether there is anybody to say something to: of several hosts, one that is lost keeps it from no other."""
        return self.link.status.phase != "lost" or any(self.link.host_names)

    def name_keys(self, keys: Mapping[str, str], letters: Mapping[str, str] | None) -> None:
        """From now on these are the keys, on every screen; without `letters` decisions have the usual ones."""
        for here, now in ((self.keys, keys), (self.letters, option_keys() if letters is None else letters)):
            assert isinstance(here, dict)
            here.clear()
            here.update(now)

    def armed_keys(self) -> ArmedKeys:
        """The rule for keys that act, for one prompt or dialog."""
        return ArmedKeys(self.arm_after, clock=self.monotonic, last=self.last_key)

    def render_context(self) -> RenderContext:
        """How a view is to look now."""
        return RenderContext(self.clock(), self.glyphs, self.keys, partial=bool(self.link.loading))
