"""A link that also carries out what is done to runs besides answering, by the events that say so."""

from __future__ import annotations

from typing import Any

from runtime.link.client.client import LinkError
from runtime.record.state import events as ev
from runtime.record.state.events import event_fields
from runtime.record.state.rewind import nodes_dropped_by
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import Story

ADA = ev.Actor(name="ada", channel="console")


class RunLink(MemoryLink):
    """`done` are the commands that act, in their order."""

    async def command(self, verb: str, /, **args: Any) -> Any:
        if verb not in ("events", "rewind", "fork", "inject", "break", "freeze", "thaw", "abort"):
            return await super().command(verb, **args)
        story = self.stories[args["run_id"]]
        if verb == "events":
            found = [event for event in story.events if event.seq > args.get("after", 0)][: args.get("limit", 500)]
            return [event_fields(event) for event in found]
        self.said.append((verb, args))
        if verb in self.refused:
            raise LinkError(self.refused[verb])
        result = getattr(self, f"_{verb}")(story, args)
        self.changed()
        return result

    refused: dict[str, str] = {}  # noqa: RUF012 - replaced, never changed
    """Verbs that are refused, with the reason."""

    def _freeze(self, story: Story, _args: dict[str, Any]) -> list[dict[str, Any]]:
        story.tell(ev.RunFrozen(by=ADA))
        return [self._row(story)]

    def _thaw(self, story: Story, _args: dict[str, Any]) -> list[dict[str, Any]]:
        story.tell(ev.RunThawed(by=ADA))
        return [self._row(story)]

    def _abort(self, story: Story, args: dict[str, Any]) -> dict[str, Any]:
        story.tell(ev.AbortRequested(reason=args.get("reason", ""), by=ADA))
        return self._row(story)

    def _rewind(self, story: Story, args: dict[str, Any]) -> dict[str, Any]:
        dropped = nodes_dropped_by(story.state, args["node_id"])
        story.tell(ev.RewindRequested(by=ADA), args["node_id"])
        story.tell(ev.RunRewound(by=ADA, dropped=len(dropped)), args["node_id"])
        return {**self._row(story), "node": args["node_id"], "dropped": sorted(dropped)}

    def _fork(self, story: Story, args: dict[str, Any]) -> dict[str, Any]:
        forked = Story(f"{story.run_id}-fork", f"fork of {story.title}", story.at)
        forked.begin()
        self.stories[forked.run_id] = forked
        return {**self._row(forked), "forked_from": story.run_id, "node": args.get("node_id", "")}

    def _inject(self, story: Story, args: dict[str, Any]) -> dict[str, Any]:
        agent = story.state.nodes[args["agent"]].name
        story.tell(ev.MessageInjected(injection_id="m-1", agent=agent, text=args["text"], by=ADA), args["agent"])
        return {**self._row(story), "injection_id": "m-1"}

    def _break(self, story: Story, args: dict[str, Any]) -> dict[str, Any]:
        kind = ev.BreakpointCleared if args.get("clear") else ev.BreakpointSet
        story.tell(kind(what=args["what"], pattern=args["pattern"], by=ADA))
        what = f"{args['what']}:{args['pattern']}"
        return {**self._row(story), "breakpoint": what, "cleared": args.get("clear", False)}

    def _row(self, story: Story) -> dict[str, Any]:
        return {"id": story.run_id, "state": story.state.shown_phase}
