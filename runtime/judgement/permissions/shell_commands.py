"""The commands that a shell would run for a text, with those that its commands run. Pure, linear in the text.

Behind a program that runs another one (``sudo``, ``xargs``, ``sh -c``, …) every word counts that may be its command.
What another program runs by means of its own (``make``, ``python -c``, a script file) is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from runtime.judgement.permissions.shell_syntax import parse
from runtime.judgement.permissions.shell_words import Word

_SHELLS: Final = frozenset(
    ("sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "oksh", "yash", "rbash", "posh", "fish", "csh", "tcsh")
)
_RUN_NEXT: Final = (
    *("sudo", "doas", "pkexec", "su", "runuser", "fakeroot"),
    *("env", "xargs", "nohup", "nice", "ionice", "time", "exec", "command", "builtin", "coproc"),
    *("busybox", "toybox", "setsid", "stdbuf", "unbuffer", "strace", "ltrace", "watch", "script", "parallel", "entr"),
    *("unshare", "nsenter", "systemd-run", "start-stop-daemon", "linux32", "linux64", "eatmydata"),
    *("tini", "dumb-init", "xvfb-run", "firejail", "torsocks", "proxychains", "proxychains4", "numactl", "choom"),
    *("caffeinate", "dbus-run-session", "ssh-agent", "chpst", "valgrind"),
)
_RUN_SECOND: Final = (
    *("timeout", "chroot", "flock", "taskset", "chrt", "ssh", "setarch", "setpriv", "prlimit", "sg", "faketime"),
    *("gosu", "su-exec", "setuidgid", "s6-setuidgid"),
)
_RUNNERS: Final = {**dict.fromkeys(_RUN_NEXT, 0), **dict.fromkeys(_RUN_SECOND, 1)}
"""Programs that run the command in their arguments, with the number of arguments that stand before it."""
_EVALUATORS: Final = frozenset(("eval", "trap", "alias"))
_FIND_ACTIONS: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_SCRIPT_OPTION: Final = re.compile(r"[-+][A-Za-z]*c[A-Za-z]*")
_VALUED_OPTION: Final = re.compile(r"[-+][A-Za-z]*[oO]|--rcfile|--init-file")
_ENV_SPLIT: Final = re.compile(r"(?:-[A-Za-z0]*?S|--split-string=)(.+)", re.DOTALL)
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_STDIN: Final = re.compile(r"-|/dev/(stdin|fd/.*|tty)|/proc/.*")
_MAX_DEPTH: Final = 12
_WORK: Final = 16
"""How often each character of a text is looked at, before the text counts as unclear."""
MAX_WORK: Final = 30_000
"""Units of work of one question: the longest command, each character and each word looked at once, and its patterns."""


@dataclass(slots=True)
class Script:
    """What a text would make a shell run. `commands`: each as its words. `simple`: it is one command and no more.
    `unclear`: why it cannot be told what it runs; empty if it can. `whole`: all of it was read. `at`: where the name of
    its first command begins.
    """

    commands: list[tuple[Word, ...]] = field(default_factory=list)
    simple: bool = True
    unclear: str = ""
    whole: bool = True
    at: int = 0


class ExceededError(Exception):
    """A question took all the work that it may take."""


class MatchBudget:
    """The work that one question may take, over all its texts and patterns: about one unit for each character that is
    looked at. What is left undone is unclear, and asked about.
    """

    def __init__(self, units: int = MAX_WORK) -> None:
        self.left = units
        self._scripts: dict[str, Script] = {}

    def spend(self, units: int) -> None:
        """Count work that is about to be done.

        Raises:
            ExceededError: there is not so much left.
        """
        if units > self.left:
            self.left = 0
            raise ExceededError
        self.left -= units

    def script(self, text: str) -> Script:
        """The commands of a text, with those that its commands run; each text is read once."""
        if text not in self._scripts:
            may_take = min(self.left, _WORK * len(text) + 1000)
            reader = _Commands(may_take)
            reader.script(text, 0)
            reader.bodies()
            self.left -= may_take - max(0, reader.left)
            self._scripts[text] = reader.found
        return self._scripts[text]


@lru_cache(maxsize=64)
def script_of(text: str) -> Script:
    """The commands of a text, as one question about it alone finds them."""
    return MatchBudget().script(text)


class _Commands:
    def __init__(self, work: int) -> None:
        self.found = Script()
        self.left = work
        """Units of work that are left."""
        self._reads_input = False
        self._bodies: list[str] = []

    def _note_unclear(self, why: str) -> None:
        self.found.unclear = self.found.unclear or why

    def _is_exhausted(self, work: int, depth: int) -> bool:
        self.left -= work
        if self.left < 0 or depth > _MAX_DEPTH:
            self._note_unclear("it is too long, or nested too deeply")
            self.found.whole = False
            return True
        return False

    def script(self, text: str, depth: int) -> None:
        """Add the commands of a text."""
        if self._is_exhausted(len(text), depth):
            return
        syntax = parse(text)
        self.found.simple = self.found.simple and syntax.simple
        if syntax.unclear:
            self._note_unclear(syntax.unclear)
        if not depth and syntax.commands:
            self.found.at = syntax.commands[0][0].at
        self._bodies += syntax.bodies
        for words in syntax.commands:
            if self.left < 0:
                break
            self._command(words, depth)

    def bodies(self) -> None:
        """Add the commands of here-documents, where a shell may read them."""
        while self._reads_input and self._bodies:
            self.script(self._bodies.pop(), 1)

    def _command(self, words: Sequence[Word], depth: int) -> None:
        """Add a command and those that it runs."""
        if self.left < 0 or self._is_exhausted(4 + 2 * len(words) + sum(len(word.text) for word in words) // 32, depth):
            return
        self.found.commands.append(tuple(words))
        name = words[0]
        if name.expands or name.globs or name.text == "{}":
            self._note_unclear("which command it runs is known only when it is expanded")
        base = base_name(name.text)
        if base in _SHELLS:
            self._shell(words, depth)
        elif base in _EVALUATORS:
            self._evaluates(base, words[1:], depth)
        elif base in (".", "source"):
            self._sourced(words[1:])
        elif base == "find":
            self._find_exec(words, depth)
        elif base in _RUNNERS:
            self._run_by(base, words, depth)

    def _evaluated(self, word: Word, depth: int) -> None:
        """A word that a shell reads as a script."""
        if word.expands:
            self._note_unclear("it evaluates what is known only when it is expanded")
        self.script(word.text, depth + 1)

    def _evaluates(self, base: str, words: Sequence[Word], depth: int) -> None:
        if base == "alias":
            self._note_unclear("it defines an alias, which changes what follows")
        if base == "eval":
            expands = any(word.expands for word in words)
            self._evaluated(Word(" ".join(word.text for word in words), expands=expands), depth)
        for word in words if base != "eval" else ():
            self._evaluated(word if base == "trap" else replace(word, text=word.text.partition("=")[2]), depth)

    def _sourced(self, words: Sequence[Word]) -> None:
        if not words or words[0].expands or _STDIN.fullmatch(words[0].text):
            self._note_unclear("it reads commands from somewhere else")
            self._reads_input = True

    def _shell(self, words: Sequence[Word], depth: int) -> None:
        """``sh -c SCRIPT``, or ``sh FILE``; a shell without either reads commands from its input."""
        options, plain, script, valued = 0, 0, False, False
        for word in words[1:]:
            if word.text[:1] in ("-", "+") and len(word.text) > 1:
                options += script
                if not script and _SCRIPT_OPTION.fullmatch(word.text):
                    script, plain = True, 0
                valued = _VALUED_OPTION.fullmatch(word.text) is not None
            elif script:
                if plain <= options:
                    self._evaluated(word, depth)
                plain += 1
            elif word.expands or _STDIN.fullmatch(word.text):
                break
            else:
                plain += not valued
                valued = False
        if not script and (not plain or any(word.text == "-s" for word in words)):
            self._note_unclear("it is a shell that reads commands from its input")
            self._reads_input = True

    def _find_exec(self, words: Sequence[Word], depth: int) -> None:
        """The commands of ``find -exec COMMAND ;``."""
        start: int | None = None
        for at, word in enumerate((*words, Word(";"))):
            if start is not None and word.text in (";", "+"):
                if at > start:
                    self._command(words[start:at], depth + 1)
                start = None
            elif start is None and word.text in _FIND_ACTIONS:
                start = at + 1

    def _run_by(self, base: str, words: Sequence[Word], depth: int) -> None:
        """The command in the arguments of another. What follows an option may be its value, or the command."""
        before, after_option = _RUNNERS[base], False
        for at, word in enumerate(words[1:], 1):
            if self.left < 0:
                break
            inner = _ENV_SPLIT.fullmatch(word.text) if base == "env" else None
            if inner is not None:
                self.script(inner[1], depth + 1)
            if word.text.startswith("-"):
                self._quoted_script(word.text.partition("=")[2], depth)
                after_option = True
            elif after_option or not _ASSIGNED.match(word.text):
                self._quoted_script(word.text, depth)
                self._command(words[at:], depth + 1)
                before -= not after_option
                if before < 0:
                    break
                after_option = False

    def _quoted_script(self, text: str, depth: int) -> None:
        """An argument that is not a plain word, as in ``su -c 'rm x'``, is a script."""
        if re.search(r"[\s'\"\\$`;&|<>()]", text):
            self.script(text, depth + 1)


def base_name(name: str) -> str:
    """The name of a program without its path."""
    return name.rpartition("/")[2]
