"""A run in the hands of two processes and of operators, who take turns at every transaction: it is never lost."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from runtime.record.state.durable_run import DurableRun
from tests.runtime.execution.interleaving import ME, World

ROUNDS = 60
WANTED = ("input", "grant", "retry", "extend", "result", "skip", "deny", "abort")
LAST = ("input", "grant", "result", "extend", "skip", "deny", "abort")
"""What is answered at last: nothing that only leads to the same question again."""
which = st.integers(0, 7)


class Interleaved(RuleBasedStateMachine):
    """See the module."""

    world: World

    @initialize(
        name=st.sampled_from(["asking", "saving", "failing", "limited"]),
        attended=st.booleans(),
        deadline_s=st.sampled_from([None, 3.0]),
        grace_s=st.sampled_from([0.0, 0.0, 2.0]),
    )
    def begin(self, name: str, attended: bool, deadline_s: float | None, grace_s: float) -> None:
        self.directory = tempfile.TemporaryDirectory()
        root = Path(self.directory.name)
        os.environ["ORBITER_TEST_EFFECTS"] = str(root / "effects")
        self.world = World(root, name, attended=attended, deadline_s=deadline_s, grace_s=grace_s)
        self.world.resume(self.world.processes[0])

    @rule(number=which, in_time=st.booleans())
    def go(self, number: int, in_time: bool) -> None:
        if closed := self.world.gates.closed():
            self.world.go(closed[number % len(closed)], in_time=in_time)

    @rule(times=st.integers(1, 12))
    def go_on(self, times: int) -> None:
        """The process that drives goes on undisturbed."""
        for _ in range(times):
            mine = [key for key in self.world.gates.closed() if key[0] != "operator"]
            if not mine:
                break
            self.world.go(mine[0])

    @rule()
    def tick(self) -> None:
        self.world.tick()

    @rule(number=st.integers(0, 1))
    def resume(self, number: int) -> None:
        self.world.resume(self.world.processes[number])

    @rule(number=st.integers(0, 1))
    def kill(self, number: int) -> None:
        self.world.kill(self.world.processes[number])

    @rule(number=st.integers(0, 1))
    def stop(self, number: int) -> None:
        self.world.stop(self.world.processes[number])

    @rule(number=which, option=which)
    def answer(self, number: int, option: int) -> None:
        if waiting := self.world.state().open_incidents:
            opened = waiting[number % len(waiting)].opened
            offered = [each for each in WANTED if each in {found.id for found in opened.options}]
            self.world.act(answer(self.world, opened.incident_id, offered[option % len(offered)]))

    @rule(do=st.sampled_from(["freeze", "freeze", "thaw", "thaw", "abort", "inject"]))
    def control(self, do: str) -> None:
        world = self.world
        if do == "inject":
            world.act(world.controls.inject(world.run, "dead", "mind this", by=ME))
        elif do == "abort":
            world.act(world.decisions.abort(world.run, by=ME))
        else:
            world.act((world.controls.freeze if do == "freeze" else world.controls.thaw)(world.run, by=ME))

    @rule(at=which)
    def rewind(self, at: int) -> None:
        if nodes := list(self.world.state().nodes):
            self.world.act(self.world.controls.rewind(self.world.run, nodes[at % len(nodes)], confirm=True, by=ME))

    @invariant()
    def is_never_lost(self) -> None:
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        try:
            come_to_its_end(self.world)
        finally:
            self.world.close()
            os.environ.pop("ORBITER_TEST_EFFECTS", None)
            self.directory.cleanup()


def asked(world: World) -> None:
    """Drive the run until it has asked something."""
    world.resume(world.processes[0])
    while not world.state().open_incidents:
        writes = [key for key in world.gates.closed() if key[1] == "write"]
        world.go(writes[0]) if writes else world.tick()


def follow(world: World, schedule: str) -> None:
    """t: time passes, w: a write is committed, h: the driver hears of others; capitals: as the next timer is due."""
    for what in schedule:
        found = [key for key in world.gates.closed() if (key[1] == "write") == (what in "wW")]
        if what == "t" or not found:
            world.tick()
        else:
            world.go(found[0], in_time=what.isupper())
        world.check()


def answer(world: World, incident_id: str, option: str) -> Any:
    params = {"input": {"value": "the team"}, "result": {"value": "it had happened"}, "grant": {"for": "always"}}
    return world.decisions.answer(incident_id, option, params.get(option, {}), by=ME)


def come_to_its_end(world: World) -> None:
    """Answer whatever is asked, and see that the run has nothing left that it owes anybody."""
    for _ in range(ROUNDS):
        state = world.drain()
        if state.terminal:
            assert state.rewind is None or state.phase == "aborted", (
                "a rewind was accepted, and the run ended without it"
            )
            return
        if state.phase == "frozen":
            world.act(world.controls.thaw(world.run, by=ME))
        else:
            assert state.phase == "waiting", state.phase
            assert state.wake_at or not owed(state), f"answered, and no process goes on with it: {owed(state)}"
            world.loop.now += 1.0
            if state.wake_at is not None and not any(each.opened.deadline for each in state.open_incidents):
                world.loop.now += max(0.0, (state.wake_at - world.clock()).total_seconds())
            elif waiting := state.open_incidents:
                offered = {found.id for found in waiting[0].opened.options}
                option = next(each for each in LAST if each in offered)
                world.act(answer(world, waiting[0].opened.incident_id, option))
    raise AssertionError(f"never ended: {world.summary()}")


def owed(state: DurableRun) -> list[str]:
    """Open leaves of a run that waits which wait for nothing themselves."""
    open_nodes = [node for node in state.nodes.values() if not node.terminal]
    parents = {node.parent_id for node in open_nodes}
    leaves = [node for node in open_nodes if node.id not in parents]
    asked = {incident.opened.node_id for incident in state.open_incidents}
    return [node.id for node in leaves if node.phase != "retrying" and node.id not in asked]
