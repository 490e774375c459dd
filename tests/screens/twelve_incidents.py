"""Twelve incidents, one of each kind that an operator meets: for pictures, and for rules that hold of all of them.

`python -m tests.screens.twelve_incidents DIRECTORY` writes a picture (SVG) of each at 80x24 and at 120x40, and the list
of their order.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from orbiter.errors import OrbiterError
from runtime.judgement.recovery.options import options_for
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause, Classification, Effect, Limit, Origin, Persistence
from tests.screens.stories import START, Story

SIZES: Final = ((80, 24), (120, 40))


def fault(cause: Cause, origin: Origin, persistence: Persistence, effect: Effect, **more: Any) -> Classification:
    return Classification(origin=origin, cause=cause, persistence=persistence, effect=effect, **more)


def park(story: Story, node: str, found: Classification, place: Any, **more: Any) -> str:
    """An incident with the options that a runtime offers."""
    known = {name: more[name] for name in ("need", "in_doubt") if name in more}
    options, _ = options_for(found, place, question=bool(more.get("question")), **known)
    return story.park(node, found, options=options, **more)


def fares(title: str, *members: str) -> tuple[Story, str]:
    """A run that compares rail fares, and its root."""
    story = Story("run-1", title, START)
    story.tell(ev.RunCreated(ref="/work/fares.py:flow", title=title, input=f"{title}.", options={}))
    story.tell(ev.RunStarted(epoch=1, owner="runtime-1"))
    root = story.open("swarm", "flow", members=list(members)) if members else story.open("swarm", "flow")
    return story, root


def done_agent(story: Story, root: str, name: str, at: int, *, calls: int = 1) -> str:
    """An agent that has finished."""
    agent = story.open("agent", name, root, at, model="openai:gpt-5-mini")
    for number in range(calls):
        call = story.start("llm", "openai:gpt-5-mini", agent, number, agent=name, model="openai:gpt-5-mini")
        story.wait(2).end(call, {"content": "three cities"}, tokens=(410, 60), usd=0.002)
    story.close(agent, output="three cities")
    return agent


def failed_model(
    story: Story, agent: str, name: str, found: Classification, model: str, *, attempts: int = 1, pause: float = 2.0,
    at: int = 0,
) -> str:  # fmt: skip
    call = story.start("llm", model, agent, at, agent=name, model=model)
    for attempt in range(1, attempts + 1):
        story.wait(0.4).fail(call, found, attempt)
        if attempt < attempts:
            story.retry(call, pause, attempt + 1)
            story.wait(pause).start("llm", model, agent, at, attempt=attempt + 1, agent=name, model=model)
    return call


def network() -> Story:
    story, root = fares("Compare the rail fares of four cities")
    done_agent(story, root, "planner", 0)
    agent = story.open("agent", "librarian", root, 1)
    url = "http://127.0.0.1:8931/projects.json"
    refused = fault(
        Cause.NETWORK, Origin.TOOL, Persistence.TRANSIENT, Effect.NONE, exception="ConnectionRefusedError",
        technical="[Errno 111] Connection refused", user_message="The connection was refused.",
    )  # fmt: skip
    tool = story.start("tool", "fetch_index", agent, 0, agent="librarian", arguments={"url": url})
    story.fail(tool, refused)
    story.retry(tool, 0.5)
    story.wait(0.5).start("tool", "fetch_index", agent, 0, attempt=2, agent="librarian", arguments={"url": url})
    story.fail(tool, refused, 2)
    said: dict[str, Any] = {
        "message": "ConnectionRefusedError: [Errno 111] Connection refused",
        "action": {"tool": "fetch_index", "arguments": {"url": url}},
        "arguments_schema": {
            "type": "object",
            "properties": {"url": {"type": "string", "description": "Where the catalogue listens."}},
            "required": ["url"],
        },
        "causes": ("ConnectionRefusedError: [Errno 111] Connection refused",),
    }
    first = park(story, tool, refused, "tool", **said)
    story.wait(9).answer(first, "retry")
    story.wait(0.1).start("tool", "fetch_index", agent, 0, attempt=3, agent="librarian", arguments={"url": url})
    story.fail(tool, refused, 3)
    park(story, tool, refused, "tool", **said)
    story.wait(40)
    return story


def rate_limited() -> Story:
    story, root = fares("Write chapter four")
    done_agent(story, root, "planner", 0)
    agent = story.open("agent", "writer", root, 1)
    found = fault(
        Cause.RATE_LIMITED, Origin.MODEL, Persistence.TRANSIENT, Effect.NONE, retry_after_s=90.0,
        hint_source="retry-after header", provider="openai", http_status=429, code="rate_limit_exceeded",
        technical="Rate limit reached for requests per minute", exception="ModelRateLimitError",
    )  # fmt: skip
    call = failed_model(story, agent, "writer", found, "openai:gpt-5-mini")
    park(story, call, found, "llm", action={"model": "openai:gpt-5-mini"}, message="HTTP 429")
    return story.wait(65)


def dead_key() -> Story:
    story, root = fares("Weekly digest for the board")
    done_agent(story, root, "planner", 0)
    agent = story.open("agent", "editor", root, 1)
    found = fault(
        Cause.AUTH_FAILED, Origin.MODEL, Persistence.NEEDS_CHANGE, Effect.NONE, provider="anthropic",
        http_status=401, code="authentication_error", technical="invalid x-api-key",
        exception="ModelAuthenticationError",
    )  # fmt: skip
    call = failed_model(story, agent, "editor", found, "anthropic:claude-haiku-4-5")
    park(story, call, found, "llm", action={"model": "anthropic:claude-haiku-4-5"}, message="HTTP 401")
    return story.wait(130)


def too_long() -> Story:
    story, root = fares("Summarise the minutes of the year")
    agent = story.open("agent", "summariser", root, 0)
    read = story.start("tool", "read_minutes", agent, 0, agent="summariser", arguments={"year": 2025})
    story.wait(1).end(read, {"content": "minutes " * 2000})
    found = fault(
        Cause.CONTEXT_OVERFLOW, Origin.MODEL, Persistence.NEEDS_CHANGE, Effect.NONE, provider="openai",
        http_status=400, code="context_length_exceeded",
        technical="This model's maximum context length is 128000 tokens",
        exception="ModelContextLengthError",
    )  # fmt: skip
    model: dict[str, Any] = {"agent": "summariser", "model": "openai:gpt-5-mini"}
    call = story.start("llm", "openai:gpt-5-mini", agent, 1, **model)
    for attempt, (before, after) in enumerate(((1_900_000, 900_000), (900_000, 640_000)), 1):
        story.wait(1).fail(call, found, attempt)
        story.tell(ev.StepCompacted(round=attempt, bytes_before=before, bytes_after=after), call, agent)
        story.start("llm", "openai:gpt-5-mini", agent, 1, attempt=attempt + 1, **model)
    story.wait(1).fail(call, found, 3)
    park(story, call, found, "llm", action={"model": "openai:gpt-5-mini"}, message="HTTP 400")
    return story.wait(20)


def no_fit() -> Story:
    story, root = fares("Book a hotel in Basel")
    agent = story.open("agent", "booker", root, 0)
    call = story.start("llm", "openai:gpt-5-mini", agent, 0, agent="booker", model="openai:gpt-5-mini")
    story.wait(2).end(call, {"content": '{"nights": "two"}'}, tokens=(300, 20), usd=0.001)
    found = fault(
        Cause.OUTPUT_INVALID, Origin.MODEL, Persistence.UNKNOWN, Effect.NONE, exception="OutputInvalidError",
        technical='nights: a whole number is needed, not "two"',
    )  # fmt: skip
    park(story, agent, found, "agent", message='nights: a whole number is needed, not "two"')
    return story.wait(33)


def bad_argument() -> Story:
    story, root = fares("How many releases were there")
    agent = story.open("agent", "analyst", root, 0)
    sql = "select count(*) from releases where year = 'this one'"
    tool = story.start("tool", "query", agent, 0, agent="analyst", arguments={"sql": sql})
    found = fault(
        Cause.TOOL_FAILED, Origin.TOOL, Persistence.UNKNOWN, Effect.NONE, exception="ValueError",
        technical="ValueError: no such table: releases. Tables are: release, author",
    )  # fmt: skip
    story.fail(tool, found)
    park(
        story, tool, found, "tool", message="ValueError: no such table: releases. Tables are: release, author",
        action={"tool": "query", "arguments": {"sql": sql}},
        traceback='Traceback (most recent call last):\n  File "query.py", line 31, in query\nValueError: no such table',
    )  # fmt: skip
    return story.wait(42)


_DENIED: Final = fault(
    Cause.PERMISSION_DENIED, Origin.TOOL, Persistence.NEEDS_CHANGE, Effect.NOT_ATTEMPTED,
    exception="PermissionDeniedError", user_message="A permission is missing.",
)  # fmt: skip


def permission() -> Story:
    story, root = fares("Survey of this directory")
    done_agent(story, root, "planner", 0)
    agent = story.open("agent", "reporter", root, 1)
    text = "# Survey\n\nFor the maintainers.\n\n* three projects: orbiter, apollo, gemini\n" + "One more remark.\n" * 30
    arguments = {"path": "reports/survey.md", "text": text}
    tool = story.start("tool", "write_report", agent, 0, agent="reporter", arguments=arguments)
    need = "fs.write:/data/reports/survey.md"
    park(
        story, tool, _DENIED, "tool", need=need, message=f"agent 'reporter' needs the permission {need}",
        action={"tool": "write_report", "arguments": arguments},
    )  # fmt: skip
    return story.wait(35)


_ASKED: Final = fault(
    Cause.MISSING_INPUT, Origin.HUMAN, Persistence.NEEDS_CHANGE, Effect.NOT_ATTEMPTED,
    exception="MissingInputError", user_message="A person's answer is missing.",
)  # fmt: skip


def question() -> Story:
    story, root = fares("Survey of this directory")
    agent = story.open("agent", "reporter", root, 0)
    tool = story.start("tool", "ask_reader", agent, 0, agent="reporter")
    park(story, tool, _ASKED, "tool", question="For whom is the report? A name or a team, for its first line.",
         action={"tool": "ask_reader", "arguments": {}})  # fmt: skip
    return story.wait(5)


def choice() -> Story:
    story, root = fares("Plan three days in Basel")
    agent = story.open("agent", "booker", root, 0)
    asked = story.start("value", "ask", agent, 0, agent="booker")
    days = {"type": "array", "items": {"type": "string", "enum": ["Monday", "Tuesday", "Thursday", "Friday"]}}
    park(story, asked, _ASKED, "value", question="Which days?", answer_schema=days)
    return story.wait(120)


def budget() -> Story:
    members = ("planner", "searcher", "writer", "reviewer", "editor")
    story, root = fares("Compare four cities", *members)
    done_agent(story, root, "planner", 0, calls=4)
    done_agent(story, root, "searcher", 1, calls=4)
    agent = story.open("agent", "writer", root, 2)
    for number in range(12):
        call = story.start("llm", "openai:gpt-5-mini", agent, number, agent="writer", model="openai:gpt-5-mini")
        story.wait(1).end(call, {"text": "The part on Basel is too short."}, tokens=(400, 40), usd=0.002)
    call = story.start("llm", "openai:gpt-5-mini", agent, 12, agent="writer", model="openai:gpt-5-mini")
    found = fault(
        Cause.LIMIT_REACHED, Origin.RUNNER, Persistence.NEEDS_CHANGE, Effect.NOT_ATTEMPTED, limit=Limit.LLM_CALLS,
        exception="BudgetExceededError", technical="max_llm_calls: 20 of 20 used",
    )  # fmt: skip
    about = {"limit": "max_llm_calls", "allowed": 20, "used": 20, "of": "the run", "scope": ""}
    park(story, call, found, "llm", action={"model": "openai:gpt-5-mini", "budget": about}, message="max_llm_calls")
    return story.wait(60)


def breakpoint_() -> Story:
    story, root = fares("Tell the team")
    agent = story.open("agent", "secretary", root, 0)
    arguments = {"to": "team@example.org", "subject": "Fares", "text": "Dear all, " * 40}
    tool = story.start("tool", "send_mail", agent, 0, agent="secretary", arguments=arguments)
    found = fault(
        Cause.CANCELLED, Origin.HUMAN, Persistence.NEEDS_CHANGE, Effect.NOT_ATTEMPTED, rule_id="breakpoint",
        user_message="A breakpoint is set here.",
    )  # fmt: skip
    park(story, tool, found, "tool", action={"tool": "send_mail", "arguments": arguments},
         message="an operator set a breakpoint before send_mail")  # fmt: skip
    return story.wait(12)


def in_doubt() -> Story:
    story, root = fares("Book two seats to Bern")
    agent = story.open("agent", "booker", root, 0)
    arguments = {"url": "https://rail.example.com/book", "seats": 2}
    tool = story.start("tool", "book", agent, 0, agent="booker", arguments=arguments)
    story.tell(ev.RunStarted(epoch=2, owner="runtime-2"))
    message = "book had begun when its process ended: it is not known whether it took effect"
    found = fault(
        Cause.CANCELLED, Origin.TOOL, Persistence.NEEDS_CHANGE, Effect.UNKNOWN, user_message=message,
        rule_id="in-doubt",
    )  # fmt: skip
    story.wait(1)
    action = {"tool": "book", "arguments": arguments}
    park(story, tool, found, "tool", in_doubt=True, action=action, message=message)
    return story.wait(120)


TWELVE: Final[dict[str, Callable[[], Story]]] = {
    "network": network,
    "rate_limited": rate_limited,
    "auth_failed": dead_key,
    "context_overflow": too_long,
    "output_invalid": no_fit,
    "tool_failed": bad_argument,
    "permission": permission,
    "question": question,
    "choice": choice,
    "budget": budget,
    "breakpoint": breakpoint_,
    "in_doubt": in_doubt,
}
"""By what they are, in the order of the ten-second test."""


FILES: Final = {
    "/data/reports/survey.md": (
        "# Survey\n\nFor the maintainers.\n\n* two projects: orbiter, apollo\n" + "One more remark.\n" * 26
    ).encode()
}
"""What is on the disk of the machine where they run."""


async def take(directory: Path) -> None:
    """Write a picture of each, at each size, and their order."""
    from console.app.app import OrbiterApp
    from console.preferences.schema import Preferences
    from runtime.judgement.reports.explanation.runtime_home import RuntimeHome
    from screens.shell.context import ConsoleContext
    from tests.screens.pictures import stands
    from tests.screens.run_link import RunLink
    from tests.screens.waiting import drawn

    rows = []
    for number, (name, story) in enumerate(TWELVE.items(), 1):
        for width, height in SIZES:
            link = RunLink(story())
            link.files = FILES
            session = ConsoleContext(
                link,
                clock=lambda link=link: link.now,  # type: ignore[misc]
                arm_after=0.0,
                runtime_home=lambda: RuntimeHome(env_file="/work/digest/keys.env"),
            )
            session.hold.seconds = Preferences().undo_seconds
            app = OrbiterApp(session, theme="orbiter-dark", run_id="run-1")
            async with app.run_test(size=(width, height)) as pilot:
                await stands(pilot, "orbiter")
                await drawn(pilot)
                file = f"{number:02}-{name}-{width}x{height}.svg"
                (directory / file).write_text(app.export_screenshot(), encoding="utf-8")
                rows.append(file)
    (directory / "order.txt").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise OrbiterError("usage: python -m tests.screens.twelve_incidents DIRECTORY")
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    asyncio.run(take(Path(sys.argv[1])))
