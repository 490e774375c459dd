"""From events to spans: recorded runs, read from anywhere, turned back, forked, died; hostile and secret texts."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from orbiter.redaction import Redactor
from runtime.judgement.faults.cause_text import CAUSE_TEXT
from runtime.judgement.traces import conventions as c
from runtime.judgement.traces import ids
from runtime.judgement.traces.attribute_text import MAX_VALUE_CHARS, AttributeText
from runtime.judgement.traces.run_spans import RunSpans
from runtime.judgement.traces.span import Span, TraceSettings, nanoseconds
from runtime.operations.run_controls import RunControls
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause, Classification, Origin, Persistence
from tests.runtime.bench import ME, Bench

HOSTILE = Path(__file__).parents[3] / "data" / "hostile-text.json"
BEGAN = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
BARE = TraceSettings()
FULL = TraceSettings(flavours=("langfuse", "phoenix"), content=True)


def folded(events: list[ev.JournalEvent], settings: TraceSettings = BARE, secrets: tuple[str, ...] = ()) -> list[Span]:
    spans = RunSpans(settings, AttributeText(Redactor((), secrets)))
    return [span for event in events for span in spans.apply(event)]


def check_tree(spans: list[Span]) -> Span:
    """One trace with one root, every parent there, nothing twice; the root."""
    assert len({span.trace for span in spans}) == 1
    assert max(Counter(span.id for span in spans).values()) == 1
    (root,) = [span for span in spans if not span.parent]
    known = {span.id for span in spans}
    assert {span.parent for span in spans} - {0} <= known
    assert all(span.start <= span.end for span in spans)
    return root


def named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span.name == name]


async def test_a_run_is_a_tree_of_the_conventions_spans(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("chatty")
        await bench.ended(run)
    events = await bench.journal.read(run)
    spans = folded(events)
    root = check_tree(spans)
    assert [span.name for span in sorted(spans, key=lambda each: each.start)] == [
        "invoke_workflow zoo.py:chatty",
        "invoke_agent chatty",
        "chat zoo/chatty",
        "execute_tool look",
        "chat zoo/chatty",
        "execute_tool note",
        "chat zoo/chatty",
    ]
    (agent,) = named(spans, "invoke_agent chatty")
    assert agent.parent == root.id
    assert all(span.parent == agent.id for span in spans if span not in (root, agent))
    (look,) = named(spans, "execute_tool look")
    assert look.attributes == {
        c.OPERATION: "execute_tool",
        c.TOOL_NAME: "look",
        c.TOOL_TYPE: "function",
        c.TOOL_CALL_ID: "call_21b3012c2daa_0",
        c.AGENT: "chatty",
        c.ATTEMPT: 1,
        c.CONVERSATION: run,
        c.RUN_ID: run,
        c.NODE_PATH: "chatty~0/look~0.0",
    }
    second = sorted(named(folded(events, FULL), "chat zoo/chatty"), key=lambda each: each.start)[1]
    asked, answered = json.loads(str(second.attributes[c.INPUT_MESSAGES]))[-2:]
    ids_of_calls = {asked["parts"][-1]["id"], answered["parts"][0]["id"]}
    assert ids_of_calls == {look.attributes[c.TOOL_CALL_ID]}, "a receiver pairs a call and its result by the id"
    first = min(named(spans, "chat zoo/chatty"), key=lambda each: each.start)
    assert first.kind == "client"
    wanted = {
        c.OPERATION: "chat",
        c.PROVIDER: "scripted",
        c.REQUEST_MODEL: "zoo/chatty",
        c.FINISH_REASONS: ["tool_calls"],
    }
    assert wanted | {c.INPUT_TOKENS: 106, c.OUTPUT_TOKENS: 5} | first.attributes == first.attributes
    ended = next(event for event in events if isinstance(event, ev.StepEnded))
    assert abs((first.end - first.start) / 1e9 - ended.seconds) < 1e-6, "as long as the call took"
    assert (root.start, root.end) == (nanoseconds(events[0].ts), nanoseconds(events[-1].ts))
    assert root.attributes | {c.OPERATION: "invoke_workflow", c.AGENT: "zoo.py:chatty"} == root.attributes
    assert (root.attributes[c.RUN_STATE], root.attributes[c.RUN_LIVES]) == ("completed", 1)
    content = (c.INPUT_MESSAGES, c.OUTPUT_MESSAGES, c.TOOL_ARGUMENTS, c.TOOL_RESULT, c.SYSTEM_INSTRUCTIONS)
    assert not [key for span in spans for key in content if key in span.attributes], "content is off"


async def test_a_reader_that_begins_anywhere_makes_the_same_spans_once(bench: Bench) -> None:
    """What the exporter's cursor relies on: a fold of all events up to it goes on as if it had never stopped."""
    async with bench.driving():
        runs = [await bench.start(name) for name in ("chatty", "workflow", "team", "asker")]
        for run in runs[2:]:
            (asked,) = await bench.incidents(run)
            await bench.answer(asked, "input", value="me")
        for run in runs:
            await bench.ended(run)
    for run in runs:
        events = await bench.journal.read(run)
        whole = folded(events, FULL)
        check_tree(whole)
        for cut in range(len(events)):
            spans = RunSpans(FULL, AttributeText(Redactor()))
            before = [span for event in events[:cut] for span in spans.apply(event)]
            again = RunSpans(FULL, AttributeText(Redactor()))
            for event in events[:cut]:
                again.apply(event)
            assert [*before, *(span for event in events[cut:] for span in again.apply(event))] == whole


