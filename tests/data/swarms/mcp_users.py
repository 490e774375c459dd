"""Agents with tools of MCP servers: each calls what its name says."""

from __future__ import annotations

from orbiter import Agent
from orbiter.mcp import mcp_tools
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply, Script

CALLS = {
    "reader": [Call("ref_read", {"path": "a.txt"})],
    "traced": [Call("ref_read", {"path": "traceparent"})],
    "readers": [Call("ref_read", {"path": f"{each}.txt"}) for each in "abc"],
    "writer": [Call("ref_write", {"path": "a.txt", "text": "hello"})],
    "wrong": [Call("ref_write", {"path": 7})],
    "adder": [Call("ref_add", {"one": 1, "two": 2})],
    "painter": [Call("ref_picture", {})],
    "breaker": [Call("ref_fail", {"how": "badly"})],
    "killer": [Call("ref_fail", {"how": "die"})],
    "signer": [Call("ref_whoami", {})],
    "slow": [Call("ref_slow", {})],
    "slow_twice": [Call("ref_slow", {})] * 2,
    "greeter": [Call("ref_greet", {"title": "king"})],
    "greeter_now": [Call("ref_greet_now", {"title": "king"})],
    **{
        f"{tool}_{what}": [Call(f"ref_{tool}", {"what": what})]
        for tool in ("beg", "beg_now")
        for what in ("sampling", "roots")
    },
    "confirmer": [Call("ref_confirm", {})],
    "visitor": [Call("ref_visit", {})],
}
"""What each agent calls at once, before it says the results."""

for _name, _calls in CALLS.items():
    script(f"mcp/{_name}", Script([Reply(calls=_calls), "${result}"]))
    globals()[_name] = Agent(name=_name, model=f"scripted:mcp/{_name}", tools=mcp_tools("ref"))

script("mcp/twice", Script([Reply(calls=[Call("ref_write", {"path": "1", "text": "x"})])] * 2 + ["${result}"]))
twice = Agent(name="twice", model="scripted:mcp/twice", tools=[*mcp_tools("ref", only=["write"])])


def ref_read(path: str) -> str:
    """Read a page: the name is that which a tool of the server would have."""
    return f"page {path}"


script(
    "mcp/namesake",
    Script([
        Reply(calls=[Call("ref_read", {"path": "1"}), Call("ref__read", {"path": "a.txt"})]),
        "${result}",
    ]),
)  # fmt: skip
namesake = Agent(name="namesake", model="scripted:mcp/namesake", tools=[ref_read, *mcp_tools("ref", only=["read"])])

script(
    "mcp/noter",
    Script([
        Reply(calls=[Call("ref_note", {"what": "a"}), Call("ref_note", {"what": "b"})]),
        Reply(calls=[Call("ref_ask_note", {"what": "c"})]),
        "${result}",
    ]),
)  # fmt: skip
noter = Agent(name="noter", model="scripted:mcp/noter", tools=mcp_tools("ref"))
