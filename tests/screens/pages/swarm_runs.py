"""Runs of swarms as the lists know them."""

from __future__ import annotations

from datetime import timedelta

from runtime.record.state import events as ev
from tests.screens.stories import START, Story


def workflow(number: int, done: int, *, mode: str = "workflow", ref: str = "/work/translate.py:swarm") -> Story:
    """A run of four members in turn, so many of which have ended."""
    story = Story(f"run-{number}", f"translate {number}", START + timedelta(minutes=number))
    story.tell(ev.RunCreated(ref=ref, title=story.title, input="x"))
    story.tell(ev.RunStarted(epoch=1))
    root = story.open("swarm", "swarm", members=["a", "b", "c", "d"], mode=mode)
    for place, member in enumerate("abcd"[:done]):
        agent = story.wait(60).open("agent", member, root, place)
        call = story.start("llm", "m", agent, agent=member)
        story.end(call, {"content": "x"}, tokens=(900, 100), usd=0.5)
        story.close(agent)
    if done < 4:
        story.open("agent", "abcd"[done], root, done)
    return story
