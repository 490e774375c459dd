"""The runs of the kept workspaces, by workspace: how each began, and how it was and will be answered."""

from __future__ import annotations

from tests.workspaces.kept import Scenario

RETRY = ("", "retry")
FOREVER = ("--for", "always", "--until", "2099-01-01")


def path(name: str, text: str = "", *options: str, before: tuple[tuple[str, ...], ...] = (),
         after: tuple[tuple[str, ...], ...] = (RETRY,)) -> Scenario:  # fmt: skip
    """A run of a swarm that is named by its file."""
    return Scenario(f"swarms.py:{name}", text or name, options, before, after)


def module(name: str, text: str = "", *, after: tuple[tuple[str, ...], ...] = ()) -> Scenario:
    """A run of a swarm that is named by its module."""
    return Scenario(f"swarms:{name}", text or name, after=after)


FINISHED = (
    path("plain"),
    path("workflow"),
    path("nested"),
    path("handoff"),
    path("team", before=(("for whom", "input", "--value", "all of you"),)),
    path("lenient"),
    path("degraded"),
    path("big"),
    path("remover"),
    path("strict", "acknowledged", before=(("auth", "abort", "--reach", "agent"),)),
    path("reacher", "aborted", before=(("reach", "abort", "--value", "enough"),)),
    path("reacher", "result by hand", before=(("reach", "result", "--value", "it was up"),)),
    path("reacher", "edited", before=(("reach", "edit", "--arguments", '{"host": "up"}'),)),
    path("reacher", "skipped", before=(("reach", "skip", "--value", "left out"),)),
    path("reacher", "denied", before=(("reach", "deny", "--message", "ask db2"),)),
    path("auth", "another model", before=(("auth", "switch_model", "--model", "scripted:kept/plain"),)),
    path("sheller", "granted for the run", before=(("shell", "grant", "--for", "run"),)),
    path("sheller", "granted for ever", before=(("shell", "grant", *FOREVER, "--pattern", "git *"),)),
    path("saver", "data/once.md", before=(("save", "grant", "--for", "once"),)),
    path("saver", "data/swarm.md", before=(("save", "grant", "--for", "swarm", "--pattern", "data/s*.md"),)),
    path("saver", "data/denied.md", before=(("save", "deny", "--message", "not there", "--reason", "policy"),)),
    path("botcher"),
    path("fatal"),
    path("quiz_secret", "secret answered", before=(("", "input", "--value", "open sesame"),)),
    path("handoffs", "accepted", before=(("", "accept"),)),
)
PARKED = (
    path("auth"),
    path("forbidden"),
    path("unknown_model", after=(("", "switch_model", "--model", "scripted:kept/plain"),)),
    path("throttled"),
    path("lapsed", after=()),
    path("quota"),
    path("unavailable"),
    path("breaker", before=(RETRY, RETRY, RETRY, RETRY), after=(("", "reset"),)),
    path("unreachable"),
    path("cut_off"),
    path("bad_request", after=(("", "result", "--value", "said by hand"),)),
    path("filtered", after=(("", "result", "--value", "said by hand"),)),
    path("oversized", after=(("", "switch_model", "--model", "scripted:kept/plain"),)),
    path("context", after=(("", "switch_model", "--model", "scripted:kept/plain"),)),
    path("chain"),
    path("spender", "", "--budget", "max_steps=3", after=(("", "extend", "--amount", "20"),)),
    path("spender", "calls", "--budget", "max_tool_calls=2", after=(("", "extend", "--amount", "20"),)),
    path("spender", "models", "--budget", "max_llm_calls=2", after=(("", "extend", "--amount", "20"),)),
    path("own_budget", after=(("", "extend"),)),
    path("former"),
    path("saver", "parked/a.md", after=(("", "grant", "--for", "once"),)),
    path("saver", "parked/b.md", after=(("", "deny", "--message", "elsewhere"),)),
    path("savers", after=(("", "grant", "--for", "once"),) * 3),
    path("commander", after=(("", "grant", "--for", "once"),)),
    path("fetcher", after=(("", "grant", *FOREVER),)),
    path("deployer", before=(("", "grant", "--for", "run"),), after=(("", "grant", "--for", "run"),)),
    path("inviter", after=(("", "grant", "--for", "run"),)),
    path("asker", after=(("", "input", "--value", "the left one"),)),
    path("asker", "unanswered", after=(("", "skip"),)),
    path("quiz_text", after=(("", "input", "--value", "a text"),)),
    path("quiz_choice", after=(("", "input", "--value", "green"),)),
    path("quiz_several", after=(("", "input", "--value", "a", "--value", "c"),)),
    path("quiz_number", after=(("", "input", "--value", "7"),)),
    path("quiz_yesno", after=(("", "input", "--value", "yes"),)),
    path("quiz_secret", after=(("", "input", "--value", "open sesame"),) * 2),
    path(
        "stage",
        after=(("third_saver", "grant", "--for", "once"), ("second_asker", "input", "--value", "now this")),
    ),
    path("reacher", after=(("reach", "edit", "--arguments", '{"host": "up"}'),)),
    path("payer"),
    path("payer", "seen by a person", after=(("", "result", "--value", "the money went"),)),
    path("hanger"),
    path("enterer"),
    path("dater", after=(("", "result", "--value", '["2026-01-31"]'),)),
    path("looper"),
    path("circle", after=(("", "abort", "--value", "enough"),)),
    path("handoffs", after=(("", "accept"),)),
    path("planned", after=(("", "input", "--value", "there is none"), ("", "skip"), ("", "skip"), ("", "skip"))),
    path("routed", after=(("", "abort", "--value", "no way"),)),
    path("quorum", before=(("ill2", "abort", "--reach", "agent"),), after=(("", "accept"),)),
    path("gathered"),
    path("hopeless", after=(("", "acknowledge"),)),
    path("critical", after=(("", "result", "--value", "said by hand"),)),
    path("hooked"),
    path("moved", after=(("", "grant", "--for", "once"),)),
    path("changing", before=(("go on", "input", "--value", "yes"),)),
    Scenario("vanished.py:agent", "vanished", before=(("go on", "input", "--value", "yes"),), after=(RETRY,)),
    path("dier", after=(("", "retry"),)),
    path("dier", "seen dead", after=(("", "result", "--value", "it was done"),)),
)
"""Of workspace `parked`. Those of `FINISHED` are in it, too."""