async def test_each_attempt_is_a_span_and_a_wait_for_a_person_is_one_with_the_decision(bench: Bench) -> None:
    async with bench.driving():
        limited = await bench.start("limited")
        await bench.ended(limited)
        asking, found = await bench.asked("asker")
        await bench.ended_by(found, "input", value="me", reason="I know")
    spans = folded(await bench.journal.read(limited))
    check_tree(spans)
    first, second = sorted(named(spans, "chat zoo/limited"), key=lambda each: each.start)
    assert (first.failed, first.attributes[c.ERROR_TYPE], first.attributes[c.ATTEMPT]) == (True, "rate_limited", 1)
    assert first.error == CAUSE_TEXT[Cause.RATE_LIMITED], "without content our own sentence"
    assert c.INPUT_TOKENS not in first.attributes
    assert (second.failed, second.attributes[c.ATTEMPT]) == (False, 2)
    assert first.end <= second.start

    spans = folded(await bench.journal.read(asking))
    check_tree(spans)
    (waited,) = named(spans, "incident missing_input")
    (tool,) = named(spans, "execute_tool ask")
    assert waited.parent == tool.id, "the tool asked from within"
    assert waited.attributes[c.INCIDENT_ID] == found.opened.incident_id
    assert waited.attributes[c.INCIDENT_STATE] == "answered"
    (decided,) = waited.events
    assert (decided.name, decided.at) == ("decision", waited.end)
    assert decided.attributes == {c.DECISION: "input", c.CHANNEL: "cli", c.ACTOR: "tester"}


async def test_a_run_that_is_turned_back_has_one_root_and_no_id_twice(bench: Bench) -> None:
    """After its end it goes on in spans of their own below the root; what had ended is open again as another span."""
    async with bench.driving():
        run = await bench.start("chatty")
        await bench.ended(run)
        await RunControls(bench.journal).rewind(run, "chatty~0/look~0.0", by=ME, confirm=True)
        await bench.until(run, lambda state: bool(state.rewound) and state.terminal)
    spans = folded(await bench.journal.read(run))
    root = check_tree(spans)
    first, second = named(spans, "invoke_workflow zoo.py:chatty")
    assert (first, second.parent) == (root, root.id)
    before, after = sorted(named(spans, "invoke_agent chatty"), key=lambda each: each.start)
    assert (before.parent, after.parent) == (root.id, second.id)
    looked = named(spans, "execute_tool look")
    assert {span.parent for span in looked} == {before.id, after.id}
    assert len(looked) == 2


# -- what no run of the bench does -------------------------------------------------------------------------------------


class Recorder:
    """Events of a run, one second apart."""

    def __init__(self, title: str = "demo", **more: Any) -> None:
        self.events: list[ev.JournalEvent] = []
        self.add(ev.RunCreated(ref="x.py:demo", title=title, input="do it", by=ev.Actor(name="ann"), **more))
        self.add(ev.RunStarted(epoch=1, owner="a#1"))

    def add(self, event: ev.JournalEvent) -> None:
        seq = len(self.events) + 1
        at = BEGAN + timedelta(seconds=seq)
        self.events.append(replace(event, run_id="r1", seq=seq, ts=at))

    def agent(self, name: str = "a", task: str = "do it") -> None:
        self.add(ev.NodeOpened(node_id="a~0", kind="agent", name=name, info={"task": task}))

    def step(self, kind: Any, name: str, attempt: int = 1, epoch: int = 1, **more: Any) -> None:
        node: dict[str, Any] = {"node_id": f"a~0/{kind}~0", "parent_id": "a~0", "attempt": attempt}
        self.add(ev.StepStarted(kind=kind, name=name, agent="a", epoch=epoch, **node, **more))

    def end(self, kind: str, attempt: int = 1, **more: Any) -> None:
        self.add(ev.StepEnded(node_id=f"a~0/{kind}~0", parent_id="a~0", attempt=attempt, **more))

    def finish(self, output: str = "done") -> list[ev.JournalEvent]:
        self.add(ev.NodeClosed(node_id="a~0", state="succeeded", output=output))
        self.add(ev.RunFinished(state="completed", output=output))
        return self.events


