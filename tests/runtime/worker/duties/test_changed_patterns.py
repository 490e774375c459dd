"""Patterns that mean something else than before are told once, with both readings."""

from __future__ import annotations

from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.judgement.reports.digest import build_digest
from runtime.record.state import events as ev
from runtime.worker.duties.changed_patterns import note_rereadings
from tests.runtime.bench import Bench


async def test_each_pattern_that_became_stricter_is_told_once(bench: Bench) -> None:
    def rules(*denied: str) -> PermissionPolicy:
        lists = {"deny": ["shell:rm *", *denied], "allow": ["shell:git *", "fs.read:./**", "shell"]}
        return PermissionPolicy.from_mapping(lists, root=str(bench.root))

    async with bench.driving():
        for pattern in ("./build.sh *", "git *", "ls"):
            given = ev.GrantAdded(
                grant_id=f"g-{pattern}", subject="*", verb="shell", pattern=pattern, lifetime="always"
            )
            await bench.journal.post(ev.WORKSPACE_RUN_ID, given)
        await note_rereadings(bench.journal, rules())
        assert not await told(bench)  # nothing ever ran here
        incident = (await bench.incidents(await bench.start("executer", "/x/run one")))[0]
        await bench.ended_by(incident, "grant", **{"for": "run", "pattern": "/x/run *"})
    for _ in range(2):
        await note_rereadings(bench.journal, rules("shell:shutdown"))
        await note_rereadings(bench.journal, rules())
    found = await told(bench)
    assert [each.what for each in found] == [
        "grant g-./build.sh * shell:./build.sh *",
        "deny shell:rm *",
        "deny shell:shutdown",
    ]
    assert all(each.before and each.now and each.before != each.now for each in found)
    said = build_digest([await bench.journal.read(ev.WORKSPACE_RUN_ID)], None).sentences
    assert sum("became stricter" in each for each in said) == 3


async def told(bench: Bench) -> list[ev.PatternReread]:
    return [each for each in await bench.journal.read(ev.WORKSPACE_RUN_ID) if isinstance(each, ev.PatternReread)]
