"""Two consoles and an agent at one question: what is proposed stands in both, one answer counts, and all are told."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from textual.pilot import Pilot

from runtime.judgement.reports.audit import audit_entries
from runtime.link.client.client import CommandRefused, LinkClient
from runtime.link.transports.transport import UnixTransport
from runtime.link.wire.protocol import AgentCaller
from runtime.operations.requests.answers import AnswerIncident, ProposeAnswer, ProposedAnswer, TakenAnswer
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config
from screens.pages.run import RunScreen
from screens.shell.context import ConsoleContext
from tests.console.program import Program
from tests.patience import PATIENCE_S
from tests.runtime.link.linked import linked
from tests.screens.lonely import Lonely, text_of
from tests.screens.waiting import until

ASKER = '''
from orbiter import Agent, tool
from orbiter.ask import ask_operator
from orbiter.models.scripted.provider import Call, Reply, script

@tool(idempotent=True)
async def ask(question: str) -> str:
    """Ask the operator."""
    return f"they say {await ask_operator(question)}"

script("asker", [Reply(calls=[Call("ask", {"question": "go on?"})]), "heard: ${result}"])
asker = Agent(name="asker", model="scripted:asker", tools=[ask])
'''
CLAUDE = AgentCaller("Claude Code", in_run=False)


class Asked(NamedTuple):
    """A run that waits for the answer to a question."""

    run: str
    incident: str

    def proposal(self, value: str) -> ProposeAnswer:
        return ProposeAnswer(
            incident_id=self.incident, option="input", params={"value": value}, reason=f"{value} is in the plan"
        )

    def answer(self, option: str, **params: str) -> AnswerIncident:
        return AnswerIncident(incident_id=self.incident, option=option, params=params)


async def asked_by(link: LinkClient) -> Asked:
    """Start a run, and wait for its question."""
    run = str((await link.command("start", ref="asker.py:asker", input="go"))["id"])
    await link.wait_until(lambda: any(each.run_id == run for each in link.incidents.values()))
    return Asked(run, next(key for key, each in link.incidents.items() if each.run_id == run))


async def until_offered(pilot: Pilot[None], screen: RunScreen, words: str) -> None:
    await until(pilot, lambda: words in text_of(pilot) and screen.prompt.armed)


async def until_answered(pilot: Pilot[None], link: LinkClient, run: str) -> None:
    await until(pilot, lambda: (state := link.run(run)) is not None and not state.open_incidents)


async def confirmed(pilot: Pilot[None], screen: RunScreen) -> None:
    """Confirm what was chosen. What an agent proposes meanwhile makes the prompt arm again, so a key may not count."""
    async with asyncio.timeout(PATIENCE_S):
        while screen.prompt.mode == "confirm":
            await pilot.press("y")


async def recorded(root: Path, run: str) -> list[ev.JournalEvent]:
    async with await open_journal(root / ".orbiter") as journal:
        return list(await journal.read(run))


def answers(events: list[ev.JournalEvent]) -> list[ev.IncidentAnswered]:
    return [each for each in events if isinstance(each, ev.IncidentAnswered)]


async def test_what_an_agent_proposes_stands_in_both_prompts_and_one_answer_counts(tmp_path: Path) -> None:
    (tmp_path / "asker.py").write_text(ASKER)
    async with AsyncExitStack() as stack:
        runtime = stack.enter_context(EmbeddedRuntime(tmp_path / ".orbiter", build_execution_config(tmp_path, {})))
        agent = await stack.enter_async_context(linked(runtime.transport(), CLAUDE))
        starter = await stack.enter_async_context(linked(runtime.transport()))
        asked = await asked_by(starter)
        await agent.ask(asked.proposal("no"))

        async def console() -> tuple[Pilot[None], RunScreen, LinkClient]:
            link = LinkClient(runtime.transport())
            stack.push_async_callback(link.close)
            screen = RunScreen(ConsoleContext(link, arm_after=0.0), asked.run)
            pilot = await stack.enter_async_context(Lonely(screen, begin=link.start).run_test(size=(120, 40)))
            return pilot, screen, link

        consoles = [await console(), await console()]
        await agent.ask(asked.proposal("yes"))
        for pilot, screen, _ in consoles:
            await until_offered(pilot, screen, "proposes input: yes is in the plan")
        (adopting, first, _), (declining, second, _) = consoles
        await adopting.press("equals_sign")
        await until(adopting, lambda: first.prompt.mode == "confirm")
        await declining.press("a")
        await until(declining, lambda: second.prompt.mode == "confirm")
        late = agent.ask(asked.proposal("late"))
        both = (confirmed(pilot, screen) for pilot, screen, _ in consoles)
        told = await asyncio.gather(late, *both, return_exceptions=True)
        assert all(isinstance(each, ProposedAnswer | CommandRefused | None) for each in told), told
        for pilot, _, link in consoles:
            await until_answered(pilot, link, asked.run)
    events = await recorded(tmp_path, asked.run)
    (taken,) = answers(events)
    assert taken.option in ("input", "abort")
    proposed = [each for each in audit_entries(events) if each.what == "proposed"]
    assert [each.reason for each in proposed][:2] == ["no is in the plan", "yes is in the plan"]
    assert {each.person.partition(" (")[0] for each in proposed} == {"Claude Code"}
    (decided,) = [each for each in audit_entries(events) if each.what == "answered"]
    assert "Claude" not in decided.person
    if taken.option == "input":
        assert taken.params == {"value": "yes"}
        assert decided.reason.endswith("proposed: yes is in the plan")
        assert decided.reason.startswith("as Claude Code (")


async def test_of_two_answers_and_a_proposal_at_once_one_answer_counts_and_the_others_are_told(tmp_path: Path) -> None:
    (tmp_path / "asker.py").write_text(ASKER)
    with EmbeddedRuntime(tmp_path / ".orbiter", build_execution_config(tmp_path, {})) as runtime:
        async with (
            linked(runtime.transport()) as one,
            linked(runtime.transport()) as other,
            linked(runtime.transport(), CLAUDE) as agent,
        ):
            for turn in range(6):
                asked = await asked_by(one)
                await agent.ask(asked.proposal("yes"))
                said = [
                    one.ask(asked.answer("input", value="yes")),
                    other.ask(asked.answer("skip")),
                    agent.ask(asked.proposal("late")),
                ]
                order = said[turn % 3 :] + said[: turn % 3]
                results = await asyncio.gather(*order, return_exceptions=True)
                (taken,) = [each for each in results if isinstance(each, TakenAnswer)]
                late = [each for each in results if isinstance(each, ProposedAnswer)]
                refused = [str(each) for each in results if isinstance(each, CommandRefused)]
                assert len(late) + len(refused) == 2, results
                assert late or any("is answered: " in each for each in refused), "the agent was not told"
                assert sum(f"was first and answered '{taken.option}'" in each for each in refused) >= 1, refused
                events = await recorded(tmp_path, asked.run)
                (answered,) = answers(events)
                assert answered.option == taken.option
                places = [at for at, each in enumerate(events) if isinstance(each, ev.AnswerProposed)]
                assert len(places) == 1 + len(late)
                assert max(places) < events.index(answered), "proposed after the answer"


async def test_a_runtime_that_is_killed_between_an_adoption_and_its_record_hears_it_once(tmp_path: Path) -> None:
    (tmp_path / "asker.py").write_text(ASKER)
    program, transport = Program(tmp_path), UnixTransport(tmp_path / ".orbiter")
    async with AsyncExitStack() as stack:
        process = stack.enter_context(program.start("serve", "--foreground"))
        assert await asyncio.to_thread(lambda: any("driving the runs" in line for line in process.stderr))
        console = await stack.enter_async_context(linked(transport))
        asked = await asked_by(console)
        async with linked(UnixTransport(tmp_path / ".orbiter"), CLAUDE) as agent:
            await agent.ask(asked.proposal("yes"))
        process.send_signal(signal.SIGSTOP)
        adopting = asyncio.create_task(console.ask(asked.answer("input", value="yes")))
        await asyncio.sleep(0)  # it is on its way
        process.kill()
        await console.wait_until(lambda: console.status.phase == "lost")
        assert answers(await recorded(tmp_path, asked.run)) == []
        with program.serving():
            console.connection.reconnect_now()
            assert (await adopting).option == "input"
            await asyncio.to_thread(program.until_over)
    events = await recorded(tmp_path, asked.run)
    assert [each.params for each in answers(events)] == [{"value": "yes"}]
    assert len([each for each in events if isinstance(each, ev.AnswerProposed)]) == 1
