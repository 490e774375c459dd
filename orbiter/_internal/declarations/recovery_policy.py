"""What a swarm's author declares for failures: planner, router, fallbacks and budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orbiter._internal.arguments import MAPPING, check_argument
from orbiter._internal.declarations.budget_limits import checked_budget
from orbiter.errors import ConfigurationError, SwarmError
from orbiter.parsing.near_names import did_you_mean
from orbiter.policy import fallback_chain


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """See `of`. `models` maps a model string to those that stand in for it, `agents` an agent's name to agents."""

    planner: str = ""
    router: str = ""
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    agents: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    budget: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        members: Collection[str],
        *,
        planner: str | None = None,
        router: str | None = None,
        fallbacks: Mapping[str, Any] | None = None,
        budget: Mapping[str, float] | None = None,
    ) -> RecoveryPolicy:
        """What was declared, checked against the swarm's members.

        Raises:
            SwarmError: A planner, a router or an agent with fallbacks is not a member.
            ConfigurationError: A chain is not valid, or a budget is unknown or has a value that it cannot have.
        """
        for role, name in (("planner", planner), ("router", router)):
            if name is not None and name not in members:
                raise _unknown_member_error(role, name, members)
        check_argument("Swarm", "fallbacks", fallbacks or {}, MAPPING, example="{'writer': [deputy]}", error=SwarmError)
        check_argument("Swarm", "budget", budget or {}, MAPPING, example="{'max_steps': 20}", error=SwarmError)
        models: dict[str, tuple[str, ...]] = {}
        agents: dict[str, tuple[Any, ...]] = {}
        for primary, chain in (fallbacks or {}).items():
            if ":" in primary:
                models[primary] = fallback_chain(chain, primary)
            elif primary in members:
                agents[primary] = _agents(primary, chain)
            else:
                raise _unknown_member_error("fallbacks", primary, members)
        return cls(planner or "", router or "", models, agents, checked_budget(budget or {}))

    def info(self, mode: str, first: str) -> dict[str, Any]:
        """What a runtime must know, as JSON. Without a word of the author a team's lead, or a handoff swarm's first
        agent, plans and routes.
        """
        usual = first if mode in ("team", "handoff") else ""
        found = {"planner": self.planner or usual, "router": self.router or usual}
        if self.models:
            found["fallbacks"] = {primary: list(chain) for primary, chain in self.models.items()}  # type: ignore[assignment]
        if self.budget:
            found["budget"] = dict(self.budget)  # type: ignore[assignment]
        return {name: value for name, value in found.items() if value}


def _agents(primary: str, chain: Any) -> tuple[Any, ...]:
    found = tuple(chain) if isinstance(chain, Sequence) and not isinstance(chain, str) else (chain,)
    names = [getattr(each, "name", None) for each in found]
    for each, name in zip(found, names, strict=True):
        if not isinstance(name, str) or isinstance(each, str):
            raise ConfigurationError(
                f"An agent that stands in for '{primary}' must be an agent, got {each!r}",
                hint="Give agents for an agent's name, and model strings for a model string",
                config_field="fallbacks",
            )
        if name == primary or names.count(name) > 1:
            raise ConfigurationError(
                f"'{name}' cannot stand in for '{primary}': each agent of a chain needs a name of its own",
                config_field="fallbacks",
            )
    return found


def _unknown_member_error(role: str, name: str, members: Collection[str]) -> SwarmError:
    hint = did_you_mean(name, members, sentence=True)
    return SwarmError(
        f"The swarm's {role} names '{name}', which is not one of its agents",
        suggestion=f"{hint}Its agents are {', '.join(members)}.",
    )
