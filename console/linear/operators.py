"""Operators of the linear mode: the person at the terminal, or a rule in their place.

An operator is asked about one incident at a time. It may be interrupted: another operator may answer first.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import select
import termios
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, Protocol

from console.linear.entries import GoBack, InvalidEntry
from console.linear.prompts import params_asked, read_params
from console.output import mask_value, print_note, print_prompt, prompt_answered
from orbiter.text_input import UnreadableText, decode
from runtime.judgement.recovery.option_table import consequence_text, effect_of
from runtime.judgement.recovery.options import confirmation_of
from runtime.judgement.reports import incident_report
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.events import Actor, AnswerProposed, IncidentOpened, Option
from screens.render.formatting import pluralize
from screens.render.sanitize import sanitize_line
from screens.shell import external_editor, streams
from screens.shell.armed_keys import ArmedKeys

_ABOUT_CHARS = 160

REMIND_S = 0.5
"""How long lines must have paused before a question that they pushed up is said again."""


@dataclass(frozen=True, slots=True)
class OperatorAnswer:
    """An answer of an operator, not sent yet."""

    option: str
    params: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


ADOPT: Final = "="
"""Does as an agent proposes."""


def proposal_text(proposal: AnswerProposed) -> str:
    """What an agent proposes, why, and with which values."""
    who, reason = sanitize_line(proposal.by.name, limit=60) or "an agent", sanitize_line(proposal.reason)
    lines = [f"{who} proposes {sanitize_line(proposal.option, limit=40)}: {reason}"]
    shown = mask_value(proposal.params)
    lines += [
        f"  {sanitize_line(f'{name} = {json.dumps(value, ensure_ascii=False)}')}" for name, value in shown.items()
    ]
    return "\n".join(lines)


def _proposal_of(state: DurableRun, opened: IncidentOpened) -> AnswerProposed | None:
    incident = state.incidents.get(opened.incident_id)
    return incident.proposal if incident is not None else None


def _adopted_reason(proposal: AnswerProposed) -> str:
    return f"as {proposal.by.name} proposed: {proposal.reason}"


class Operator(Protocol):
    """A person or a rule that decides. `by` is how the journal names it."""

    @property
    def by(self) -> Actor: ...

    async def decide(self, state: DurableRun, opened: IncidentOpened) -> OperatorAnswer | None:
        """The answer, or None: the incident stays open, and is not waited for here any longer."""
        ...

    async def confirm(self, lines: Sequence[str]) -> bool:
        """Whether a grant that lasts is to be given, now that `lines` say what it would have matched."""
        ...

    def remind(self) -> None:
        """Lines went by while a question stood there."""
        ...

    def answer_refused(self, opened: IncidentOpened, given: OperatorAnswer, why: str) -> None:
        """The answer that was decided last cannot be taken as it was said; it is asked for again."""
        ...


def has_person() -> bool:
    """Whether a person can be asked: a terminal to read from and one to ask on."""
    return streams.stdin().isatty() and streams.stderr().isatty()


class PersonAtTerminal:
    """Asks on stderr, reads from stdin. Lines typed before a question are thrown away, and said to be. Is what
    `console.linear.entries.AskLine` asks by, too.
    """

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        """`clock` says how long a question has stood before a line came."""
        self._clock = clock
        self._refused: tuple[str, str | None, str] | None = None
        """Incident, option and reason of an answer that was refused: its question is put again."""
        self.editor = external_editor.editor_command()
        self._reading = threading.Lock()
        self.by = Actor(name=getpass.getuser(), channel="cli")
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._shown_question = ""
        self._reminder: asyncio.TimerHandle | None = None
        # A daemon: reading from a terminal cannot be called off, and must not keep the process alive.
        threading.Thread(target=self._read, name="terminal", daemon=True).start()

    def _read(self) -> None:
        # Past stdin's buffer: its lock, held by a thread that waits, is in the way of the interpreter's end.
        typed = b""
        while True:
            select.select([streams.stdin().fileno()], [], [])
            with self._reading:  # an editor has the terminal: what was typed there was not meant for us
                if not select.select([streams.stdin().fileno()], [], [], 0)[0]:
                    continue
                piece = os.read(streams.stdin().fileno(), 4096)
            if not piece:
                break
            *lines, typed = (typed + piece).split(b"\n")
            for line in lines:
                self._take(line)
        self._put(None)

    def _take(self, line: bytes) -> None:
        try:
            self._put(decode(line, "what was typed").strip())
        except UnreadableText as exc:
            print_note(f"{exc}; type it again")

    def _put(self, line: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: no question waits any more
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)

    async def decide(self, state: DurableRun, opened: IncidentOpened) -> OperatorAnswer | None:
        """Ask until there is an answer; None at the end of input."""
        numbers = {str(number): option for number, option in enumerate(opened.options, 1)}
        names = {option.id: option for option in opened.options}
        # What it is about stands in the question itself: its report may be a screen further up, below another's.
        about = sanitize_line(opened.what, limit=_ABOUT_CHARS)
        words = ", ".join(f"{number} {option.id}" for number, option in numbers.items())
        while True:
            proposal = _proposal_of(state, opened)
            if proposal is not None:
                print_note(proposal_text(proposal), framed=True)
            adopts = f", {ADOPT} as proposed" if proposal is not None else ""
            question = f"{opened.incident_id}: {about} [{words}{adopts}, ? the whole report, q to leave it]:"
            refused, self._refused = self._refused, None
            if refused is None or refused[0] != opened.incident_id:
                refused = (opened.incident_id, await self._ask(question), "")
            _, line, why = refused
            if line is None or line == "q":
                return None
            if line == "?":
                print_note(incident_report.build_report(state, opened).text(), framed=True)
                continue
            if line == ADOPT:
                latest = _proposal_of(state, opened)
                if latest is None:
                    print_note("no agent proposes an answer to it")
                elif latest == proposal and await self._adopts(opened, latest, names):
                    return OperatorAnswer(latest.option, latest.params, _adopted_reason(latest))
                continue
            option = numbers.get(line) or names.get(line)
            if option is None:
                print_note(f"must be one of: {', '.join(names)}")
                continue
            try:
                params = await read_params(opened, option, self, why)
            except GoBack:
                print_note(f"nothing is decided: {opened.incident_id} still waits")
                continue
            # A question that was answered has said what it does; a key alone is confirmed.
            if params_asked(option.id) or await self._confirms(opened, option):
                return OperatorAnswer(option.id, params)
            print_note(f"nothing is decided: {opened.incident_id} still waits")

    async def _adopts(self, opened: IncidentOpened, proposal: AnswerProposed, names: Mapping[str, Option]) -> bool:
        """Whether to do as an agent proposes; asked where it has values, or ends, repeats or permits something."""
        option = names.get(proposal.option)
        if option is None:
            return False
        if effect_of(option.id) == "grant":
            print_note(f"a person says how long a grant lasts: type {option.id}")
            return False
        return await self._confirms(opened, option, has_values=bool(proposal.params))

    async def _confirms(self, opened: IncidentOpened, option: Option, *, has_values: bool = False) -> bool:
        """Whether an option is meant; asked of what an operator confirms, and of what has values of another."""
        case = confirmation_of(opened, option.id)
        if case is None and not has_values:
            return True
        what = f"{consequence_text(option.id, case, 'orbiter-console rewind')} " if case is not None else ""
        return await self._ask(f"{option.label}: {what}Type yes to do it (anything else: not):") == "yes"

    def answer_refused(self, opened: IncidentOpened, given: OperatorAnswer, why: str) -> None:
        if given.params:
            self._refused = (opened.incident_id, given.option, why)
        else:
            print_note(why)

    async def confirm(self, lines: Sequence[str]) -> bool:
        for line in lines:
            print_note(line)
        return await self._ask("type yes to grant it (anything else: not):") == "yes"

    def remind(self) -> None:
        """Say the question that stands again, once the lines that pushed it up have paused."""
        if self._shown_question and streams.stdout().isatty():
            if self._reminder is not None:
                self._reminder.cancel()
            self._reminder = self._loop.call_later(REMIND_S, self._again)

    def _again(self) -> None:
        if self._shown_question:
            print_prompt(self._shown_question)

    async def edit(self, text: str, suffix: str) -> str:
        """What the editor makes of a text. Nothing else is done meanwhile here: no line is written into its screen.

        Raises:
            InvalidEntry: it failed.
        """
        before = termios.tcgetattr(streams.stdin().fileno())
        try:
            with self._reading:
                return external_editor.edit_text(self.editor, text, suffix)
        except external_editor.EditorFailed as exc:
            raise InvalidEntry(str(exc)) from exc
        finally:
            termios.tcsetattr(streams.stdin().fileno(), termios.TCSADRAIN, before)

    async def __call__(self, question: str, *, secret: bool = False) -> str | None:
        return await self._ask(question, secret=secret)

    async def _ask(self, question: str, *, secret: bool = False) -> str | None:
        self._forget_typed()
        print_prompt(question)
        self._shown_question = question
        try:
            with _hidden_input() if secret else nullcontext():
                return await self._answer(question)
        finally:
            self._shown_question = ""

    async def _answer(self, question: str) -> str | None:
        keys = ArmedKeys(clock=self._clock)
        keys.ask(question)
        keys.content_painted(question)
        while True:
            line = await self._lines.get()
            if line is None:
                self._lines.put_nowait(None)  # the end of input stays the end
                return None
            prompt_answered()
            if keys.accept():
                return line
            print_note(f"ignored {pluralize(keys.ignored, 'line')} that came before the question could be read")
            print_prompt(question)

    def _forget_typed(self) -> None:
        if streams.stdin().isatty():
            termios.tcflush(streams.stdin().fileno(), termios.TCIFLUSH)
        ended = False
        while not self._lines.empty():
            ended = self._lines.get_nowait() is None or ended
        if ended:
            self._lines.put_nowait(None)


@contextmanager
def _hidden_input() -> Iterator[None]:
    """What is typed meanwhile is not shown."""
    terminal = streams.stdin().fileno()
    before = termios.tcgetattr(terminal)
    quiet = [*before]
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        streams.stderr().write("\n")  # the line break that was typed is not shown either
        streams.stderr().flush()
