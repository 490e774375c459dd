"""What the run screen shows of a state: node detail, tree, waits, status, analysis; each without a terminal."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.param_validation import check_params
from runtime.judgement.reports.incident_report import build_report
from runtime.judgement.reports.wait_graph import wait_chain
from runtime.link.client.streamed_text import StreamedText
from runtime.operations.requests.event_object import EventObject
from runtime.record.state import events as ev
from screens.pages.run_detail import DetailPages
from screens.render.glyphs import ASCII_GLYPHS
from screens.render.layout import (
    LINK_INK,
    Spans,
    plain_text,
)
from screens.render.tree_outline import outline
from screens.shell.context import ConsoleContext
from screens.views.decisions.prompt import (
    deadline_line,
)
from screens.views.decisions.prompt_choices import PromptChoice, prompt_choices
from screens.views.decisions.prompt_lines import PromptContent, question_lines
from screens.views.decisions.run_actions import RUN_ACTIONS, RunAction
from screens.views.decisions.typed_answer import asked_for
from screens.views.run import timeline
from screens.views.run.node import MAX_VALUE_CHARS, node_lines
from screens.views.run.report import advised_option, link_events, report_lines
from screens.views.run.status import status_line
from screens.views.run.tree import RunTree, filter_nodes
from screens.views.run.waits import waits_lines
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import BROKEN_TOOL, MISSING, RATE_LIMITED, START, Story, digest, finished
from tests.screens.views.story_views import HOSTILE, at, defused, node, payload, words

# -- a node ----------------------------------------------------------------------------------------------------


def test_a_models_call_shows_what_it_was_sent_and_what_was_tried() -> None:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    messages = [{"role": "system", "content": "Be short.\nBe kind."}, {"role": "user", "content": "Look."}]
    call = story.start("llm", "m", agent, agent="a", messages=messages, count=2, digest="d")
    story.wait(2).fail(call, RATE_LIMITED)
    story.retry(call, 2.0)
    story.wait(2).start("llm", "m", agent, attempt=2, agent="a")
    found = words(node_lines(story.state, call, at(story), streamed=StreamedText(2, "Hel", "hm")))
    assert found[found.index("Thinking") + 1] == "hm"
    assert found[found.index("So far") + 1] == "Hel"
    assert found[found.index("Messages") + 1 :][:3] == ["system  Be short.", "  Be kind.", "user  Look."]
    asked = "\n".join(found[found.index("Asked for") :])
    assert '"count": 2' in asked
    assert "messages" not in asked
    attempts = found[found.index("Attempts") + 1]
    assert attempts == " 1  ✗ rate limited after 0s at 09:00:02, then a pause of 2.0s (backoff)"


def test_a_call_that_goes_on_says_in_its_row_how_far_it_has_come() -> None:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    call = story.start("tool", "ref.slow", agent, agent="a", arguments={"path": "x"})
    model = story.start("llm", "m", agent, agent="a")
    said = {call: StreamedText(1, "1 of 3\n2 of 3 re\x1b[2Jading\n"), model: StreamedText(1, "Hello")}

    def rows() -> list[str]:
        tree = RunTree(story.state, at(story), texts=said.get)
        return [plain_text(tree.row(key).cells[0]) for key in (call, model)]

    first, second = rows()
    assert first.endswith("ref.slow x  2 of 3 re␛[2Jading")
    assert "1 of 3" not in first
    assert "Hello" not in second, "a reply is read on its page"
    story.end(call, "done")
    assert rows()[0].endswith("ref.slow x")


def test_a_big_value_is_cut_and_the_cut_says_how_much_it_took() -> None:
    story = Story()
    tool = story.start("tool", "read", story.open("agent", "a", story.begin()))
    story.end(tool, "x" * 50 + "\n" + "y" * 100_000)
    found = words(node_lines(story.state, tool, at(story)))
    assert sum(map(len, found)) < MAX_VALUE_CHARS + 1000
    assert any("more characters" in line for line in found)


def test_a_long_conversation_keeps_its_beginning_and_its_end() -> None:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    messages = [{"role": "user", "content": f"word {number}"} for number in range(100)]
    call = story.start("llm", "m", agent, messages=messages)
    found = words(node_lines(story.state, call, at(story)))
    said = [line for line in found if line.startswith("user")]
    assert (said[0], said[-1], len(said)) == ("user  word 0", "user  word 99", 40)
    assert "… 60 more messages between these" in found


def test_grants_decisions_and_changes_by_people_are_told() -> None:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    story.tell(ev.GrantUsed(grant_id="g-1", need="fs.write:/x"), f"{agent}/write~0", agent)
    tool = story.start("tool", "write", agent, 0)
    story.fail(tool, BROKEN_TOOL)
    incident = story.park(tool, BROKEN_TOOL)
    story.answer(incident, "edit", who="grace", arguments={"path": "/y"})
    started = ev.StepStarted(kind="tool", name="write", agent="a", attempt=2, epoch=1,
                             effective={"arguments": {"path": "/y"}})  # fmt: skip
    story.tell(started, tool, agent)
    found = words(node_lines(story.state, tool, at(story)))
    assert "fs.write:/x by grant g-1 at 09:00:00" in found
    assert "✓ Answered: Edit the arguments and retry by grace (console) after 0s" in found
    assert '    "path": "/y"' in found[found.index("Carried out instead") :]


def test_an_error_of_an_attempt_before_the_one_that_succeeded_is_no_error_of_the_node() -> None:
    story = digest()
    found = words(node_lines(story.state, node(story, "researcher~1/openai:gpt-4o~0"), at(story)))
    assert "Error" not in found
    assert "Attempts" in found


# -- the tree, narrowed ----------------------------------------------------------------------------------------


def left(story: Story, pattern: str = "", *, faults_only: bool = False) -> list[str]:
    only = filter_nodes(story.state, RowFilter(pattern), faults_only=faults_only)
    return [line.key.rpartition("/")[2] for line in outline(RunTree(story.state, at(story), only), {})]


def test_faults_only_keeps_what_waits_and_what_is_above_it() -> None:
    assert left(digest(), faults_only=True) == ["weekly_digest~0", "researcher~1", "write_file~2"]
    assert left(finished(), faults_only=True) == []


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("planner", ["weekly_digest~0", "planner~0", "openai:gpt-4o~0"]),
        ("releases|write", ["weekly_digest~0", "researcher~1", "search_releases~1", "write_file~2"]),
        ("!model", ["weekly_digest~0", "planner~0", "researcher~1", "search_releases~1", "write_file~2"]),
        ("waiting", ["weekly_digest~0", "researcher~1", "write_file~2"]),
    ],
)
def test_a_filter_keeps_what_it_means_unfolded_below_what_is_above_it(pattern: str, keys: list[str]) -> None:
    assert left(digest(), pattern) == keys


@pytest.mark.parametrize("width", [4, 50])
def test_a_reply_in_the_making_is_at_the_end_and_its_beginning_goes_in_steps(width: int) -> None:
    story = Story()
    call = story.start("llm", "m", story.open("agent", "a", story.begin()), messages=[])

    def so_far(text: str) -> list[str]:
        found = words(node_lines(story.state, call, at(story), streamed=StreamedText(1, text)))
        return found[found.index("So far") + 1 :]

    rows = [f"{number:0{width}}" for number in range(4000)]
    assert so_far("\n".join(rows[:3])) == rows[:3]
    before, *found = so_far("\n".join(rows[:3001]))
    assert found[-100:] == rows[2901:3001]
    number = len("\n".join(rows[:3001])) - len("\n".join(found))
    assert before == f"... {number} characters before"
    changes = {so_far("\n".join(rows[:number]))[1] for number in range(3001, 3051)}
    assert len(changes) <= 2, "it goes in steps"


def test_calls_of_one_tool_are_told_apart_by_what_they_were_called_with() -> None:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    for number in range(3):
        story.start("tool", "fetch", agent, number, arguments={"url": f"http://h{number}/\u202e", "deep": {"n": 1}})
    tree = RunTree(story.state, at(story))
    lines = [plain_text(tree.row(child).cells[0]) for child in tree.children(agent)]
    assert lines[2] == "● fetch http://h2/⟨U+202E⟩, {'n': 1}"
    assert len(set(lines)) == 3
    assert left(story, "h1/") == ["weekly_digest~0", "a~0", "fetch~1"]
    long = story.start("tool", "fetch", agent, 3, arguments={"text": "begin" + "x" * 100_000 + "end"})
    found = plain_text(tree.row(long).cells[0])
    assert found.startswith("● fetch beginx")
    assert found.endswith("xend")
    assert len(found) < 100


def test_an_agent_of_another_framework_is_shown_as_one() -> None:
    story = Story()
    guest = story.open("agent", "bank", story.begin(), framework="pydantic-ai\u202e")
    own = story.open("agent", "own", story.state.roots[0], 1)
    tree = RunTree(story.state, at(story))
    shown = [plain_text(tree.row(key).cells[0]) for key in (guest, own)]
    assert shown == ["● bank agent (pydantic-ai⟨U+202E⟩)", "● own"]
    assert "agent (pydantic-ai⟨U+202E⟩)" in words(node_lines(story.state, guest, at(story)))[2]


def test_what_came_a_moment_ago_is_marked_as_new_but_not_what_was_there_at_first() -> None:
    story = digest()
    since = story.at
    new = story.wait(1).start("tool", "late", story.state.roots[0], 9)
    tree = RunTree(story.state, at(story), None, since)
    assert [key for key in story.state.nodes if tree.fresh(key)] == [new]
    assert not RunTree(story.state, at(story.wait(30)), None, since).fresh(new)


def test_a_node_that_a_rewind_dropped_since_the_last_look_is_an_empty_line() -> None:
    story = digest()
    tree = RunTree(story.state, at(story), None, START)
    assert not any(plain_text(cell) for cell in tree.row("gone").cells)
    assert len(tree.row("gone").cells) == len(tree.row(story.state.roots[0]).cells)
    assert not tree.fresh("gone")


# -- waits, status ---------------------------------------------------------------------------------------------


def test_the_chain_leads_down_to_what_holds_it_up() -> None:
    story = digest()
    found = words(waits_lines(wait_chain(story.state), at(story)))
    assert found[0] == "● weekly_digest  waits for researcher"
    assert found[2] == "    ◆ write_file  a permission that an operator has to grant or deny"
    assert "since    3m ago" in found
    assert "needs you  run-1-inc-1" in found


def test_a_pause_counts_down() -> None:
    story = Story()
    call = story.start("llm", "m", story.open("agent", "a", story.begin()))
    story.retry(call, 30)
    assert "until    in 19s" in words(waits_lines(wait_chain(story.state), at(story.wait(12))))


def test_a_freeze_shows_what_is_still_in_flight_until_nothing_is() -> None:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    one, two = story.start("tool", "fetch_page", agent, 0), story.start("tool", "search", agent, 1)
    assert status_line(story.state, at(story)) == ()
    story.tell(ev.RunFrozen(by=ev.Actor(name="ada")))
    said = plain_text(status_line(story.state, at(story.wait(3))))
    assert said == "freezing: 2 calls still out: fetch_page 3s, search 3s"
    story.end(one, "x")
    assert "1 call still out: search" in plain_text(status_line(story.state, at(story)))
    story.end(two, "x")
    assert plain_text(status_line(story.state, at(story))) == "frozen: no call is out, p thaws"
    story.tell(ev.RunThawed())
    story.tell(ev.RunFrozen(reason="look [b]first[/b]\x1b[2J"))
    said = plain_text(status_line(story.state, at(story)))
    assert said.startswith("frozen: look [b]first[/b]")
    assert "; no call is out, p thaws" in said
    assert "\x1b" not in said


def test_a_run_that_was_turned_back_says_to_where_and_by_whom_though_nothing_is_left_of_it() -> None:
    story = Story()
    root = story.begin()
    story.start("tool", "fetch", story.open("agent", "first", root), 0)
    story.tell(ev.RewindRequested(by=ev.Actor(name="ada")), root)
    assert plain_text(status_line(story.state, at(story))) == "being started again from weekly_digest by ada"
    story.tell(ev.RunRewound(by=ev.Actor(name="ada"), dropped=3), root)
    assert not story.state.nodes
    said = plain_text(status_line(story.state, at(story.wait(120))))
    assert said.endswith("started again from weekly_digest by ada 2m ago; 3 nodes dropped")


def test_breakpoints_are_told() -> None:
    story = digest()
    story.tell(ev.BreakpointSet(what="tool", pattern="send_*"))
    assert plain_text(status_line(story.state, at(story))) == "stops before tool send_*"


# -- analysis and prompt ---------------------------------------------------------------------------------------


def analysed(text: str) -> Story:
    story = digest()
    story.analyse("run-1-inc-1", text)
    return story


def test_while_a_model_is_asked_the_report_says_whom_and_shows_what_has_come() -> None:
    story = digest()
    incident = story.state.incidents["run-1-inc-1"]
    opened = incident.opened
    story.tell(ev.AnalysisStarted(incident_id=opened.incident_id, model="anthropic:haiku"), opened.node_id)
    report = build_report(story.state, opened)
    found = words(report_lines(report, at(story.wait(3)), incident, StreamedText(1, "The folder")))
    assert found[-2:] == ["Analysis: asking anthropic:haiku, 3s", "  The folder"]


def test_an_analysis_is_marked_as_a_models_and_its_references_are_links() -> None:
    story = analysed("Denied [#14] as before [#9999].\nRecommended: deny - it is outside.\nWrong if: the folder moved.")
    incident = story.state.incidents["run-1-inc-1"]
    incident.analysis = incident.analysis and replace(incident.analysis, cost_usd=0.02)
    lines = report_lines(build_report(story.state, incident.opened), at(story), incident)
    found = words(lines)
    assert "Analysis: scripted:analyst says, not checked · $0.02" in found
    assert "  Wrong if: the folder moved." in found
    assert found[-1] == "  Would choose: Deny, with a word to the agent"
    assert [piece.text for line in lines for piece in line if piece.ink == LINK_INK] == ["[#14]"]
    assert advised_option(incident) == "deny"


@pytest.mark.parametrize("text", ["Recommended: launch - now.", "Recommended: GRANT_ALL", "no word of it"])
def test_what_is_no_option_of_the_incident_is_recommended_by_nobody(text: str) -> None:
    assert advised_option(analysed(text).state.incidents["run-1-inc-1"]) == ""


def test_a_reference_is_no_link_where_no_such_event_can_be() -> None:
    assert [piece.ink for piece in link_events("see [#7] and [#0] and [#12]", 9)] == ["ink", LINK_INK, "ink"]


def test_the_deadline_counts_down_and_says_what_happens_then() -> None:
    story = digest()
    opened = story.state.incidents["run-1-inc-1"].opened
    assert deadline_line(opened, at(story)) == ()
    timed = replace(opened, deadline=story.at + timedelta(seconds=70))
    assert plain_text(deadline_line(timed, at(story))) == "in 1m11s, without an answer: Deny, with a word to the agent"
    due = replace(opened, deadline=story.at - timedelta(seconds=1))
    assert plain_text(deadline_line(due, at(story))).startswith("now, without an answer")
    # Nothing ran when it was due: its whole time is given again.
    long_ago = {"deadline": story.at - timedelta(seconds=9), "ts": story.at - timedelta(seconds=69)}
    passed = replace(opened, **long_ago)
    assert plain_text(deadline_line(passed, at(story))).startswith("within another 1m00s, without an answer: Deny")


def asked(schema: dict[str, Any] | None, question: str = "Which?", **more: Any) -> ev.IncidentOpened:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    story.park(story.start("value", "ask", agent), MISSING, question=question)
    return replace(story.state.open_incidents[0].opened, answer_schema=schema, **more)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (None, ""),
        ({"type": "string"}, ""),
        ({"enum": ["red", "blue"]}, 'one of "red", "blue"'),
        ({"type": "boolean"}, "yes or no"),
        ({"type": "integer"}, "a whole number"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, 'several, with commas between them: "a", "b"'),
    ],
)
def test_what_kind_of_answer_is_wanted_is_said(schema: dict[str, Any] | None, says: str) -> None:
    opened = asked(schema)
    choice = next(each for each in prompt_choices(opened, RenderContext(START)) if each.option == "input")
    assert asked_for(opened, choice, RenderContext(START)) == says


def test_whoever_extends_a_budget_sees_what_of_it_is_used() -> None:
    budget = {"limit": "max_steps", "scope": "a~0", "of": "a", "used": 6, "allowed": 6, "ends": "failed"}
    opened = asked(None, question="", action={"budget": budget})
    lines = [plain_text(line) for line in question_lines(PromptContent(opened), RenderContext(START))]
    assert "Limit  max_steps: 6 of 6 used, by a" in lines
    choice = PromptChoice("x", "extend", "Extend the budget", param=OPTIONS["extend"].asked_param)
    assert asked_for(opened, choice, RenderContext(START)) == "how much more (max_steps: 6 of 6 used, by a)"


def test_what_does_not_fit_is_said_before_it_is_sent() -> None:
    check_params(asked({"type": "integer"}), "input", {"value": "12"}, START)
    with pytest.raises(ValueError, match="integer"):
        check_params(asked({"type": "integer"}), "input", {"value": "many"}, START)
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    opened = asked(None, "", arguments_schema=schema, action={"arguments": {"path": "x"}})
    check_params(opened, "edit", {"arguments": {"path": "y"}}, START)
    with pytest.raises(ValueError, match="path"):
        check_params(opened, "edit", {"arguments": {}}, START)
    with pytest.raises(ValueError, match="not a parameter"):
        check_params(opened, "edit", {"arguments": {"path": "y", "mode": "w"}}, START)


def hostile_story(bad: str) -> Story:
    """Every string that a model, a tool, a provider, or a user's file or name can fill is filled."""
    story = Story(title=bad)
    root = story.begin(bad)
    agent = story.open("agent", bad, root, task=bad)
    messages = [{"role": bad, "content": bad, "tool_calls": [{"name": bad, "arguments": bad}]}, {"content": [bad]}]
    call = story.start("llm", bad, agent, 0, agent=bad, messages=messages, count=9, tools=[bad])
    fault = replace(RATE_LIMITED, technical=bad, provider=bad, user_message=bad)
    story.fail(call, fault)
    scheduled = ev.RetryScheduled(attempt=2, max_attempts=4, delay_s=1, until=story.at, source=bad, reason=bad)
    story.tell(scheduled, call, agent)
    story.tell(ev.StepFellBack(from_model=bad, to_model=bad, reason=bad), call, agent)
    tool = story.start("tool", bad, agent, 1, agent=bad, arguments={bad: bad})
    story.tell(ev.GrantUsed(grant_id=bad, need=bad), tool, agent)
    story.tell(ev.Warned(text=bad), tool, agent)
    story.park(tool, fault, message=bad, action={"tool": bad, "arguments": {bad: bad}}, question=bad, task=bad)
    opened = story.state.open_incidents[0].opened
    story.tell(ev.AnalysisStarted(incident_id=opened.incident_id, model=bad), tool, agent)
    story.tell(ev.BreakpointSet(what="tool", pattern=bad))
    story.tell(ev.RunFrozen(by=ev.Actor(name=bad)))
    return story


