"""The grants page: the ledger of permissions, and revoking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from runtime.operations.requests.permissions import GrantUses, ListGrantUses, ListPermissions, RevokeGrant
from screens.base.polling_list_screen import PollingListScreen
from screens.base.polling_screen import QueryPoller
from screens.dialogs.batch_action import BatchActionScreen
from screens.render.formatting import pluralize
from screens.render.layout import Row, Spans
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenPlace, OpenRun
from screens.views.decisions.batch_action import BatchItem, BatchOutcome
from screens.views.lists.grants import (
    GRANT_COLUMNS,
    GRANT_KEY_PREFIX,
    USE_COLUMNS,
    USE_KEY_PREFIX,
    HostPermissions,
    grant_lines,
    grant_words,
    held_by,
    ledger_rows,
    use_rows,
)
from screens.widgets.bar import Bar
from screens.widgets.line_list import LineList
from screens.widgets.row_list import RowList

USES_DELAY_S: Final = 0.1
"""Seconds between two questions for a grant's uses: the cursor may go down the list quickly."""


class GrantsScreen(PollingListScreen):
    """Grants in force come from the link's picture: one that was taken back goes when its event is there. How often
    each was used, and the rules, are asked for when something changed.
    """

    CSS_PATH = "grants.tcss"
    BINDING_GROUP_TITLE = "Permissions"
    ACTS = frozenset({"revoke"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x,D", "revoke", "Revoke", tooltip="Take back the grant, or those selected", id="ledger.revoke"),
        Binding("tab", "app.focus_next", "Next pane", show=False, id="list.next_pane"),
        Binding("a", "audit", "Audit", tooltip="Who decided what, and when", id="ledger.audit"),
    ]
    COLUMNS = GRANT_COLUMNS
    EMPTY = "Nothing is granted, and nothing was denied. Answer a decision with a grant, and it stands here."

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__(session)
        self._known: dict[str, HostPermissions] = {}
        self._uses: dict[str, GrantUses] = {}
        self._asked: dict[str, int] = {}
        self._uses_asker = QueryPoller(self, self._fetch_uses, pause=USES_DELAY_S)

    def side_panes(self) -> ComposeResult:
        with Vertical(id="detail"):
            yield Bar(id="words", ellipsis=self.session.glyphs.ellipsis)
            yield Bar(id="origin", ellipsis=self.session.glyphs.ellipsis)
            yield RowList(USE_COLUMNS, empty="No use of it is known.", glyphs=self.session.glyphs, id="uses")

    async def fetch(self) -> None:
        for host in self.link.host_names:
            seen = known.found.version if (known := self._known.get(host)) is not None else -1
            found = await self.link.ask(ListPermissions(seen=seen), where=host)
            if found.version != seen:
                self._known[host] = HostPermissions(host, found)
        self._uses_asker.poll_soon()

    async def _fetch_uses(self) -> None:
        """The uses of the grant under the cursor one by one, unless as many as there are by now are here."""
        grant_id = self._grant_id
        held, host = held_by(self._known.values(), grant_id)
        if held is not None and held.uses != self._asked.get(grant_id, 0):
            self._uses[grant_id] = await self.link.ask(ListGrantUses(grant_id=grant_id), where=host)
            self._asked[grant_id] = held.uses

    # -- what is shown ---------------------------------------------------------------------------------------

    def crumbs(self) -> Spans:
        return self.trail("permissions")

    def all_rows(self) -> Sequence[Row]:
        return ledger_rows(self.link.grants, self._known.values(), self.session.render_context())

    @property
    def _grant_id(self) -> str:
        key = self.row_list.cursor_key
        return key.removeprefix(GRANT_KEY_PREFIX) if key.startswith(GRANT_KEY_PREFIX) else ""

    def next_problem(self) -> str:
        return super().next_problem() or self._uses_asker.next_problem()

    def draw(self) -> None:
        super().draw()
        self._draw_detail()

    def _draw_detail(self) -> None:
        grant = self.link.grants.get(self._grant_id)
        self.query_one("#detail").set_class(grant is not None, "-shown")
        if grant is None:
            return
        context, uses = self.session.render_context(), self._uses.get(grant.grant_id)
        words, origin = grant_lines(grant, held_by(self._known.values(), grant.grant_id)[0], context)
        self.query_one("#words", Bar).show(words)
        self.query_one("#origin", Bar).show(origin)
        self.query_one("#uses", RowList).show(use_rows(uses, context))

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        if message.lines is self.row_list:
            self._draw_detail()
            self.refresh_bindings()
            self._uses_asker.poll_soon()

    # -- what is done ----------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a grant can be taken back; from its uses `escape` goes to the list."""
        if action == "revoke" and self.is_mounted and not self.why_withheld(action):
            return any(key.startswith(GRANT_KEY_PREFIX) for key in self.selected_keys)
        if action == "up" and self.is_mounted and self.query_one("#uses").has_focus:
            return True
        return super().check_action(action, parameters)

    def action_up(self) -> None:
        if self.query_one("#uses").has_focus:
            self.query_one("#detail").remove_class("-open")
            self.row_list.focus()
        else:
            super().action_up()

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """From a grant to its uses; from a use to its run; of a rule, where it stands."""
        if message.lines.id == "uses":
            self.post_message(OpenRun(message.key.partition(":")[2]))
        elif message.key.startswith(USE_KEY_PREFIX):
            self.post_message(OpenRun(message.key.removeprefix(USE_KEY_PREFIX).partition(":")[0]))
        elif message.key.startswith(GRANT_KEY_PREFIX):
            self.query_one("#detail").add_class("-open")
            self.query_one("#uses").focus()
        elif source := self._source(message.key):
            self.show_message(f"This rule stands in {source}")

    def _source(self, key: str) -> str:
        host, _, number = key.partition(":")[2].rpartition(":")
        rules = [(known.host, rule) for known in self._known.values() for rule in known.found.rules]
        at = int(number)
        return rules[at][1].source if at < len(rules) and rules[at][0] == host else ""

    def action_audit(self) -> None:
        self.post_message(OpenPlace("audit"))

    def action_revoke(self) -> None:
        """Ask first, in the words of the grants; they go from the list when it has happened."""
        if not self.may_act():
            return
        context = self.session.render_context()
        ids = [key.removeprefix(GRANT_KEY_PREFIX) for key in self.selected_keys if key.startswith(GRANT_KEY_PREFIX)]
        grants = [self.link.grants[grant_id] for grant_id in ids if grant_id in self.link.grants]
        if not grants:
            return

        async def revoke(grant_id: str) -> None:
            await self.link.ask(RevokeGrant(grant_id=grant_id))

        items = [BatchItem(grant.grant_id, grant_words(grant, context)) for grant in grants]
        question = f"Take back {pluralize(len(grants), 'grant')}? The next attempt that needs one is asked about again."
        done = BatchOutcome("succeeded", "taken back")
        self.app.push_screen(BatchActionScreen(self.session, "Revoke", items, revoke, done=done, question=question))
