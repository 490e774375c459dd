"""The checkpointer: checkpoints in memory, and, in a coarse run, each of them as a value step of the journal.

What is in memory is read back from the journal when a run is taken up; there is no second database. A checkpoint is
recorded with the values of the channels that changed, so each version of a channel stands in the journal once. What
tasks wrote is recorded as well: a superstep of which a part failed is done again without its finished parts.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.memory import InMemorySaver

from orbiter._internal.loop.value_step import record_value
from orbiter.guests.langgraph.life import Life
from orbiter.guests.langgraph.packed_values import pack, unpack
from orbiter.guests.langgraph.task_steps import stands
from orbiter.steps import Place

_CHECKPOINT, _WRITES = "checkpoint", "writes"
_ERROR = "__error__"
"""The channel in which LangGraph keeps the exception of a task. The incident has it."""
_INTERRUPT = "__interrupt__"
_LONGEST_GAP = 20
"""So many records of writes may be missing in a row: each rewind to one takes one away."""


class JournalSaver(InMemorySaver):
    """LangGraph's checkpointer in memory, which records what it is given.

    Args:
        life: The run; None: nothing is recorded.
    """

    def __init__(self, life: Life | None = None) -> None:
        super().__init__()
        self.life = life
        self.numbers = life.checkpoints if life is not None else {}
        self._parts: Counter[int] = Counter()
        self._written: defaultdict[int, list[tuple[Place, str, str]]] = defaultdict(list)
        self._one_by_one = asyncio.Lock()
        if life is not None:
            self._read_back(life)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint."""
        if self.life is None:
            return super().put(config, checkpoint, metadata, new_versions)
        where = config["configurable"]
        values = checkpoint["channel_values"]
        given = {
            "thread": where["thread_id"],
            "ns": where.get("checkpoint_ns", ""),
            "parent": where.get("checkpoint_id"),
            "checkpoint": pack({**checkpoint, "channel_values": {}}, self.serde),
            "metadata": pack(dict(metadata), self.serde),
            "channels": {
                name: [version, pack(values[name], self.serde) if name in values else None]
                for name, version in new_versions.items()
            },
        }
        shown = {"step": metadata.get("step"), "channels": sorted(new_versions)}
        recording = self.life.recording.setdefault(checkpoint["id"], asyncio.Event())
        async with self._one_by_one:
            place = Place(len(self.numbers))
            await record_value(
                self.life.scope, _CHECKPOINT, place, _give, {**shown, "_given": given}, agent=self.life.agent
            )
            self.numbers[checkpoint["id"]] = place.seq
            self.life.tasks.use(given["ns"], _CHECKPOINT, place)
        recording.set()
        return super().put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote."""
        kept = [each for each in writes if each[0] != _ERROR]
        if self.life is not None and kept:
            async with self._one_by_one:
                await self._record_writes(self.life, config["configurable"], kept, task_id, task_path)
        super().put_writes(config, writes, task_id, task_path)

    async def _record_writes(
        self, life: Life, where: Mapping[str, Any], kept: Sequence[tuple[str, Any]], task: str, path: str
    ) -> None:
        number, namespace = self.numbers[where["checkpoint_id"]], where.get("checkpoint_ns", "")
        for place, other, its_path in self._written[number]:
            if other == task or path in its_path:
                life.tasks.use("", _WRITES, place, task)
        given = {
            "thread": where["thread_id"],
            "ns": namespace,
            "checkpoint": where["checkpoint_id"],
            "task": task,
            "path": path,
            "steps": life.tasks.rests_on(life.scope, task),
            "writes": [[channel, pack(value, self.serde)] for channel, value in kept],
        }
        shown = {"task": path, "channels": [channel for channel, _ in kept]}
        place = Place(number, self._parts[number])
        await record_value(life.scope, _WRITES, place, _give, {**shown, "_given": given}, agent=life.agent)
        self._took(life, place, given, kept)

    def _took(self, life: Life, place: Place, given: Mapping[str, Any], writes: Sequence[tuple[str, Any]]) -> None:
        """Note what was recorded of a task, in this life or before."""
        task, namespace, path = given["task"], given["ns"], given["path"]
        self._parts[place.seq] = (place.par or 0) + 1
        self._written[place.seq].append((place, task, path))
        life.tasks.use(namespace, _WRITES, place)
        for channel, value in writes:
            if channel == _INTERRUPT:
                life.tasks.asked(namespace, task, place.seq, value)

    def _read_back(self, life: Life) -> None:
        """Take up what earlier lives recorded."""
        while (found := life.scope.recorded(_CHECKPOINT, place := Place(len(self.numbers)))) is not None:
            checkpoint = unpack(found["checkpoint"], self.serde)
            changed = found["channels"]
            checkpoint["channel_values"] = {
                name: unpack(packed, self.serde) for name, (_, packed) in changed.items() if packed is not None
            }
            config = _config(life, found, found["parent"])
            versions = {name: version for name, (version, _) in changed.items()}
            super().put(config, checkpoint, unpack(found["metadata"], self.serde), versions)
            self.numbers[checkpoint["id"]] = place.seq
            life.tasks.use(found["ns"], _CHECKPOINT, place)
            self._read_writes(life, place.seq)

    def _read_writes(self, life: Life, number: int) -> None:
        """Take up what tasks wrote. What rests on a step that is gone is left out; of what a task wrote again, the
        latest counts.
        """
        standing: list[tuple[dict[str, Any], list[tuple[str, Any]]]] = []
        part = 0
        while part < self._parts[number] + _LONGEST_GAP:
            place = Place(number, part)
            part += 1
            if (found := life.scope.recorded(_WRITES, place)) is None:
                continue
            self._parts[number] = part
            steps = found.get("steps", [])
            if not stands(life.scope, steps):
                life.tasks.outdated.add(found["task"])
                continue
            writes = [(channel, unpack(packed, self.serde)) for channel, packed in found["writes"]]
            life.tasks.took(found["task"], steps)
            self._took(life, place, found, writes)
            standing.append((found, writes))
        ended = {found["task"]: at for at, (found, writes) in enumerate(standing) if not _only_asks(writes)}
        for at, (found, writes) in enumerate(standing):
            if ended.get(found["task"], at) == at or _only_asks(writes):
                super().put_writes(_config(life, found, found["checkpoint"]), writes, found["task"], found["path"])


def _only_asks(writes: Sequence[tuple[str, Any]]) -> bool:
    """Whether a task asked, or took an answer, and has not ended."""
    return all(channel in WRITES_IDX_MAP for channel, _ in writes)


def _config(life: Life, found: dict[str, Any], checkpoint_id: str | None) -> RunnableConfig:
    where = {"thread_id": _thread(life, found["thread"]), "checkpoint_ns": found["ns"]}
    return {"configurable": where if checkpoint_id is None else {**where, "checkpoint_id": checkpoint_id}}


def _thread(life: Life, recorded: str) -> str:
    """The thread of the run where a checkpoint was recorded in its own, or in that of the run of which it is a fork:
    these differ in the id of the run.
    """
    return life.thread if recorded.partition("/")[2] == life.thread.partition("/")[2] != "" else recorded


async def _give(arguments: dict[str, Any]) -> Any:
    return arguments["_given"]


def checkpointer() -> JournalSaver:
    """A checkpointer for ``compile(checkpointer=checkpointer())``. In a run, the run's own stands in its place.

    Returns:
        The checkpointer. In a run its checkpoints are in the journal; outside of one they are in memory.
    """
    return JournalSaver()
