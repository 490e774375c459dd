"""Texts of MCP servers on screens: what a server says of its tools, asks, and answers, and what starts it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from orbiter.mcp.content import result_blocks
from orbiter.mcp.definition import InvalidServer, parse_server
from orbiter.mcp.questions import read_requests
from orbiter.mcp.tool_definition import difference, read_definition
from orbiter.types import content_text
from runtime.judgement.forms.schema_form import form_of
from runtime.judgement.reports.incident_report import build_report
from runtime.link.client.streamed_text import StreamedText
from screens.render.layout import Span
from screens.views.decisions.answer_form import row_description, row_label
from screens.views.decisions.prompt import title_line
from screens.views.decisions.prompt_lines import PromptContent, question_lines
from screens.views.lists.inbox import inbox_rows
from screens.views.run.node import node_lines
from screens.views.run.report import report_lines
from screens.views.run.tree import RunTree
from tests.screens.stories import RATE_LIMITED, Story, summaries_of, waiting_of
from tests.screens.views.story_views import HOSTILE, at, defused, payload


@pytest.mark.parametrize("found", HOSTILE, ids=lambda found: found["id"])
def test_no_screen_lets_a_servers_text_through(found: dict[str, Any]) -> None:
    bad = payload(found)
    schema = {"type": "object", "title": bad, "properties": {"a": {"type": "string", "title": bad, "description": bad}}}
    was, now = (read_definition({"name": "read", "description": each, "inputSchema": schema}) for each in ("", bad))
    if was is None or now is None:
        assert len(bad) > 10_000 or not bad.isprintable(), "left out, for no reason"
        return
    asked = read_requests({"q": {"params": {"message": bad, "requestedSchema": schema}}})["q"]
    story = Story(title="go")
    agent = story.open("agent", "reader", story.begin("mcp.py:reader"))
    tool = story.start("tool", "ref.read", agent, agent="reader", arguments={"path": bad})
    try:
        shown = parse_server("ref", {"command": bad or "x", "args": [bad], "env": {bad: bad}}, ".mcp.json").describe()
    except InvalidServer:
        shown = {}
    working = Story(title="go")
    call = working.start("tool", "ref.read", working.begin("mcp.py:reader"))
    story.park(
        tool,
        msgspec.structs.replace(RATE_LIMITED, user_message=bad, technical=bad),
        message=content_text(result_blocks({"content": [{"type": "text", "text": bad}]})),
        action={"tool": "ref.read", "arguments": {"path": bad}, "mcp_server": shown},
        question=f"{asked['message']}\n{difference(was, now)}",
    )
    context, incident = at(story), story.state.open_incidents[0]
    opened = msgspec.structs.replace(incident.opened, answer_schema=asked["schema"], url=bad)
    form = form_of(asked["schema"])
    assert form.fields
    waiting = [msgspec.structs.replace(each, proposed=bad or "x", proposed_by=bad) for each in waiting_of(story)]
    defused([
        *(cell for row in inbox_rows(summaries_of(story), waiting, context) for cell in row.cells),
        *(cell for key in story.state.nodes for cell in RunTree(story.state, context).row(key).cells),
        *RunTree(working.state, at(working), texts=lambda _: StreamedText(1, bad)).row(call).cells,
        *node_lines(story.state, tool, context),
        *report_lines(build_report(story.state, opened), context),
        *question_lines(PromptContent(opened), context),
        title_line(opened, context),
        *(row_label(form, field, context) for field in form.fields),
        *((Span(row_description(field, context)),) for field in form.fields),
    ])  # fmt: skip
