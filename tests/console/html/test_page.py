"""The HTML report: complete, bounded, with nothing in it that came from data but text, and read as an export is."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from console.cli import cli
from console.html.event_list import event_list
from console.html.page import html_report
from console.html.run_tree import number_nodes
from console.html.size_limit import ReportSizes
from console.html.story import MAX_LINES, story
from orbiter.redaction import Redactor
from runtime.judgement.reports.export_file import FORMAT, ExportHeader, InvalidExport, export_lines, read_export
from runtime.record.state import events as ev
from tests.screens.stories import MISSING, RATE_LIMITED, Story, digest, finished

HOSTILE = json.loads((Path(__file__).parents[2] / "data" / "hostile-text.json").read_text("utf-8"))["payloads"]
MARKUP = (
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>',
    "</pre></details><h1>approved</h1>", "<!--", "]]>", "<svg/onload=alert(1)>", "</style><b>", "&lt;b&gt;&#60;",
    '<script type="application/jsonl+orbiter">AAAA</script>', "javascript:alert(1)", "https://evil.example/?q=1",
    "<a href='https://evil.example'>here</a>", "</title><meta http-equiv=refresh content='0;url=//evil'>",
)  # fmt: skip
ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "section", "footer", "nav", "h1", "h2", "h3",
    "h4", "p", "a", "span", "b", "i", "small", "code", "pre", "div", "details", "summary", "ol", "li", "dl", "dt", "dd",
    "article", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "svg", "rect", "script", "input", "output",
    "button",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "open", "hidden", "style", "type",
    "placeholder", "aria-label", "viewBox", "preserveAspectRatio", "role", "x", "y", "width", "height", "data-encoding",
}  # fmt: skip


def exported(story: Story, *workspace: ev.JournalEvent) -> str:
    header = ExportHeader(orbiter_export=FORMAT, run_id=story.run_id, exported_at=story.at, exported_by="ada")
    return "\n".join(export_lines(story.events, header, Redactor(), workspace)) + "\n"


def parsed(page: str) -> Element:
    found: Any = html5lib.parse(page, treebuilder="etree", namespaceHTMLElements=False)
    assert isinstance(found, Element)
    return found


def all_text(root: Element) -> str:
    shown = (each for each in root.iter() if each.tag not in ("script", "style"))
    return "".join(piece for each in shown for piece in (each.text or "", each.tail or ""))


def payload(found: dict[str, Any]) -> str:
    """Its text as a journal can hold it, without lone surrogates and at a length that is shown."""
    text = _text(found)
    return text.encode("utf-8", "replace").decode()[:2_000]


def _text(found: dict[str, Any]) -> str:
    return str(found["text"]) if "text" in found else str(found["unit"]) * int(found["repeat"]) + found.get("tail", "")


def hostile_story(bad: str) -> Story:
    """Every text that a model, a tool, a provider, a person or a user's file can fill is filled."""
    told = Story(title=bad)
    root = told.begin(bad)
    agent = told.open("agent", bad, root, task=bad)
    messages = [{"role": bad, "content": bad, "tool_calls": [{"name": bad, "arguments": bad}]}, {"content": [bad]}]
    call = told.start("llm", bad, agent, 0, agent=bad, messages=messages, model=bad)
    fault = replace(RATE_LIMITED, technical=bad, provider=bad, user_message=bad)
    told.fail(call, fault)
    told.tell(
        ev.RetryScheduled(attempt=2, max_attempts=4, delay_s=1, until=told.at, source=bad, reason=bad), call, agent
    )
    told.tell(ev.StepFellBack(from_model=bad, to_model=bad, reason=bad), call, agent)
    done = told.start("tool", bad, agent, 1, agent=bad, arguments={bad: bad})
    told.end(done, {"content": bad})
    tool = told.start("tool", bad, agent, 2, agent=bad, arguments={bad: bad})
    told.tell(ev.GrantUsed(grant_id=bad, need=bad), tool, agent)
    told.tell(ev.Warned(text=bad), tool, agent)
    told.park(
        tool, fault, message=bad, action={"tool": bad, "arguments": {bad: bad}}, question=bad, task=bad, traceback=bad
    )
    opened = told.state.open_incidents[0].opened
    told.tell(ev.AnalysisAdded(incident_id=opened.incident_id, text=f"{bad}\n[#3]", model=bad), tool, agent)
    answer = ev.IncidentAnswered(
        incident_id=opened.incident_id, revision=1, option="input", params={"value": bad}, reason=bad,
        by=ev.Actor(name=bad, channel="console"),
    )  # fmt: skip
    told.tell(answer, tool, agent)
    told.tell(ev.RunFinished(state="failed", output=bad, error=bad))
    return told


