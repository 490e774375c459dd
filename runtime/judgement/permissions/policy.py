"""The permission policy: what is allowed, asked about, or denied by rules. Pure.

Configured as lists of ``verb:pattern`` under ``allow``, ``ask`` and ``deny``, each with an agent's name and a space
before it where it is for that agent alone::

    [permissions]
    default = "ask"
    allow = ["fs.read:./**", "researcher net:*.example.com:443"]
    deny = ["fs.write:/etc/**", "shell"]

The strictest that fits counts: deny before ask before allow. An ``allow`` fits what its words cover and no more; a
``deny`` and an ``ask`` of a command fit wherever a shell would run it. Where a pattern says which commands may run, a
text is asked about if it cannot be told what it runs. A grant answers an `ask`, never a `deny`. Invoking an agent
(``agent.invoke:NAME``) is allowed where nothing is said of it; everything else that a tool names is by default asked
about, and denied where no operator can be asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from runtime.judgement.permissions.canonical import PermissionSyntaxError, canonical_pattern
from runtime.judgement.permissions.command_matching import MatchResult
from runtime.judgement.permissions.patterns import (
    BUILTIN_KINDS,
    STANDARD_VERBS,
    Kind,
    Verbs,
)
from runtime.judgement.permissions.permission import (
    VERB,
    Need,
    denial_matches,
    grant_matches,
)
from runtime.judgement.permissions.shell_commands import MatchBudget

PermissionVerdict = Literal["allow", "ask", "deny"]
_VERDICTS_STRICTEST_FIRST: tuple[PermissionVerdict, ...] = ("deny", "ask", "allow")
INVOKE_VERB = "agent.invoke"
"""The verb of invoking another agent; its object is that agent's name."""


@dataclass(slots=True, frozen=True)
class PermissionRule:
    """One line of the configuration. `pattern` None: the verb with whatever object."""

    verdict: PermissionVerdict
    verb: str
    pattern: str | None = None
    subject: str = "*"

    def match(self, need: Need, agent: str, verbs: Verbs, work: MatchBudget) -> MatchResult:
        """Whether the rule is about what `agent` needs; ``unclear`` where only running it would tell."""
        if self.verb != need.verb or self.subject not in ("*", agent):
            return "no"
        if self.pattern is None:
            return "yes"
        kind = verbs.kind(need.verb)
        if self.verdict != "allow":
            answer = denial_matches(self.pattern, need.object, kind, work)
            return "yes" if answer == "no" and self._any_port(need, kind) else answer
        if grant_matches(self.pattern, need.object, kind, work):
            return "yes"
        return "unclear" if kind is Kind.COMMAND and work.script(need.object).unclear else "no"

    def _any_port(self, need: Need, kind: Kind) -> bool:
        """What is asked about or denied for a host without a port is so for all its ports; an `allow` is not wider
        than its words.
        """
        if self.pattern is None or kind is not Kind.URL:
            return False
        return grant_matches(self.pattern, re.sub(r":[^:\]]*$", "", need.object), kind)


@dataclass(slots=True, frozen=True)
class PermissionPolicy:
    """The rules, and what holds where none fits."""

    rules: tuple[PermissionRule, ...] = ()
    default: PermissionVerdict = "ask"
    verbs: Verbs = STANDARD_VERBS
    """The class of each verb's objects."""

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any], *, root: str) -> Self:
        """The policy in the words of the configuration. Relative paths are of `root`, the workspace.

        Raises:
            ValueError: a key is not known, or a line is not a rule; the text names it.
        """
        unknown = sorted(set(value) - {"default", "verbs", *_VERDICTS_STRICTEST_FIRST})
        if unknown:
            raise ValueError(f"permissions has no {unknown[0]!r}: it takes default, allow, ask, deny, verbs")
        verbs = _parse_verbs(value.get("verbs", {}))
        default = value.get("default", "ask")
        if default not in get_args(PermissionVerdict):
            raise ValueError(f"permissions.default is {default!r}: give allow, ask or deny")
        rules: list[PermissionRule] = []
        for verdict in _VERDICTS_STRICTEST_FIRST:
            lines = value.get(verdict, ())
            if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
                raise ValueError(f'permissions.{verdict} is a list of texts, such as ["fs.read:./**"]')
            rules.extend(_parse_rule(verdict, line, root, verbs) for line in lines)
        return cls(tuple(rules), default, verbs)

    def verdict(
        self, need: Need, agent: str, *, attended: bool = True, work: MatchBudget | None = None
    ) -> PermissionVerdict:
        """What holds for `agent` and this need. `attended` False: no person can be asked, so what would be is denied.
        `work`: what the whole question may take, of which this need is a part.
        """
        work = work or MatchBudget()
        answers = {(rule.verdict, rule.match(need, agent, self.verbs, work)) for rule in self.rules}
        usual: PermissionVerdict = "allow" if need.verb == INVOKE_VERB else self.default
        found = next((each for each in _VERDICTS_STRICTEST_FIRST if (each, "yes") in answers), None)
        # Which command it is cannot be told: where a rule depends on that, it is asked about.
        unclear = any(
            (each, "unclear") in answers for each in (_VERDICTS_STRICTEST_FIRST if found is None else ("deny", "ask"))
        )
        found = found or usual
        if unclear and found == "allow":
            found = "ask"
        return "deny" if found == "ask" and not attended else found


_RULE_LINE = re.compile(r"(?:(?P<subject>[^:]*\S)\s+)?(?P<verb>[a-z][a-z0-9_.-]*)(?::(?P<pattern>.*))?")


def _parse_verbs(value: Any) -> Verbs:
    if not isinstance(value, Mapping):
        raise ValueError(  # noqa: TRY004 - a mistake in a file, as the others
            'permissions.verbs is a table of verbs and classes, such as deploy = "name"'
        )
    classes = ", ".join(Kind)
    for verb, kind in value.items():
        if not VERB.fullmatch(str(verb)):
            raise ValueError(f"permissions.verbs: {verb!r} is not a verb: write it in lower case, such as deploy")
        if verb in BUILTIN_KINDS or verb.partition(".")[0] in BUILTIN_KINDS:
            raise ValueError(f"permissions.verbs: the class of {verb!r} is fixed: it is {STANDARD_VERBS.kind(verb)}")
        if kind not in tuple(Kind):
            raise ValueError(f"permissions.verbs.{verb} is {kind!r}: give one of {classes}")
    return Verbs(tuple((str(verb), Kind(kind)) for verb, kind in value.items()))


def _parse_rule(verdict: PermissionVerdict, line: str, root: str, verbs: Verbs) -> PermissionRule:
    read = _RULE_LINE.fullmatch(line.strip())
    if read is None:
        raise ValueError(
            f"permissions.{verdict}: {line!r} is not a rule: must be 'verb', 'verb:pattern' or 'AGENT verb:pattern'"
        )
    verb, pattern = read["verb"], read["pattern"]
    try:
        found = canonical_pattern(verb, pattern, root=root, verbs=verbs) if pattern is not None else None
    except PermissionSyntaxError as exc:
        raise ValueError(f"permissions.{verdict}: {line!r}: {exc}") from exc
    return PermissionRule(verdict, verb, found, read["subject"] or "*")