def test_an_attempt_ends_with_its_process_and_with_a_park() -> None:
    found = Recorder()
    found.agent()
    found.step("tool", "slow")  # 4
    found.add(ev.RunStarted(epoch=2, owner="b#1"))
    found.step("tool", "slow", 2, 2)  # 6
    found.add(ev.RunParked(reason="stop"))  # 7
    found.add(ev.RunStarted(epoch=3, owner="b#2"))
    found.step("tool", "slow", 3, 3)  # 9
    found.end("tool", 3, seconds=0.25)  # 10
    spans = folded(found.finish())
    check_tree(spans)
    died, parked, done = named(spans, "execute_tool slow")
    assert (died.attributes[c.OUTCOME], died.attributes[c.ERROR_TYPE], died.failed) == ("process_died",) * 2 + (True,)
    assert died.end == nanoseconds(BEGAN + timedelta(seconds=4)), "when it was last heard of"
    assert (parked.attributes[c.OUTCOME], parked.failed, parked.end - parked.start) == ("parked", False, 1_000_000_000)
    assert done.end - done.start == 250_000_000
    root = next(span for span in spans if not span.parent)
    assert root.attributes[c.RUN_LIVES] == 3


def test_a_fork_points_to_its_origin_and_has_no_span_of_what_it_copied() -> None:
    found = Recorder(options={"fork": {"of": "r0"}})
    found.agent()
    found.step("llm", "openai:gpt", epoch=0)
    fault = Classification(origin=Origin.MODEL, cause=Cause.RATE_LIMITED, persistence=Persistence.TRANSIENT)
    at: dict[str, Any] = {"node_id": "a~0/llm~0", "parent_id": "a~0", "incident_id": "i1-b"}
    found.add(ev.IncidentOpened(fault=fault, **at))
    found.add(ev.IncidentAnswered(revision=1, option="retry", by=ev.Actor(name="ann", channel="cli"), **at))
    found.end("llm", result={"text": "copied"}, seconds=1.0)
    found.add(ev.NodeClosed(node_id="a~0", state="succeeded", output="copied"))
    found.add(ev.NodeOpened(node_id="b~1", kind="agent", name="b", info={"task": "go on"}))
    step: dict[str, Any] = {"node_id": "b~1/llm~0", "parent_id": "b~1", "attempt": 1}
    found.add(ev.StepStarted(kind="llm", name="openai:next", agent="b", epoch=1, **step))
    found.add(ev.StepEnded(result={"text": "new"}, **step))
    found.add(ev.NodeClosed(node_id="b~1", state="succeeded", output="new"))
    spans = folded(found.finish())
    root = check_tree(spans)
    assert {span.name for span in spans} == {"invoke_workflow x.py:demo", "invoke_agent b", "chat next"}
    assert root.link == (ids.trace_id("r0"), ids.root_span_id("r0"))


def test_a_tool_that_runs_agents_or_asks_a_server_says_for_whom_and_with_what() -> None:
    found = Recorder()
    found.agent()
    for name, task in (("delegate_to_web", "find bees"), ("notes_add", '{"text": "tea"}')):
        at: dict[str, Any] = {"node_id": f"a~0/{name}~0", "parent_id": "a~0"}
        found.add(ev.NodeOpened(kind="tool", name=name, info={"task": task, "id": "c1"}, **at))
        found.add(ev.NodeClosed(state="succeeded", output="done", **at))
    spans = [each for each in folded(found.finish(), FULL) if each.name.startswith("execute_tool")]
    assert [each.attributes[c.AGENT] for each in spans] == ["a", "a"]
    given = [json.loads(str(each.attributes[c.TOOL_ARGUMENTS])) for each in spans]
    assert given == [{"task": "find bees"}, {"text": "tea"}]