def panes(story: Story, bad: str, glyphs: Any = None) -> list[Spans]:
    """All lines of all new panes."""
    context = at(story, glyphs)
    state = story.state
    link = MemoryLink(story)
    for key in (*state.nodes, *state.incidents):
        link.streamed[story.run_id, key] = StreamedText(1, bad, bad)
    incident = next(iter(state.incidents.values()))
    pages = DetailPages(ConsoleContext(link, glyphs=context.glyphs, clock=lambda: context.now))
    lines = [status_line(state, context)]
    scale = timeline.scale_of(state, context.now, 30)
    tree = timeline.Timeline(state, context, scale=scale)
    for key in state.nodes:
        lines += pages.page_for(state, key, incident.opened.incident_id).lines
        lines += node_lines(state, key, context, streamed=StreamedText(1, bad, bad))
        lines += waits_lines(wait_chain(state, key), context)
        lines += tree.row(key).cells
        for make in RUN_ACTIONS.values():
            found = make(state, key, context)
            if isinstance(found, RunAction):
                lines += [*found.lines, ((found.title, "", False),)]  # type: ignore[list-item]
            else:
                lines.append(((found, "", False),))  # type: ignore[arg-type]
    pages.show_event(EventObject({"seq": 3, "type": bad, "ts": bad, bad: [bad], "node_id": bad}))
    lines += pages.page_for(state, "", "").lines
    story.analyse(incident.opened.incident_id, f"{bad}\n[#3]\nRecommended: {bad}", bad)
    lines += report_lines(build_report(state, incident.opened), context, incident)
    schema = {"enum": [bad], "properties": {bad: {"type": bad}}}
    opened = replace(incident.opened, answer_schema=schema, arguments_schema=schema, deadline=context.now, safe=bad)
    lines += [deadline_line(opened, context)]
    return lines


@pytest.mark.parametrize("found", HOSTILE, ids=lambda found: found["id"])
def test_no_pane_of_a_run_lets_hostile_text_through(found: dict[str, Any]) -> None:
    bad = payload(found)
    defused(panes(hostile_story(bad), bad))
    defused(panes(hostile_story(bad), bad, ASCII_GLYPHS), ascii_only=True)


@given(bad=st.text(st.characters(codec="utf-8"), max_size=40) | st.text("\x1b[]/@0;m\u202e\u200d\n\r\t", max_size=30))
def test_no_pane_of_a_run_lets_any_text_through(bad: str) -> None:
    defused(panes(hostile_story(bad), bad))