def check_harmless(page: str, *, capsule: bool = True) -> Element:
    """Nothing but our own elements, attributes and scripts; no address; no character that acts."""
    root = parsed(page)
    elements = list(root.iter())
    assert "<!--" not in page
    assert {each.tag.rpartition("}")[2] for each in elements} <= ELEMENTS
    for each in elements:
        assert {str(name).rpartition("}")[2] for name in each.attrib} <= ATTRIBUTES
        assert each.get("href", "#").startswith("#")
        assert re.fullmatch(r"--level:\d", each.get("style", "--level:0"))
    scripts = [each for each in elements if each.tag == "script"]
    assert [each.get("type") for each in scripts] == [*(["application/jsonl+orbiter"] if capsule else []), None]
    assert all(char == "\n" or char.isprintable() or unicodedata.category(char) == "Zs" for char in page)
    return root


def shape(root: Element) -> list[tuple[str, tuple[str, ...]]]:
    return [(str(each.tag), tuple(sorted(map(str, each.attrib)))) for each in root.iter()]


@cache
def plain_shape() -> list[tuple[str, tuple[str, ...]]]:
    return shape(check_harmless(html_report(exported(hostile_story("x")))))


@pytest.mark.parametrize("at", range(5))
def test_hostile_text_is_text(at: int) -> None:
    """Payloads of terminals, several in one text."""
    text = exported(hostile_story("\n".join(payload(each)[:400] for each in HOSTILE[at::5])))
    page = html_report(text)
    check_harmless(page)
    assert read_export(page) == read_export(text)


@pytest.mark.parametrize("bad", MARKUP)
def test_hostile_markup_stays_readable_and_changes_no_element(bad: str) -> None:
    page = html_report(exported(hostile_story(bad)))
    root = check_harmless(page)
    assert all_text(root).count(bad) > 10
    assert shape(root) == plain_shape()


@settings(max_examples=8)
@given(
    bad=st.text(st.characters(codec="utf-8"), max_size=30) | st.text("<>&'\"/!-=`script \x1b\u202e\x00\n", max_size=30)
)
def test_any_text_is_text(bad: str) -> None:
    text = exported(hostile_story(bad))
    page = html_report(text)
    check_harmless(page)
    assert read_export(page) == read_export(text)


def test_the_policy_lets_one_script_run_and_loads_nothing() -> None:
    root = check_harmless(html_report(exported(finished())))
    (policy,) = [each.get("content", "") for each in root.iter("meta") if each.get("http-equiv")]
    (script,) = [each.text or "" for each in root.iter("script") if each.get("type") is None]
    digest_of = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest_of}'")
    assert len(script) < 8_000
    (style,) = [each.text or "" for each in root.iter("style")]
    assert "url(" not in style
    assert "@import" not in style


def test_links_lead_to_places_in_the_page() -> None:
    root = check_harmless(html_report(exported(digest())))
    ids = Counter(each.get("id") for each in root.iter() if each.get("id"))
    assert max(ids.values()) == 1
    links = {each.get("href", "")[1:] for each in root.iter("a")}
    assert links
    assert links <= set(ids)


def test_a_report_says_what_happened_and_who_decided() -> None:
    told = digest()
    (incident, *_) = [each.opened for each in told.state.incidents.values()]
    by = ev.Actor(name="ada", channel="console")
    told.wait(4).tell(
        ev.IncidentAnswered(
            incident_id=incident.incident_id, revision=1, option="retry", reason="the disk is back", by=by
        ),
        incident.node_id,
        incident.node_id.rpartition("/")[0],
    )
    lines = story(told.state, told.events)
    assert len(lines) <= MAX_LINES
    assert any("Answered by ada: retry, after" in line for line in lines)
    page = all_text(parsed(html_report(exported(told))))
    for line in lines:
        assert line in page
    assert "the disk is back" in page
    assert told.state.input in page


def test_the_head_of_a_report_says_who_ended_it_and_shows_a_long_result() -> None:
    told = Story(title="Write the digest")
    root = told.begin("Write the digest\nof this week")
    skipped = told.start("tool", "fetch", root, 0)
    told.tell(ev.NodeClosed(state="skipped"), skipped, root)
    told.tell(ev.RunFinished(state="aborted", output="one\ntwo", by=ev.Actor(name="ada", channel="console")))
    asked, ended, *_ = story(told.state, told.events)
    assert asked.startswith("The runtime asked digest.py:swarm for: Write the digest"), "not the input twice"
    assert ended.startswith("It is aborted, by ada, ")
    root_element = parsed(html_report(exported(told)))
    (result,) = [each for each in root_element.iter("div") if each.get("class") == "result"]
    assert all_text(result) == "one\ntwo"
    bars = {each.get("class") for each in root_element.iter() if each.tag.rpartition("}")[2] == "rect"}
    assert bars == {"left", "open"}, "what was skipped does not work still"


def test_an_agent_of_another_framework_is_named_with_it_in_the_page_and_by_show(tmp_path: Path) -> None:
    told = Story()
    told.open("agent", "bank", told.open("agent", "own", told.begin()), framework="pydantic-ai\u202e")
    page = all_text(parsed(html_report(exported(told))))
    assert page.count("agent (pydantic-ai⟨U+202E⟩)") == 1
    file = tmp_path / "run.jsonl"
    file.write_text(exported(told), "utf-8")
    shown = CliRunner().invoke(cli, ["show", "--file", str(file)]).stdout
    assert " bank agent (pydantic-ai⟨U+202E⟩): " in shown
    assert " own (agent): " in shown