def test_what_a_run_leaves_open_ends_with_it() -> None:
    found = Recorder()
    found.agent()
    found.step("tool", "slow")
    fault = Classification(origin=Origin.TOOL, cause=Cause.TOOL_FAILED, persistence=Persistence.UNKNOWN)
    found.add(ev.IncidentOpened(node_id="a~0", incident_id="i1", fault=fault))
    found.add(ev.RunFinished(state="failed", error="it broke"))
    spans = folded(found.events)
    root = check_tree(spans)
    assert Counter(span.name.split()[0] for span in spans) == Counter(
        ["invoke_workflow", "invoke_agent", "execute_tool", "incident"]
    )
    assert {span.end for span in spans} == {root.end}
    assert (root.failed, root.error, root.attributes[c.ERROR_TYPE]) == (True, "failed", "failed")


def test_content_is_sent_redacted_and_in_the_form_of_the_conventions() -> None:
    found = Recorder()
    found.agent()
    asked = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "the key is hunter2secret"}]
    found.step("llm", "openai:gpt", requested={"messages": asked, "count": 2})
    calls = [{"id": "c1", "name": "look", "arguments": '{"what": "hunter2secret"}'}]
    reply = {"text": "so", "tool_calls": calls, "finish_reason": "tool_calls", "model": "gpt-2026", "id": "resp-1"}
    usage = {"input_tokens": 10, "cached_tokens": 4, "cache_write_tokens": 1, "reasoning_tokens": 2}
    found.end("llm", result={**reply, "usage": usage}, seconds=0.5, input_tokens=10, output_tokens=5, cost_usd=0.25)
    found.step("tool", "look", requested={"id": "c1", "arguments": {"what": "hunter2secret"}})
    result = {"role": "tool", "tool_call_id": "c1", "content": "sk-ant-REDACTED"}
    found.end("tool", result=result, seconds=0.5)
    spans = folded(found.finish("hunter2secret it is"), FULL, ("hunter2secret",))
    shown = json.dumps([span.attributes for span in spans], ensure_ascii=False)
    assert "hunter2secret" not in shown
    assert "sk-ant" not in shown
    (chat,) = named(spans, "chat gpt")
    assert json.loads(str(chat.attributes[c.SYSTEM_INSTRUCTIONS])) == [{"type": "text", "content": "be brief"}]
    (sent,) = json.loads(str(chat.attributes[c.INPUT_MESSAGES]))
    assert sent["role"] == "user"
    assert sent["parts"][0]["content"].startswith("the key is ")
    (said,) = json.loads(str(chat.attributes[c.OUTPUT_MESSAGES]))
    assert (said["role"], said["finish_reason"], said["parts"][1]["id"]) == ("assistant", "tool_calls", "c1")
    assert said["parts"][1]["arguments"].keys() == {"what"}
    (tool,) = named(spans, "execute_tool look")
    assert json.loads(str(tool.attributes[c.TOOL_ARGUMENTS])).keys() == {"what"}


def test_a_round_with_an_mcp_server_says_so() -> None:
    found = Recorder()
    found.agent()
    found.step("tool", "files.read", permissions=("mcp.call:files/read",))
    found.end("tool", seconds=0.5)
    (call,) = named(folded(found.finish()), "execute_tool files.read")
    assert (call.attributes["mcp.method.name"], call.attributes[c.TOOL_TYPE]) == ("tools/call", "extension")


def test_hostile_text_reaches_a_receiver_as_plain_text_that_utf_8_can_carry() -> None:
    payloads = json.loads(HOSTILE.read_text())["payloads"]
    for each in payloads:
        text = each["text"] if "text" in each else each["unit"] * min(each["repeat"], 100_000) + each["tail"]
        found = Recorder(title=text)
        found.agent(text, text)
        found.step("llm", f"openai:{text}", requested={"messages": [{"role": "user", "content": text}], "count": 1})
        found.end("llm", result={"text": text, "tool_calls": [], "model": text}, seconds=0.1)
        found.step("tool", text, requested={"id": text, "arguments": {text: text}})
        found.end("tool", result={"tool_call_id": text, "content": text}, seconds=0.1)
        for span in folded(found.finish(text), FULL):
            for value in (span.name, *span.attributes.values()):
                for shown in value if isinstance(value, list) else [value]:
                    if isinstance(shown, str):
                        shown.encode()
                        assert len(shown) < MAX_VALUE_CHARS + 100
                        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\x00"} & set(shown), each["id"]
