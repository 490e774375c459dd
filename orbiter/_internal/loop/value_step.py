"""Value steps record what user code feeds into a run: instructions, aggregates, and hooks that stand alone.

In another life of the run the value is recalled, so user code need not be deterministic, and a hook fires once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from orbiter.steps import DIRECT, Codec, Place, Scope, Step

ValueMaker = Callable[[dict[str, Any]], Awaitable[Any]]


class ValueCodec(Codec[dict[str, Any], Any]):
    """Arguments and value are JSON as they stand. What begins with an underscore is for the call alone."""

    def describe(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in arguments.items() if not name.startswith("_")}

    def dump(self, result: Any) -> Any:
        return result

    def load(self, value: Any) -> Any:
        return value

    def replace(self, arguments: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        return {**arguments, **changes}


VALUE_CODEC = ValueCodec()


async def _echo(arguments: dict[str, Any]) -> Any:
    return VALUE_CODEC.describe(arguments)


async def record_value(
    scope: Scope, name: str, place: Place, make: ValueMaker, arguments: dict[str, Any], *, agent: str = ""
) -> Any:
    """The value that `make` gives for `arguments`, recorded under the node; a failure of `make` is raised."""
    return await scope.step(Step("value", name, agent, place, arguments, make, VALUE_CODEC))


async def run_hook_once(
    scope: Scope,
    name: str,
    place: Place,
    fire: Callable[[], Awaitable[None]],
    arguments: dict[str, Any],
    *,
    agent: str = "",
) -> Any:
    """Fire hooks that belong to no other step, once in all lives of the run. Returns `arguments` as recorded."""
    if scope is DIRECT:
        await fire()
        return arguments

    async def before(_: dict[str, Any]) -> None:
        await fire()

    return await scope.step(Step("value", name, agent, place, arguments, _echo, VALUE_CODEC, before=before))