def test_secrets_are_not_in_the_page() -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    told = Story()
    told.begin(f"use {key}")
    page = html_report(exported(told))
    assert key not in page
    assert key not in str(read_export(page).events)


def large(steps: int, said: str = "a line of text that a tool wrote. " * 6) -> Story:
    told = Story()
    root = told.begin()
    agent = told.open("agent", "worker", root)
    for at in range(steps // 2):
        messages = {"messages": [{"role": "user", "content": "go"}]} if not at else {"count": 2 * at + 1}
        call = told.wait(1).start("llm", "scripted:worker", agent, at, model="scripted:worker", **messages)
        told.wait(1).end(call, {"text": f"{at}: {said}"}, tokens=(100, 20), usd=0.001)
        tool = told.start("tool", "read", f"{agent}", at, agent="worker", arguments={"path": f"file-{at}.txt"})
        told.wait(1).end(tool, {"content": f"{said}{at}"})
    told.close(agent)
    told.close(root)
    told.tell(ev.RunFinished(state="completed", output="done"))
    return told


def shown_events(page: str) -> set[int]:
    return {int(found) for found in re.findall(r'<li id="e(\d+)"', page)}


def left_out(page: str) -> int:
    return sum(map(int, re.findall(r'<li class="gap">left out (\d+) event', page)))


def test_a_thousand_steps_are_less_than_two_megabytes() -> None:
    told = large(1_000)
    page = html_report(exported(told))
    assert len(page.encode()) < 2_000_000
    assert shown_events(page) == {event.seq for event in told.events}
    assert len(read_export(page).events) == len(told.events)


def test_what_does_not_fit_is_counted() -> None:
    told = large(100)
    sizes = ReportSizes(events=10_000, tree=10_000, payloads=10_000, capsule=1_000, bars=20)
    page = html_report(exported(told), sizes)
    check_harmless(page, capsule=False)
    shown = shown_events(page)
    assert 0 < len(shown) < len(told.events)
    assert len(shown) + left_out(page) == len(told.events)
    assert re.search(r"Left out \d+ nodes\.", page)
    assert re.search(r"Left out \d+ texts of nodes", page)
    assert len(re.findall('<div class="row(?: holds)?">', page)) == 20
    assert "too large for this file" in page
    with pytest.raises(InvalidExport, match="holds no export"):
        read_export(page)


@settings(max_examples=15)
@given(texts=st.lists(st.text(max_size=300), max_size=40), room=st.integers(0, 12_000))
def test_every_event_is_shown_or_counted(texts: list[str], room: int) -> None:
    told = Story()
    agent = told.open("agent", "worker", told.begin())
    for each in texts:
        told.tell(ev.Warned(text=each), agent)
    export = read_export(exported(told))
    listed = event_list(export, number_nodes(export.state()), room)
    page = f"<!doctype html>{listed.html}"
    assert shown_events(page) == listed.shown
    assert left_out(page) == listed.left_out
    assert len(listed.shown) + listed.left_out == len(told.events)


def test_a_grant_that_was_used_is_an_event_of_the_page() -> None:
    told = Story()
    agent = told.open("agent", "worker", told.begin())
    told.tell(ev.GrantUsed(grant_id="g-1", need="fs.write:a"), agent)
    given_at = ev.GrantAdded(
        seq=7, run_id=ev.WORKSPACE_RUN_ID, grant_id="g-1", subject="worker", verb="fs.write", pattern="*",
        lifetime="always", by=ev.Actor(name="ada", channel="console"),
    )  # fmt: skip
    page = html_report(exported(told, given_at))
    assert "ada (console) granted worker fs.write:*" in all_text(parsed(page))
    assert len(shown_events(page)) == len(told.events)


def test_nodes_deeper_than_a_page_can_nest_are_all_there() -> None:
    told = Story()
    at = told.begin()
    for _ in range(120):
        at = told.open("agent", "deeper", at)
    call = told.start("tool", "deepest", at, arguments={"path": "a"})
    told.park(call, MISSING)
    root = check_harmless(html_report(exported(told)))
    assert sum((each.get("class") or "").startswith("node ") for each in root.iter("details")) == 122


def test_an_empty_run_has_a_report() -> None:
    told = Story()
    told.tell(ev.RunCreated(ref="a.py:b", input="go"))
    check_harmless(html_report(exported(told)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda page: page.replace("application/jsonl+orbiter", "text/plain"), "holds no export"),
        (lambda page: re.sub(r"(base64\">\n.{40}).*?(</script>)", r"\1\2", page, count=1, flags=re.DOTALL), "was cut"),
        (lambda page: re.sub(r"(base64\">\n)....", r"\1AAAA", page, count=1), "cut or changed"),
    ],
)
def test_a_page_whose_export_is_damaged_is_refused(change: Any, said: str) -> None:
    with pytest.raises(InvalidExport, match=said):
        read_export(change(html_report(exported(finished()))))
