"""One inbox over several hosts: each row says where."""

from __future__ import annotations

from runtime.record.inbox_row import InboxRow
from screens.views.lists.inbox import inbox_rows
from screens.views.shared.render_context import RenderContext
from tests.screens.stories import digest, finished


def test_each_row_says_where_and_foreign_names_go_through_the_gate() -> None:
    waiting, done = digest(), finished()
    hosts = {waiting.run_id: "build", done.run_id: "lab\x1b]0;x\x07"}
    inbox = [
        InboxRow(run_id=waiting.run_id, title=waiting.title, opened=incident.opened)
        for incident in waiting.state.open_incidents
    ]
    summaries = {story.run_id: story.state.summary() for story in (waiting, done)}
    rows = inbox_rows(summaries, inbox, RenderContext(waiting.at), lambda run_id: hosts[run_id])
    titles = ["".join(span.text for span in row.cells[1]) for row in rows if not row.heading]
    assert titles[:2] == ["build · weekly digest", "build · weekly digest"]
    assert titles[2].startswith("lab")
    assert titles[2].endswith(" · translate manual")
    assert all(char.isprintable() for char in titles[2])
    alone = inbox_rows(summaries, inbox, RenderContext(waiting.at))
    assert next("".join(span.text for span in row.cells[1]) for row in alone if not row.heading) == "weekly digest"
