"""Grants, uses, rules, breakers, budgets, decisions and workers that the desk's screens show, and the app on them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from textual.pilot import Pilot

from console.app.app import OrbiterApp
from runtime.record.state import events as ev
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.shell.context import ConsoleContext
from tests.screens.list_link import ListLink
from tests.screens.stories import START, digest, finished
from tests.screens.waiting import until
from tests.screens.widgets.test_live_widgets import screen_text

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

    def stand() -> bool:
        laid_out = pilot.app.screen._compositor.size == pilot.app.size
        return laid_out and all(any(word in line for line in screen_text(pilot.app)) for word in words)

    await until(pilot, stand)


def text(pilot: Pilot[Any]) -> str:
    return "\n".join(screen_text(pilot.app))
