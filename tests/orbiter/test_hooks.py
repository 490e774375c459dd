"""Hooks: points, order, and which keywords reach which hook."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from orbiter.errors import OrbiterError
from orbiter.hooks import EXTRA_KEYWORDS, HookError, HookManager, HookPoint, run_hooks


def test_the_seven_points() -> None:
    assert {point.name: point.value for point in HookPoint} == {
        name: name.lower()
        for name in (
            "START",
            "FINISHED",
            "ERROR",
            "PRE_LLM_CALL",
            "POST_LLM_CALL",
            "PRE_TOOL_CALL",
            "POST_TOOL_CALL",
        )
    }


async def test_hooks_run_in_the_order_added_and_see_the_data() -> None:
    manager = HookManager()
    seen: list[Any] = []

    async def first(**data: Any) -> None:
        seen.append(("first", data))

    async def second(agent: str) -> None:
        seen.append(("second", agent))

    manager.add(HookPoint.START, first)
    manager.add(HookPoint.START, second)
    await run_hooks(manager, HookPoint.START, agent="a")
    await run_hooks(manager, HookPoint.FINISHED, agent="a")
    assert seen == [("first", {"agent": "a"}), ("second", "a")]
    assert manager.has_hooks(HookPoint.START)
    assert not manager.has_hooks(HookPoint.FINISHED)


async def test_extra_keywords_reach_a_hook_only_if_its_signature_takes_them() -> None:
    manager = HookManager()
    seen: dict[str, Any] = {}

    async def of_the_seed(agent: str, tool_name: str, arguments: dict[str, Any]) -> None:
        seen["seed"] = (agent, tool_name, arguments)

    async def asks_for_the_call(agent: str, tool_name: str, arguments: dict[str, Any], tool_call_id: str) -> None:
        seen["call"] = tool_call_id

    async def takes_all(**data: Any) -> None:
        seen["all"] = sorted(data)

    class Stateful:
        async def __call__(self, *, node_id: str, **data: Any) -> None:
            seen["object"] = (node_id, sorted(data))

    async def bound(prefix: str, agent: str, tool_name: str, arguments: dict[str, Any]) -> None:
        seen["partial"] = prefix + agent

    for hook in (of_the_seed, asks_for_the_call, takes_all, Stateful(), partial(bound, "p-")):
        manager.add(HookPoint.PRE_TOOL_CALL, hook)
    await manager.run(
        HookPoint.PRE_TOOL_CALL, agent="a", tool_name="t", arguments={}, tool_call_id="c1", run_id="r", node_id="n"
    )
    everything = ["agent", "arguments", "node_id", "run_id", "tool_call_id", "tool_name"]
    assert seen == {
        "seed": ("a", "t", {}),
        "call": "c1",
        "all": everything,
        "object": ("n", [name for name in everything if name != "node_id"]),
        "partial": "p-a",
    }
    assert {"tool_call_id", "run_id", "node_id"} <= EXTRA_KEYWORDS


async def test_a_keyword_of_the_point_is_never_kept_back() -> None:
    manager = HookManager()

    async def too_narrow(agent: str) -> None: ...

    manager.add(HookPoint.PRE_TOOL_CALL, too_narrow)
    with pytest.raises(TypeError, match="tool_name"):
        await manager.run(HookPoint.PRE_TOOL_CALL, agent="a", tool_name="t")


async def test_a_raising_hook_ends_it_with_its_own_error() -> None:
    manager = HookManager()
    ran: list[str] = []

    async def refuse(**_: Any) -> None:
        raise ValueError("delete_all requires confirm=True")

    async def after(**_: Any) -> None:
        ran.append("after")

    manager.add(HookPoint.PRE_LLM_CALL, refuse)
    manager.add(HookPoint.PRE_LLM_CALL, after)
    with pytest.raises(ValueError, match=r"^delete_all requires confirm=True$"):
        await manager.run(HookPoint.PRE_LLM_CALL, agent="a")
    assert ran == []


async def test_a_plain_function_will_do_and_a_hook_may_remove_itself() -> None:
    manager = HookManager()
    count = 0

    def once(**_: Any) -> None:
        nonlocal count
        count += 1
        manager.remove(HookPoint.START, once)

    manager.add(HookPoint.START, once)
    await manager.run(HookPoint.START)
    await manager.run(HookPoint.START)
    assert count == 1


def test_misuse_is_named() -> None:
    manager = HookManager()
    with pytest.raises(HookError, match="Unknown hook point 'start'") as caught:
        manager.add("start", print)  # type: ignore[arg-type]
    assert "HookPoint.START" in (caught.value.hint or "")
    with pytest.raises(HookError, match="not callable"):
        manager.add(HookPoint.START, 3)  # type: ignore[arg-type]
    manager.remove(HookPoint.START, print)  # not registered: nothing to do, as seed 000's users know it
    assert issubclass(HookError, OrbiterError)


def test_a_point_without_hooks_is_not_among_the_registered() -> None:
    manager = HookManager()
    manager.add(HookPoint.START, print)
    manager.add(HookPoint.START, print)
    manager.remove(HookPoint.START, print)
    assert list(manager.registered) == [HookPoint.START]
    manager.remove(HookPoint.START, print)
    assert not manager.registered
    assert not manager.has_hooks(HookPoint.START)


def test_clear() -> None:
    manager = HookManager()
    for point in HookPoint:
        manager.add(point, print)
    manager.clear(HookPoint.START)
    assert [point for point in HookPoint if not manager.has_hooks(point)] == [HookPoint.START]
    manager.clear()
    assert not any(manager.has_hooks(point) for point in HookPoint)