IN_DOUBT = (("linger", "retry"),)
KILLED = (
    module("lingerer", after=IN_DOUBT),
    module("lingerer", "done by hand", after=(("linger", "result", "--value", "by hand"),)),
    module("lingerer", "left out", after=(("linger", "skip", "--value", "left out"),)),
    module("lingerer", "to be aborted", after=()),
    module("watcher"),
    module("half", after=IN_DOUBT),
    module("parallel_calls", after=IN_DOUBT),
    module("thinker"),
    module("delegating", after=IN_DOUBT),
    module("limited"),
    module("asker", "answered while dead", after=()),
    module("reacher", "waits while others die", after=(("reach", "result", "--value", "by hand"),)),
)
CONTROLLED = (
    path("chatty", "rewound"),
    path("chatty", "forked"),
    path("limited"),
    path("lingerer", "stopped", after=IN_DOUBT),
    path("asker", "frozen", after=(("", "input", "--value", "thawed"),)),
    path("chatty", "never begun"),
    path("chatty", "stopped at a breakpoint", after=(("", "retry"),)),
    path("chatty", "broken at an agent", after=(("", "retry"),)),
    path("asker", "injected", after=(("", "input", "--value", "heard"),)),
    path("reacher", "rewind with other arguments", after=()),
)
HEADLESS = (
    path("plain"),
    path("auth"),
    path("saver", "data/headless.md"),
    path("asker"),
    path("reacher"),
    path("spender", "", "--budget", "max_steps=3"),
    path("looper"),
    path("team"),
    path("former"),
)
