"""The hint that equal decisions wait, after an answer to one of them worked. It decides nothing."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from textual.app import App

from runtime.link.client.client import LinkError
from runtime.operations.requests.answers import FindPrecedent, Precedent
from screens.base.runtime_screen import RuntimeScreen
from screens.shell.context import ConsoleContext, Notice
from screens.views.decisions.bulk_answer import same_words
from screens.views.decisions.incident_groups import OpenDecision, group_key

FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 30.0
"""Between two questions to the runtime, for which it reads the whole run; asked only after something changed."""


def watch_answer(app: App[Any], session: ConsoleContext, answered: OpenDecision) -> None:
    """Watch what becomes of an answer, for as long as the app lives and others like it wait."""
    if _others_wait(session, answered):
        app.run_worker(_watch(app, session, answered), group="canary", exit_on_error=False)


async def _watch(app: App[Any], session: ConsoleContext, answered: OpenDecision) -> None:
    changed = asyncio.Event()
    end = session.link.subscribe(changed.set)
    pause, seen = FIRST_PAUSE_S, None
    try:
        while _others_wait(session, answered):
            summary = session.link.summaries.get(answered.run_id)
            if summary != seen:
                seen = summary
                before = await _precedent(session, answered)
                if before is not None and before.id != answered.opened.incident_id:
                    return  # another one was answered since
                if before is not None and before.state != "not proven":
                    _show_hint(app, session, answered, before)
                    return
                await asyncio.sleep(pause)
                pause = min(MAX_PAUSE_S, 2 * pause)
            changed.clear()
            if session.link.summaries.get(answered.run_id) == seen:
                await changed.wait()
    finally:
        end()


async def _precedent(session: ConsoleContext, answered: OpenDecision) -> Precedent | None:
    with suppress(LinkError):  # it is asked again when something changes
        host = session.link.host_of(answered.run_id)
        return await session.link.ask(FindPrecedent(incident_id=answered.opened.incident_id), where=host)
    return None


def _show_hint(app: App[Any], session: ConsoleContext, answered: OpenDecision, before: Precedent) -> None:
    others = _equal_decisions(session, answered)
    option = same_words(before, others)
    if not (option and others):
        return
    key = session.render_context().key("home.answer_alike", "B")
    how = f"{key} in the inbox answers the same" if key else "they can be answered the same"
    waiting = session.render_context().counted(len(others), "alike waits", "alike wait")
    text = f"{option} worked: {waiting}; {how}"
    if isinstance(app.screen, RuntimeScreen):
        app.screen.show_message(text)
    else:
        session.said.append(Notice(session.clock(), "info", text))


def _others_wait(session: ConsoleContext, answered: OpenDecision) -> bool:
    """Whether others are the same, or may be: not all are told yet."""
    return bool(session.link.loading or _equal_decisions(session, answered))


def _equal_decisions(session: ConsoleContext, answered: OpenDecision) -> list[OpenDecision]:
    """What waits and is the same."""
    link = session.link
    key = group_key(answered, link.host_of(answered.run_id))
    return [
        found
        for found in link.incidents.values()
        if group_key(found, link.host_of(found.run_id)) == key
        and found.opened.incident_id != answered.opened.incident_id
    ]
