"""What steps may do without being asked about, what is asked about, and what they may not do at all. Pure.

Configured as lists of ``verb:pattern`` under ``allow``, ``ask`` and ``deny``, each with an agent's name and a space
before it where it is for that agent alone::

    [permissions]
    default = "ask"
    allow = ["fs.read:./**", "researcher net:*.example.com:443"]
    deny = ["fs.write:/etc/**", "shell"]

The strictest that fits counts: deny before ask before allow. A grant answers an `ask`, never a `deny`. Invoking an
agent (``agent.invoke:NAME``) is allowed where nothing is said of it; everything else that a tool names is by default
asked about, and denied where nobody can be asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from runtime.judgement.permissions import Need, PermissionSyntaxError, canonical_pattern, matches

Verdict = Literal["allow", "ask", "deny"]
_STRICTEST: tuple[Verdict, ...] = ("deny", "ask", "allow")
INVOKE = "agent.invoke"
"""The verb of invoking another agent; its object is that agent's name."""


@dataclass(slots=True, frozen=True)
class PermissionRule:
    """One line of the configuration. `pattern` None: the verb with whatever object."""

    verdict: Verdict
    verb: str
    pattern: str | None = None
    subject: str = "*"

    def fits(self, need: Need, agent: str) -> bool:
        if self.verb != need.verb or self.subject not in ("*", agent):
            return False
        return self.pattern is None or matches(self.pattern, need.object) or self._any_port(need)

    def _any_port(self, need: Need) -> bool:
        """What is asked about or denied for a host without a port is so for all its ports; an `allow` is not wider
        than its words.
        """
        if self.verdict == "allow" or self.pattern is None or self.verb.partition(".")[0] != "net":
            return False
        return matches(self.pattern, re.sub(r":[^:\]]*$", "", need.object))


@dataclass(slots=True, frozen=True)
class PermissionPolicy:
    """The rules, and what holds where none fits."""

    rules: tuple[PermissionRule, ...] = ()
    default: Verdict = "ask"

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any], *, root: str) -> Self:
        """The policy in the words of the configuration. Relative paths are of `root`, the workspace.

        Raises:
            ValueError: a key is not known, or a line is no rule; the text names it.
        """
        unknown = sorted(set(value) - {"default", *_STRICTEST})
        if unknown:
            raise ValueError(f"permissions has no {unknown[0]!r}: it takes default, allow, ask, deny")
        default = value.get("default", "ask")
        if default not in get_args(Verdict):
            raise ValueError(f"permissions.default is {default!r}: give allow, ask or deny")
        rules: list[PermissionRule] = []
        for verdict in _STRICTEST:
            lines = value.get(verdict, ())
            if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
                raise ValueError(f'permissions.{verdict} is a list of texts, such as ["fs.read:./**"]')
            rules.extend(_rule(verdict, line, root) for line in lines)
        return cls(tuple(rules), default)

    def verdict(self, need: Need, agent: str, *, attended: bool = True) -> Verdict:
        """What holds for `agent` and this need. `attended` False: nobody can be asked, so what would be is denied."""
        fitting = {rule.verdict for rule in self.rules if rule.fits(need, agent)}
        usual: Verdict = "allow" if need.verb == INVOKE else self.default
        found = next((each for each in _STRICTEST if each in fitting), usual)
        return "deny" if found == "ask" and not attended else found


_LINE = re.compile(r"(?:(?P<subject>[^:]*\S)\s+)?(?P<verb>[a-z][a-z0-9_.-]*)(?::(?P<pattern>.*))?")


def _rule(verdict: Verdict, line: str, root: str) -> PermissionRule:
    read = _LINE.fullmatch(line.strip())
    if read is None:
        raise ValueError(
            f"permissions.{verdict}: {line!r} is no rule: write 'verb', 'verb:pattern' or 'AGENT verb:pattern'"
        )
    verb, pattern = read["verb"], read["pattern"]
    try:
        found = canonical_pattern(verb, pattern, root=root) if pattern is not None else None
    except PermissionSyntaxError as exc:
        raise ValueError(f"permissions.{verdict}: {line!r}: {exc}") from exc
    return PermissionRule(verdict, verb, found, read["subject"] or "*")
