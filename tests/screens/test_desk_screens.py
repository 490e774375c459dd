"""Permissions, limits, log, audit: what they show, what their keys do, what they look like."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from textual.events import MouseScrollUp
from textual.pilot import Pilot

from console.app.app import OrbiterApp
from runtime.link.client.client import LinkError
from runtime.operations.requests.codec import decode_struct
from runtime.operations.requests.permissions import Permissions
from runtime.record.state import events as ev
from screens.dialogs.batch_action import BatchActionScreen
from screens.pages.audit import AuditScreen
from screens.pages.grants import GrantsScreen
from screens.pages.limits import LimitsScreen
from screens.pages.log import LogScreen
from screens.pages.run import RunScreen
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.shell.context import ConsoleContext
from screens.views.lists.grants import HostPermissions, grant_words, ledger_rows
from screens.views.shared.render_context import RenderContext
from screens.widgets.log_list import LogList
from screens.widgets.text_page import TextPage
from tests.screens.list_link import ListLink
from tests.screens.stories import START, Story, digest, finished
from tests.screens.waiting import changed, drawn, press, until
from tests.screens.widgets.test_live_widgets import screen_text

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40")]
HOSTILE = "evil\x1b]0;owned\x07\x1b[31m[/x][@click=app.quit]\u202e\nforged line"
Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def in_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times are shown in the zone of the reader; in tests that is Greenwich."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


GRANTS = (
    ev.GrantAdded(
        grant_id="g-1",
        subject="researcher",
        verb="fs.write",
        pattern="/data/out/**",
        lifetime="run",
        scope="run-1",
        incident_id="run-1-inc-1",
        ts=START - timedelta(minutes=50),
        by=ev.Actor(name="ada", channel="console"),
    ),
    ev.GrantAdded(
        grant_id="g-2",
        subject="*",
        verb="net",
        pattern="api.example.com:443",
        lifetime="always",
        until=START + timedelta(days=7),
        ts=START - timedelta(hours=3),
        by=ev.Actor(name="bob", channel="cli"),
    ),
)


def use(how: str, need: str, minutes: int, **more: Any) -> dict[str, Any]:
    node = "weekly_digest~0/researcher~1/write_file~2"
    at = (START - timedelta(minutes=minutes)).isoformat()
    return {"how": how, "need": need, "ts": at, "run_id": "run-1", "node_id": node, "grant_id": "", "by": "", **more}


RECENT: list[dict[str, Any]] = [
    use("policy", "shell", 45),
    use("denied", "fs.write:/etc/passwd", 30, by="ada"),
    use("grant", "fs.write:/data/out/a.md", 20, grant_id="g-1"),
    use("once", "net:db.example.com:5432", 10, by="bob"),
]
RULES: list[dict[str, Any]] = [
    {"verdict": "deny", "subject": "*", "verb": "shell", "pattern": None, "in_force": True,
     "source": "/home/ada/digest/orbiter.toml:4"},
    {"verdict": "allow", "subject": "reader", "verb": "fs.read", "pattern": "/data/**", "in_force": False,
     "source": "/home/ada/digest/orbiter.toml:3"},
    {"verdict": "ask", "subject": "*", "verb": "*", "pattern": None, "in_force": True, "source": "default"},
]  # fmt: skip
WORDS: dict[str, Any] = {
    "subject": "*", "verb": "net", "pattern": "", "lifetime": "always", "scope": "", "until": None, "incident_id": "",
    "by": {}, "granted_at": START.isoformat(), "revoked_by": None,
}  # fmt: skip
HELD: list[dict[str, Any]] = [
    {**WORDS, "id": "g-1", "state": "in force", "uses": 3, "last_used": (START - timedelta(minutes=20)).isoformat()},
    {**WORDS, "id": "g-2", "state": "in force", "uses": 0, "last_used": None},
]
PERMISSIONS = {"version": 7, "grants": HELD, "recent": RECENT, "rules": RULES}
BREAKERS: list[dict[str, Any]] = [
    {"id": "model:openai:gpt-4o", "state": "open", "failures": 5, "threshold": 5, "again_s": 42.0,
     "error": "The service is not available.", "failed_s": 18.0, "changed_s": 18.0, "prober": ""},
    {"id": "tool:search", "state": "half_open", "failures": 6, "threshold": 5, "again_s": None,
     "error": "Timed out.", "failed_s": 70.0, "changed_s": 70.0, "prober": "run-1"},
    {"id": "model:anthropic:claude", "state": "closed", "failures": 0, "threshold": 5, "again_s": None,
     "error": "", "failed_s": None, "changed_s": 900.0, "prober": ""},
]  # fmt: skip
SPENT = {"steps": 5, "tool_calls": 2, "llm_calls": 3, "cost_usd": 0.0161, "unpriced_calls": 1, "tokens": 3322,
         "wall_time_s": 9.0}  # fmt: skip


def limit(name: str, used: float, allowed: float, level: str = "", **more: Any) -> dict[str, Any]:
    return {"scope": "", "of": "the run", "limit": name, "used": used, "allowed": allowed, "level": level,
            "incident_id": "", **more}  # fmt: skip


BUDGETS: list[dict[str, Any]] = [
    {"id": "run-1", "state": "waiting", "title": "weekly digest", "spent": SPENT, "limits": [
        limit("max_steps", 5, 100),
        limit("max_total_cost_usd", 0.0161, 0.02, "warning"),
        limit("max_total_tokens", 4000, 4000, "hit", incident_id="run-1-inc-1"),
        limit("max_wall_time_s", 9, 600, scope="weekly_digest~0", of="weekly_digest"),
    ]},
    {"id": "run-9", "state": "running", "title": "", "spent": SPENT, "limits": []},
]  # fmt: skip
AUDIT: list[dict[str, Any]] = [
    {"ts": (START - timedelta(hours=3)).isoformat(), "person": "bob", "channel": "cli", "what": "granted",
     "params": {"subject": "*", "verb": "net", "pattern": "api.example.com:443"}, "run_id": "", "seconds": None},
    {"ts": (START - timedelta(minutes=50)).isoformat(), "person": "ada", "channel": "console", "what": "answered",
     "option": "grant", "reach": "attempt", "params": {"for": "run"}, "reason": "it is its own folder",
     "seconds": 65.2, "run_id": "run-1", "incident_id": "run-1-inc-1", "node_id": "weekly_digest~0",
     "asked": "write_file needs fs.write:/data/out/digest.md"},
    {"ts": (START - timedelta(minutes=5)).isoformat(), "person": "ada", "channel": "console", "what": "aborted",
     "reason": "no longer wanted", "run_id": "run-0", "seconds": None},
]  # fmt: skip


WORKERS: dict[str, Any] = {
    "workers": [
        {"id": "one:7:aaaaaa", "state": "working", "place": "one:7", "slots": 8, "driving": ["run-1"], "code": "v2",
         "keys": ["OPENAI_API_KEY"], "program": "orbiter-console 0.1.0", "alive_since": START.isoformat(),
         "heard_s": 1.0, "held_up": ""},
        {"id": "two:9:bbbbbb", "state": "lost", "place": "two:9", "slots": 8, "driving": [], "code": "v1", "keys": [],
         "program": "orbiter-console 0.1.0", "alive_since": START.isoformat(), "heard_s": 95.0,
         "held_up": "the disk is full"},
    ],
    "unserved": [{"code": "v1", "runs": ["run-9"]}],
    "newest": "v2",
}  # fmt: skip


def filled(**answers: Any) -> ListLink:
    uses = {**HELD[0], "recent": [RECENT[2]] * 3}
    given = {"permissions": PERMISSIONS, "uses": uses, "breakers": BREAKERS, "budgets": BUDGETS, "audit": AUDIT}
    given["workers"] = WORKERS
    link = ListLink(digest(), finished(), **{**given, **answers})
    link.grants = {grant.grant_id: grant for grant in GRANTS}
    link.answers["revoke"] = link.revoke
    link.answers["move"] = lambda *, run_id, **_: {"id": run_id, "state": "queued"}
    link.answers["reset"] = lambda *, key, **_: {"id": key, "state": "closed"}
    return link


def app_on(link: ListLink, *, ascii_only: bool = False, theme: str = "orbiter-dark") -> OrbiterApp:
    session = ConsoleContext(
        link, glyphs=ASCII_GLYPHS if ascii_only else UNICODE_GLYPHS, clock=lambda: link.now, arm_after=0.0
    )
    return OrbiterApp(session, theme=theme)


async def shown(pilot: Pilot[Any], *words: str) -> None:
    """Wait until all these words stand on the screen."""
    await until(pilot, lambda: all(any(word in line for line in screen_text(pilot.app)) for word in words))


def text(pilot: Pilot[Any]) -> str:
    return "\n".join(screen_text(pilot.app))


# -- permissions -------------------------------------------------------------------------------------------------------


async def test_the_ledger_shows_grants_uses_denials_and_rules() -> None:
    async with app_on(filled()).run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await shown(pilot, "Grants in force", "Lately used or denied", "Rules of orbiter.toml", "orbiter.toml:4")
        said = text(pilot)
        assert "fs.write:/etc/passwd" in said
        assert "after a restart" in said
        assert "researcher may fs.write:/data/out/**, run run-1" in said
        await shown(pilot, "3 uses; granted by ada (console)")


async def test_a_grant_is_taken_back_after_its_words_were_shown_and_goes_with_its_event() -> None:
    link = filled()
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then="api.example.com:443")
        await press(pilot, "x", then=("Take back 1 grant?", "researcher may fs.write:/data/out/**, run run-1"))
        await pilot.press("enter", "escape")
        assert link.said == []
        await press(pilot, "D", "y", then="taken back")
        assert link.said == [("revoke", {"grant_id": "g-1"})]
        await pilot.press("escape")
        assert "/data/out/**" in text(pilot), "it stands there until its event has come"
        link.gone("g-1")
        await until(pilot, lambda: "/data/out/**" not in text(pilot))
        assert "api.example.com:443" in text(pilot)


async def test_several_grants_are_taken_back_together_and_a_refusal_is_told() -> None:
    link = filled()
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then="api.example.com:443")
        await pilot.press("space", "space", "x")
        await shown(pilot, "Take back 2 grants?", "every agent may net:api.example.com:443, always until")
        del link.grants["g-2"]
        await press(pilot, "y", then=("1 taken back, 1 refused", "grant g-2 is", "not in force"))


async def test_from_a_grant_to_its_uses_and_on_to_the_run_and_back() -> None:
    async with app_on(filled()).run_test(size=(80, 24)) as pilot:
        await press(pilot, "3", then="fs.write:/data/out/")
        assert not pilot.app.screen.query_one("#uses").display or pilot.app.screen.query_one("#detail").size.height == 0
        await press(pilot, "enter", then=("3 uses; granted by", "fs.write:/data/out/a.md"))
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, GrantsScreen)
        await press(pilot, "enter", "enter", then=RunScreen)
        await press(pilot, "left_square_bracket", then=GrantsScreen)


async def test_a_recent_use_leads_to_its_run_and_a_rule_says_where_it_stands() -> None:
    async with app_on(filled()).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then="Rules of orbiter.toml")
        await press(pilot, "slash", *"shell", "enter", then=lambda: "passwd" not in text(pilot))
        await press(pilot, "end", "enter", then="This rule stands in /home/ada/digest/orbiter.toml:4")
        await press(pilot, "escape", "F", then=lambda: "api.example.com" not in text(pilot))
        await press(pilot, "home", "enter", then=RunScreen)


async def test_a_viewer_is_told_why_nothing_is_taken_back_or_reset() -> None:
    link = filled()
    link.role = "viewer"
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then="api.example.com:443")
        await press(pilot, "x", then="A viewer may look, not act")
        await press(pilot, "4", then="openai:gpt-4o")
        await press(pilot, "t", then="A viewer may look, not act")
        assert link.said == []


async def test_nothing_is_asked_again_while_nothing_changes_and_replies_are_no_change() -> None:
    asked: list[int] = []

    def permissions(*, seen: int = -1) -> dict[str, Any]:
        asked.append(seen)
        return PERMISSIONS if seen != 7 else {"version": 7}

    link = filled(permissions=permissions)
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then=("orbiter.toml:4", "3 uses; granted by"))
        for listener in list(link._listeners):
            listener()  # a reply came in, the picture is the same
        await pilot.pause(0.1)
        before = len(asked)
        screen = pilot.app.screen
        assert isinstance(screen, GrantsScreen)
        assert not screen._asker._stale
        screen._asker._free_at = 0.0
        await changed(pilot, link, then=lambda: len(asked) == before + 1)
        assert asked[-1] == 7
        assert "orbiter.toml:4" in text(pilot)


async def test_a_runtime_that_cannot_answer_is_said_and_nothing_breaks() -> None:
    link = filled(permissions=LinkError("no command is called 'permissions'"), breakers=[{"id": 1}])
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then=("no command is called 'permissions'", "fs.write:/data/out/**"))
        await press(pilot, "4", then="the answer to 'breakers' cannot be read: id: Expected `str`, got `int`")
        assert isinstance(pilot.app.screen, LimitsScreen)


def test_hosts_stand_before_names_and_hostile_words_are_tamed() -> None:
    grant = GRANTS[0].model_copy(update={"subject": HOSTILE, "pattern": HOSTILE})
    context = RenderContext(START)
    known = HostPermissions(
        "build",
        decode_struct(Permissions, {**PERMISSIONS, "recent": [use("policy", HOSTILE, 1, by=HOSTILE, node_id=HOSTILE)]}),
    )
    rows = ledger_rows({"g-1": grant}, [known], context)
    pieces = [piece.text for row in rows for cell in row.cells for piece in cell]
    assert all(piece.isprintable() for piece in pieces)
    assert pieces.count("build") == 1 + 1 + len(RULES)
    assert grant_words(grant, context).isprintable()


# -- limits -----------------------------------------------------------------------------------------------------------


async def test_breakers_count_down_and_budgets_show_what_is_near() -> None:
    link = filled()
    story = link.stories["run-1"]
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await shown(
            pilot, "next test call in 43s", "one test call is out", "closed", "100% 4.0k of 4.0k", "used up", "near"
        )
        assert "1 call unpriced" in text(pilot)
        assert "2 breakers hold calls back" in text(pilot)
        assert "no limit" in text(pilot)
        story.wait(30)
        await shown(pilot, "next test call in 13s")
        story.wait(30)
        await shown(pilot, "next call is a test")


async def test_a_breaker_is_closed_after_a_question_and_asked_about_again() -> None:
    link = filled()
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "4", then="model openai:gpt-4o")
        await press(pilot, "t", then="Close 1 breaker? Calls go out again at once.")
        link.answers["breakers"] = [{**BREAKERS[0], "state": "closed", "failures": 0, "again_s": None}]
        await press(pilot, "y", then=lambda: link.said == [("reset", {"key": "model:openai:gpt-4o"})])
        await press(pilot, "escape", then=lambda: "next test call" not in text(pilot))


async def test_extending_opens_the_decision_that_waits_for_it() -> None:
    async with app_on(filled()).run_test(size=(120, 40)) as pilot:
        await press(pilot, "4", then="used up")
        await press(pilot, "slash", *"steps", "enter", "e", then="Nothing waits for more of this budget")
        await press(pilot, "escape", "slash", *"used up", "enter", "e", then=RunScreen)
        assert isinstance(pilot.app.screen, RunScreen)
        await until(pilot, lambda: pilot.app.screen.incident_id == "run-1-inc-1")  # type: ignore[attr-defined]


# -- workers -----------------------------------------------------------------------------------------------------------


async def test_workers_are_listed_and_a_run_without_one_is_moved_after_a_question() -> None:
    link = filled()
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await pilot.press("8")
        await shown(
            pilot, "Runs without a worker", "waits for a worker with code 'v1'", "1 of 8", "the disk is full", "lost",
            "keys: OPENAI_API_KEY", "1 worker at work", "1 of 8 slots in use",
        )  # fmt: skip
        await press(pilot, "m", then="Move 1 run to code v2? Steps that are recorded are not done again.")
        link.answers["workers"] = {**WORKERS, "unserved": []}
        await press(pilot, "y", then=lambda: link.said == [("move", {"run_id": "run-9", "code": "v2"})])
        await press(pilot, "escape", then=lambda: "Runs without a worker" not in text(pilot))


# -- audit -------------------------------------------------------------------------------------------------------------


async def test_the_audit_says_who_decided_what_and_how_long_it_took() -> None:
    async with app_on(filled()).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", "a", then=AuditScreen)
        await shown(pilot, "answered: Grant permission", "1m05s", "it is its own folder", "bob")
        lines = [line for line in screen_text(pilot.app) if "ada" in line or "bob" in line]
        assert "aborted" in lines[0], "newest first"
        await press(pilot, "down", then="write_file needs fs.write:/data/out/digest.md")
        await press(pilot, "slash", *"bob", "enter", then=lambda: "it is its own folder" not in text(pilot))
        await press(pilot, "enter", then="about the workspace")
        await press(pilot, "escape", "home", "down", "enter", then=RunScreen)


# -- log ---------------------------------------------------------------------------------------------------------------


def busy(count: int, run_id: str = "run-7") -> Story:
    story = Story(run_id, "busy", START + timedelta(hours=1))
    root = story.begin("Count.")
    for number in range(count):
        story.tell(ev.Warned(text=f"number {number}"), root)
        story.wait(60)
    return story


def log_of(pilot: Pilot[Any]) -> LogList:
    return pilot.app.screen.query_one("#log", LogList)


async def more(pilot: Pilot[Any], link: ListLink, story: Story, word: str) -> None:
    story.tell(ev.Warned(text=word), story.state.roots[0])
    link.changed()
    screen = pilot.app.screen
    assert isinstance(screen, LogScreen)
    await until(pilot, lambda: any(word in str(line.spans) for line in screen.buffer.lines))
    await pilot.pause()


async def test_the_log_follows_stops_for_its_reader_and_follows_again() -> None:
    story = busy(60)
    link = ListLink(story)
    async with app_on(link).run_test(size=(100, 20)) as pilot:
        await press(pilot, "5", then=("number 59", "following"))
        await more(pilot, link, story, "came while following")
        await shown(pilot, "came while following")
        await press(pilot, "pageup", then="stopped: G follows again")
        before = [line[:-1] for line in screen_text(pilot.app)[2:16]]
        await more(pilot, link, story, "came while reading")
        await shown(pilot, "1 new below")
        after = [line[:-1] for line in screen_text(pilot.app)[2:16]]
        assert after == before, "what is being read does not move"
        await press(pilot, "G", then=("came while reading", "following"))
        await press(pilot, "up", then="stopped")
        await press(pilot, "end", then="following")


async def test_scrolling_up_with_the_mouse_stops_it_too() -> None:
    link = ListLink(busy(60))
    async with app_on(link).run_test(size=(100, 20)) as pilot:
        await press(pilot, "5", then="following")
        await pilot._post_mouse_events([MouseScrollUp], "#log")
        await shown(pilot, "stopped")


async def test_the_log_is_filtered_and_searched_apart() -> None:
    link = ListLink(busy(30))
    async with app_on(link).run_test(size=(100, 24)) as pilot:
        await press(pilot, "5", then="number 29")
        await press(pilot, "slash", *"number (1)", "enter", then=("/number (1)", "number 19", "left out"))
        assert "number 29" not in text(pilot)
        await press(pilot, "slash", "home", "!", "enter", then="number 29")
        assert "number 19" not in text(pilot)
        await press(pilot, "escape", then=("number 19", "number 29"))
        await press(pilot, "s", *"number (2)", "enter", then=("find number (2)", "11 of 11"))
        await press(pilot, "less_than_sign", then=("10 of 11", "stopped"))
        assert log_of(pilot).cursor_entry is not None
        assert "number 28" in str(log_of(pilot).cursor_entry)
        await press(pilot, "greater_than_sign", "greater_than_sign", then="1 of 11")
        assert "warns: number 2'" in str(log_of(pilot).cursor_entry)
        await press(pilot, "escape", "slash", *"(", "enter", then="not a valid regular expression")


async def test_faults_only_and_jumps_in_time() -> None:
    link = ListLink(digest(), busy(30))
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "5", then="number 29")
        await press(pilot, "minus", then=lambda: "number 19" in str(log_of(pilot).cursor_entry))
        await press(pilot, "plus", then=lambda: "number 29" in str(log_of(pilot).cursor_entry))
        await pilot.press("slash", *"digest", "enter", "F")
        await shown(pilot, "faults only", "rate_limited", "waits for an answer", "attempt 2 of 4")
        assert "planner begins" not in text(pilot)
        await press(pilot, "escape", "home", then="planner begins")


async def test_who_comes_to_the_first_line_gets_older_ones() -> None:
    link = ListLink(busy(700))
    async with app_on(link).run_test(size=(100, 20)) as pilot:
        await press(pilot, "5", then="500 lines")
        assert "number 199" not in text(pilot)
        await press(pilot, "home", then="703 lines")
        await press(pilot, "up", then="number 199")
        await press(pilot, "home", "up", then="This is the first line.")


async def test_an_event_is_shown_whole_and_leads_to_its_run() -> None:
    long = "the whole of it " * 60
    story = busy(2)
    story.tell(ev.Warned(text=long), story.state.roots[0])
    async with app_on(ListLink(story)).run_test(size=(100, 40)) as pilot:
        await press(pilot, "5", then="the whole of it")
        await pilot.press("enter")
        page = pilot.app.screen.query_one("#detail", TextPage)
        await until(pilot, lambda: page.display and text(pilot).count("the whole of it") > 20)
        await press(pilot, "escape", then=lambda: not page.display)
        await press(pilot, "r", then=RunScreen)


async def test_the_log_of_one_run_has_only_its_lines() -> None:
    link = ListLink(digest(), busy(3))
    app = app_on(link)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: len(app.screen_stack) > 1)
        await app.push_screen(LogScreen(app.session, "run-1"))
        await shown(pilot, "log of weekly digest", "waits for an answer")
        assert "number 2" not in text(pilot)


async def test_what_comes_too_fast_leaves_a_mark_and_not_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("screens.pages.log_sources._MAX_NEW_EVENTS", 5)
    story = busy(3)
    link = ListLink(story)
    async with app_on(link).run_test(size=(100, 30)) as pilot:
        await press(pilot, "5", then="number 2")
        for number in range(8):
            story.tell(ev.Warned(text=f"burst {number}"), story.state.roots[0])
        link.changed()
        await shown(pilot, "more happened here than is shown", "burst 3", "burst 7")
        assert "burst 2" not in text(pilot)


async def test_a_lost_runtime_is_said_once_and_asked_again_when_it_is_back() -> None:
    link = filled()
    link.lose("it went")
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "4", then="brings it back: it went")
        assert "used up" not in text(pilot)
        await link.revive()
        await shown(pilot, "used up")
        link.answers["breakers"] = LinkError("the disk is full")
        link.changed()
        await shown(pilot, "the disk is full", "used up")
        await pilot.press("down")
        assert "the disk is full" not in text(pilot), "it was read"


async def test_the_runtimes_own_log_file_is_the_other_source() -> None:
    pages = [
        {"path": "/w/.orbiter/runtime.log", "began": 0, "end": 80,
         "text": "2026-11-20 09:00:00,123 INFO runtime.serve: up\n2026-11-20 09:00:01,000 ERROR broke\nTraceback\n"},
        {"path": "/w/.orbiter/runtime.log", "began": 80, "end": 99,
         "text": "2026-11-20 09:00:02,000 INFO \x1b[2Jmended\n"},
    ]  # fmt: skip
    asked: list[Any] = []

    def logfile(*, after: int | None = None) -> dict[str, Any]:
        asked.append(after)
        return pages[min(len(asked), len(pages)) - 1]

    link = ListLink(digest(), logfile=logfile)
    async with app_on(link).run_test(size=(100, 24)) as pilot:
        await press(pilot, "5", then="waits for an answer")
        await press(pilot, "v", then=("Log file /w/.orbiter/runtime.log", "runtime.serve: up", "Traceback"))
        link.changed()
        await shown(pilot, "␛[2Jmended")
        assert asked[:2] == [None, 80]
        await press(pilot, "F", then=lambda: "runtime.serve: up" not in text(pilot))
        assert "Traceback" in text(pilot), "what goes on with a fault is part of it"
        await press(pilot, "tab", then="waits for an answer")


async def test_hostile_words_in_every_pane_leave_the_screen_whole() -> None:
    story = Story("run-5", HOSTILE)
    root = story.begin(HOSTILE)
    node = story.open("agent", HOSTILE, root)
    story.tell(ev.Warned(text=HOSTILE), node)
    link = filled(
        permissions={**PERMISSIONS, "recent": [use("policy", HOSTILE, 1)], "rules": [{**RULES[0], "source": HOSTILE}]},
        breakers=[{**BREAKERS[0], "id": HOSTILE, "error": HOSTILE}],
        budgets=[{**BUDGETS[1], "title": HOSTILE}],
        workers={
            "workers": [{**each, "place": HOSTILE, "held_up": HOSTILE, "code": HOSTILE} for each in WORKERS["workers"]],
            "unserved": [{"code": HOSTILE, "runs": [HOSTILE]}],
        },
        audit=[{**AUDIT[1], "person": HOSTILE, "reason": HOSTILE, "asked": HOSTILE, "params": {HOSTILE: HOSTILE}}],
        logfile={"path": HOSTILE, "began": 0, "end": 9, "text": HOSTILE + "\n"},
    )
    link.stories["run-5"] = story
    link.grants = {"g-1": GRANTS[0].model_copy(update={"pattern": HOSTILE, "subject": HOSTILE})}
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        for keys in (("3",), ("x",), ("escape", "4"), ("7",), ("8",), ("5",), ("enter",), ("escape", "v")):
            await press(pilot, *keys, then="evil")
            said = text(pilot)
            assert all(char.isprintable() or char == "\n" for char in said)
            forged = any(line.lstrip().startswith("forged line") for line in said.split("\n"))
            assert forged is (keys[-1] == "v"), "only the lines of a file are lines"
            if isinstance(pilot.app.screen, BatchActionScreen):
                assert "[@click" in said


# -- several hosts -----------------------------------------------------------------------------------------------------


async def test_on_several_hosts_each_is_asked_each_row_says_where_and_acts_go_there() -> None:
    asked: list[tuple[str, str]] = []

    def told(verb: str, answer: Any) -> Callable[..., Any]:
        def tell(*, where: str, **_: Any) -> Any:
            asked.append((verb, where))
            return answer

        return tell

    answers = {"permissions": PERMISSIONS, "breakers": BREAKERS[:1], "budgets": BUDGETS[:1], "audit": AUDIT[:1]}
    link = filled(**{verb: told(verb, answer) for verb, answer in answers.items()})
    link.host_names = ("build", "lab")
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", then=("build · re", "lab · re"))
        await press(pilot, "4", then=("build · model", "lab · model"))
        await pilot.press("down", "t", "y")
        await until(pilot, lambda: link.said == [("reset", {"where": "lab", "key": "model:openai:gpt-4o"})])
        await press(pilot, "escape", "7", then=("build · bob", "lab · bob"))
        await press(pilot, "5", then=("build · weekly digest", "lab · weekly digest"))
    assert {where for _, where in asked} == {"build", "lab"}
    assert {verb for verb, _ in asked} == set(answers)


# -- looks -------------------------------------------------------------------------------------------------------------


def opening(key: str, word: str, *more_keys: str) -> Callable[[Pilot[Any]], Any]:
    async def run(pilot: Pilot[Any]) -> None:
        await pilot.press(key)
        await shown(pilot, word)
        if more_keys:
            await pilot.press(*more_keys)
        await drawn(pilot)

    return run


VIEWS = [
    pytest.param(opening("3", "everything else"), id="permissions"),
    pytest.param(opening("4", "next test call"), id="limits"),
    pytest.param(opening("5", "incident run-1", "up", "up"), id="log"),
    pytest.param(opening("7", "answered"), id="audit"),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("view", VIEWS)
def test_pictures(snap_compare: Compare, size: tuple[int, int], view: Callable[[Pilot[Any]], Any]) -> None:
    assert snap_compare(app_on(filled()), terminal_size=size, run_before=view)


@pytest.mark.parametrize("kind", ["light", "ascii"])
def test_pictures_in_other_looks(snap_compare: Compare, kind: str) -> None:
    app = app_on(filled(), ascii_only=kind == "ascii", theme="orbiter-light" if kind == "light" else "orbiter-dark")
    assert snap_compare(app, terminal_size=(80, 24), run_before=VIEWS[1].values[0])
