"""Permissions that are asked for, end to end: what configuration, grants and denials let pass, in every life."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.judgement.reports.explanation.explain import explain
from runtime.operations.decisions import InvalidCommand
from runtime.record.inbox_row import InboxRow
from runtime.record.journal import AnswerAccepted, AnswerRefused
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Incident
from tests.runtime.bench import ME, Bench
from tests.runtime.execution.answering import offered, only

# -- permissions -----------------------------------------------------------------------------------------------------


async def test_the_tool_gets_what_was_checked(bench: Bench) -> None:
    (bench.root / "real").mkdir()
    (bench.root / "all.md").symlink_to(bench.root / "real" / "all.md")
    async with bench.driving():
        run = await bench.start("wiper")
        incident = await only(bench, run)
        assert incident.opened.action["permission"] == f"fs.write:{bench.root}/real/all.md"
        await bench.answer(incident, "grant")
        await bench.ended(run)
        fetching = await bench.start("fetcher")
        incident = await only(bench, fetching)
        assert incident.opened.action["permission"] == "net:api.example.com:443"
        await bench.answer(incident, "grant")
        state = await bench.ended(fetching)
    assert bench.effects == [f"wipe {bench.root}/real/all.md False", "fetch https://api.example.com/v1?q=1"]
    assert state.nodes["fetcher~0/fetch~0.0"].requested["arguments"]["url"].startswith("HTTPS://API")


def policy(bench: Bench, **lists: object) -> PermissionPolicy:
    return PermissionPolicy.from_mapping(lists, root=str(bench.root))


async def test_configuration_allows_asks_and_denies(bench: Bench) -> None:
    rules = policy(bench, allow=["fs.write:./data/**"], deny=["twice fs.write:./data/two.md"])
    async with bench.driving(permissions=rules):
        state = await bench.ended(await bench.start("twice"))
    assert bench.effects == ["save one.md"]
    assert not state.incidents
    denied = state.nodes["twice~0/save~1.0"]
    assert "Denied by the configuration" in denied.result["error"]
    assert denied.fault is not None
    assert denied.fault.cause == "policy_denied"


async def test_headless_what_would_be_asked_is_denied_and_the_safe_default_is_taken_at_once(bench: Bench) -> None:
    async with bench.driving(enable_error_routing=False):
        state = await bench.ended(await bench.start("saver"))
        assert state.phase == "completed"
        assert "Denied by the configuration" in state.nodes["saver~0/save~0.0"].result["error"]
        dead = await bench.ended(await bench.start("dead"))
    assert dead.phase == "failed"
    (incident,) = dead.incidents.values()
    assert incident.answer is not None
    assert (incident.answer.option, incident.answer.by.channel) == ("abort", "rule")
    assert incident.answer.reason == "no operator may be asked"
    assert bench.effects == []


async def test_a_standing_grant_covers_what_comes_and_a_revoked_one_stops_the_next_attempt(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("twice")
        incident = await only(bench, run)
        with pytest.raises(InvalidCommand, match="does not cover"):
            await bench.decisions.answer(
                incident.opened.incident_id, "grant", {"for": "run", "pattern": "elsewhere/**"}, by=ME
            )
        await bench.answer(incident, "grant", **{"for": "run", "pattern": "data/*"})
        state = await bench.ended(run)
    assert len(state.incidents) == 1
    assert bench.effects == ["save one.md", "save two.md"]
    used = [e for e in await bench.journal.read(run) if isinstance(e, ev.GrantUsed)]
    (grant,) = await bench.journal.grants()
    assert [e.grant_id for e in used] == [grant.grant_id] * 2
    assert (grant.pattern, grant.subject, grant.scope) == (f"{bench.root}/data/*", "twice", run)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["while driven", "while not driven"])
async def test_a_standing_grant_lets_pass_what_else_waits_for_just_that(bench: Bench, elsewhere: bool) -> None:
    def about(found: Sequence[InboxRow], name: str) -> InboxRow:
        return next(each for each in found if each.opened.action["arguments"]["path"] == name)

    async with bench.driving():
        run, other = await bench.start("savers"), await bench.start("savers")
        mine, theirs = await bench.incidents(run, 3), await bench.incidents(other, 3)
        if not elsewhere:
            await bench.answer(about(mine, "data/a"), "grant", **{"for": "run", "pattern": "data/*"})
    if elsewhere:
        await bench.answer(about(mine, "data/a"), "grant", **{"for": "run", "pattern": "data/*"})
    async with bench.driving():
        state = await bench.until(
            run, lambda s: sum(n.name == "save" and n.phase == "succeeded" for n in s.nodes.values()) == 2
        )
        (grant,) = await bench.journal.grants()
        second = state.incidents[about(mine, "data/b").opened.incident_id]
        assert second.answer is not None
        assert (second.answer.option, second.answer.by) == ("grant", ME)
        assert second.answer.params == {"for": "run", "grant_id": grant.grant_id}
        assert "covered by the grant" in second.answer.reason
        # Neither what it does not cover nor another run.
        assert [each.opened.incident_id for each in state.open_incidents] == [about(mine, "c").opened.incident_id]
        assert len((await bench.state(other)).open_incidents) == len(theirs) == 3
        used = [e.grant_id for e in await bench.journal.read(run) if isinstance(e, ev.GrantUsed)]
        assert used == [grant.grant_id] * 2
    assert sorted(bench.effects) == ["save a", "save b"]


async def test_a_grant_that_is_taken_back_at_once_lets_nothing_pass_that_it_would_have_covered(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("savers")
        found = await bench.incidents(run, 3)
    await bench.answer(found[0], "grant", **{"for": "run", "pattern": "**"})
    (grant,) = await bench.journal.grants()
    await bench.decisions.revoke(grant.grant_id, by=ME)
    async with bench.driving():
        await bench.until(run, lambda s: len(s.incidents) == 6)
        assert len(await bench.journal.incidents(run)) == 3
    assert bench.effects == []


async def test_a_grant_for_somebody_else_than_who_asks_is_refused_and_never_was(bench: Bench) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("saver"))
        with pytest.raises(InvalidCommand, match="a grant for 'nobody' does not cover 'saver'"):
            await bench.decisions.answer(
                incident.opened.incident_id, "grant", {"for": "run", "subject": "nobody"}, by=ME
            )
        assert not await bench.journal.grants()


@pytest.mark.parametrize(("option", "reach"), [("grant", "run"), ("deny", "agent"), ("skip", "run")])
async def test_an_answer_that_cannot_reach_so_far_is_refused(bench: Bench, option: str, reach: Any) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("saver"))
        with pytest.raises(InvalidCommand, match=f"does not apply to the {reach}"):
            await bench.decisions.answer(incident.opened.incident_id, option, {}, reach=reach, by=ME)
        assert len(await bench.journal.incidents()) == 1


async def test_each_permission_is_asked_about_and_a_grant_is_used_when_all_are_there(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("builder")
        first = await only(bench, run)
        told = explain(Incident(first.opened), await bench.state(run))
        await bench.answer(first, "grant", **{"for": "run"})
        await bench.until(run, lambda s: len(s.incidents) == 2)
        second = await only(bench, run)
        assert second.opened.action["permission"] == "shell"
        last = explain(Incident(second.opened), await bench.state(run))
        assert not [e for e in await bench.journal.read(run) if isinstance(e, ev.GrantUsed)]
        await bench.answer(second, "grant")
        await bench.ended(run)
    used = [e.need for e in await bench.journal.read(run) if isinstance(e, ev.GrantUsed)]
    assert used == [f"fs.write:{bench.root}/out"]
    assert bench.effects == ["build out"]
    assert first.opened.action["also_needs"] == ["shell"]
    assert told.consequences["grant"].text.startswith("build does not run yet: it asks for shell next.")
    assert "nor shell, which is asked for next" in told.why[0].text
    assert "runs now" not in str([each.text for each in told.wordings["grant"]])
    assert "also_needs" not in second.opened.action
    assert last.consequences["grant"].text.startswith("build runs now, once")


async def test_no_permission_is_asked_for_where_another_one_of_the_same_call_is_denied(bench: Bench) -> None:
    async with bench.driving(permissions=policy(bench, deny=["shell"])):
        state = await bench.ended(await bench.start("builder"))
    assert not state.incidents
    assert "shell is not permitted" in state.nodes["builder~0/build~0.0"].result["error"]


async def test_a_grant_that_is_revoked_before_the_call_stops_that_very_call(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("twice")
        incident = await only(bench, run)
    # No process drives it: the answer and the revocation are both there before the step is carried again.
    given = await bench.decisions.answer(incident.opened.incident_id, "grant", {"for": "always"}, by=ME)
    assert isinstance(given, AnswerAccepted)
    await bench.decisions.revoke(given.answer.params["grant_id"], by=ME)
    async with bench.driving():
        again = await bench.until(run, lambda s: len(s.incidents) == 2)
        assert len(again.open_incidents) == 1
    assert bench.effects == []


async def test_a_star_that_a_model_wrote_becomes_no_pattern_by_itself(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("saver")
        incident = await only(bench, run)
    asked = replace(incident.opened, action={"permission": f"fs.write:{bench.root}/**", "agent": "saver"})
    with pytest.raises(InvalidCommand, match="give --pattern, or grant it once"):
        await bench.decisions.proposed_grant(run, asked, {"for": "always"}, by=ME)
    made = await bench.decisions.proposed_grant(run, asked, {"for": "always", "pattern": "**"}, by=ME)
    assert made.pattern == "**"


async def test_a_standing_grant_of_a_command_covers_no_second_one(bench: Bench) -> None:
    told = ["./build.sh one", "./build.sh two", "./build.sh two; rm -rf ~", "./build.sh $(id)", "./build.sh x\nrm y"]
    async with bench.driving():
        run = await bench.start("executer", "\x1f".join(told))
        first = (await bench.incidents(run, 5))[0]
        assert first.opened.action["permission"] == "shell:./build.sh one"
        await bench.answer(first, "grant", **{"for": "always", "pattern": "./build.sh *"})
        state = await bench.until(run, lambda s: len(s.open_incidents) == 3)
    assert sorted(bench.effects) == ["execute 1: './build.sh one'", "execute 1: './build.sh two'"]
    assert [each.opened.action["permission"][6:] for each in state.open_incidents] == told[2:]


@pytest.mark.parametrize(
    ("command", "pattern", "said"),
    [
        ("git log; rm x", "git **", "a pattern with a star covers one simple command"),
        ("$TOOL x", "", "which command it runs is known only when it is expanded: say once"),
        ("git log 'x", "git **", "a quote is not closed"),
    ],
)
async def test_a_grant_that_cannot_cover_a_command_is_refused_with_the_reason(
    bench: Bench, command: str, pattern: str, said: str
) -> None:
    async with bench.driving():
        incident = await only(bench, await bench.start("executer", command))
        with pytest.raises(InvalidCommand, match=said):
            await bench.decisions.answer(
                incident.opened.incident_id,
                "grant",
                {"for": "run", "pattern": pattern} if pattern else {"for": "run"},
                by=ME,
            )
        assert not await bench.journal.grants()
        await bench.answer(incident, "grant")
        await bench.ended(incident.run_id)
    assert len(bench.effects) == 1


async def test_a_call_that_names_too_much_is_denied_and_the_model_is_told_why(bench: Bench) -> None:
    long = "x" * 20_000
    async with bench.driving(permissions=policy(bench, default="allow", deny=["shell:git * -m * *"])):
        state = await bench.ended(await bench.start("executer", f"ls\x1f{long}\x1f2000*ls"))
    assert bench.effects == ["execute 1: 'ls'"]
    assert not state.incidents
    said = [str(node.result["error"]) for node in state.nodes.values() if node.name == "execute" and node.fault]
    assert sum("an object of 20,0" in each for each in said) == 1
    assert sum("more than 1,000 objects: make several calls" in each for each in said) == 1


async def test_the_second_of_two_operators_is_told_and_leaves_no_grant_behind(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("saver")
        incident_id = (await only(bench, run)).opened.incident_id
        other = ev.Actor(name="other", channel="console")
        outcomes = await asyncio.gather(
            bench.decisions.answer(incident_id, "deny", by=ME),
            bench.decisions.answer(incident_id, "grant", {"for": "always"}, by=other),
        )
        await bench.ended(run)
    assert sorted(type(each).__name__ for each in outcomes) == ["AnswerAccepted", "AnswerRefused"]
    granted = isinstance(outcomes[1], AnswerAccepted)
    assert bool(await bench.journal.grants()) == granted
    assert bool(bench.effects) == granted


@pytest.mark.parametrize("turn", range(8))
async def test_an_answer_against_an_abort_leaves_one_of_them_standing(bench: Bench, turn: int) -> None:
    async with bench.driving(grace_s=0.0 if turn % 2 else 60.0):
        run = await bench.start("saver")
        incident_id = (await only(bench, run)).opened.incident_id

        async def abort() -> None:
            for _ in range(turn // 2):
                await asyncio.sleep(0)
            await bench.decisions.abort(run, by=ME)

        answering = bench.decisions.answer(incident_id, "grant", by=ME)
        outcome, _ = await asyncio.gather(answering, abort(), return_exceptions=True)
        state = await bench.ended(run)
    assert state.anomalies == 0
    assert not state.open_incidents
    assert len(bench.effects) <= 1
    if isinstance(outcome, AnswerRefused):
        assert bench.effects == []
        assert state.phase == "aborted"


@pytest.mark.parametrize("turn", range(8))
async def test_a_grant_against_its_revocation_never_lets_a_later_call_through(bench: Bench, turn: int) -> None:
    async with bench.driving():
        run = await bench.start("twice")
        incident = await only(bench, run)
        params = {"for": "run", "pattern": "data/*"}
        given = await bench.decisions.answer(incident.opened.incident_id, "grant", params, by=ME)
        assert isinstance(given, AnswerAccepted)
        for _ in range(turn):
            await asyncio.sleep(0)
        await bench.decisions.revoke(given.answer.params["grant_id"], by=ME)
        state = await bench.until(run, lambda s: s.terminal or bool(s.open_incidents))
    workspace = await bench.journal.read(ev.WORKSPACE_RUN_ID)
    revoked = next(e for e in workspace if isinstance(e, ev.GrantRevoked))
    started = [e for e in await bench.journal.read(run) if isinstance(e, ev.StepStarted) and e.kind == "tool"]
    used = [e for e in await bench.journal.read(run) if isinstance(e, ev.GrantUsed)]
    assert len(started) <= len(used)
    # What began after the revocation was looked up before it was written.
    assert sum(e.ts > revoked.ts for e in started) <= 1
    assert state.anomalies == 0


async def test_invoking_an_agent_is_asked_about_where_the_configuration_says_so(bench: Bench) -> None:
    rules = policy(bench, ask=["lead agent.invoke:asker"], deny=["agent.invoke:nobody"])
    async with bench.driving(permissions=rules):
        run = await bench.start("team")
        incident = await only(bench, run)
        assert incident.opened.action == {"agent": "lead", "invokes": "asker", "permission": "agent.invoke:asker"}
        assert offered(incident) == ["grant", "deny", "skip", "abort"]
        await bench.answer(incident, "deny", message="ask nobody")
        state = await bench.ended(run)
        assert (state.phase, state.output) == ("degraded", "team done")
        told = next(n for n in state.nodes.values() if n.name == "delegate_to_asker")
        assert "ask nobody" in told.error or "ask nobody" in told.output
        second = await bench.start("team")
        await bench.answer(await only(bench, second), "grant", **{"for": "always"})
        await bench.answer(
            await anext_question(bench, second),
            "input",
            value="yes",
        )
        await bench.ended(second)
        third = await bench.start("team")
        question = await anext_question(bench, third)
        assert question.opened.question
        await bench.decisions.abort(third, by=ME)
        await bench.ended(third)
    (grant,) = await bench.journal.grants()
    assert (grant.subject, grant.verb, grant.pattern) == ("lead", "agent.invoke", "asker")


async def anext_question(bench: Bench, run: str) -> InboxRow:
    await bench.until(run, lambda s: any(found.opened.question for found in s.open_incidents))
    return next(found for found in await bench.journal.incidents(run) if found.opened.question)


async def test_a_handover_is_an_invocation_too(bench: Bench) -> None:
    rules = policy(bench, deny=["first agent.invoke:noter"])
    async with bench.driving(permissions=rules):
        state = await bench.ended(await bench.start("handoff"))
    assert state.phase == "failed"
    assert "'first' may not invoke 'noter'" in state.error
    assert bench.effects == []


async def test_an_incident_whose_sibling_ended_the_branch_closes_itself_with_the_reason(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("stage")
        waiting = {found.opened.lineage[1]: found for found in await bench.incidents(run, 2)}
        given = await bench.decisions.answer(
            waiting["saver"].opened.incident_id, "abort", {"value": "not needed"}, reach="agent", by=ME
        )
        assert isinstance(given, AnswerAccepted)
        assert given.answer.reason == "not needed"
        state = await bench.ended(run)
        late = await bench.decisions.answer(waiting["asker"].opened.incident_id, "input", {"value": "x"}, by=ME)
    closed = state.incidents[waiting["asker"].opened.incident_id]
    assert (closed.state, closed.answer) == ("closed", None)
    assert "withdrawn" in closed.closed
    assert isinstance(late, AnswerRefused)
    assert "withdrawn" in late.detail
    assert state.anomalies == 0


# -- hooks -----------------------------------------------------------------------------------------------------------


async def test_what_a_hook_made_of_the_arguments_is_what_is_asked_about_in_every_life(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("hooked")
        incident = await only(bench, run)
        assert incident.opened.action["permission"] == f"fs.write:{bench.root}/moved.md"
    async with bench.driving():
        await bench.answer(incident, "grant")
        state = await bench.ended(run)
    assert bench.effects == ["save moved.md"]
    assert Counter(found.opened.fault.rule_id for found in state.incidents.values()) == {"permission-needed": 1}


async def test_a_permission_is_granted_once_with_other_arguments_and_what_is_denied_stays_denied(bench: Bench) -> None:
    async with bench.driving(permissions=policy(bench, deny=["fs.write:./etc/**"])):
        run = await bench.start("savers")
        first, second, third = sorted(await bench.incidents(run, 3), key=lambda each: each.opened.node_id)
        assert offered(first) == ["grant", "deny", "edit", "result", "skip", "abort"]
        await bench.answer(first, "edit", arguments={"path": "elsewhere/a", "text": "y"})
        await bench.answer(second, "edit", arguments={"path": "etc/passwd", "text": "y"})
        await bench.answer(third, "deny")
        state = await bench.ended(run)
    assert bench.effects == ["save a"]
    made, refused = (state.nodes[each.opened.node_id] for each in (first, second))
    assert made.result["content"].startswith("saved 1 characters")
    assert "Denied by the configuration" in refused.result["error"]
