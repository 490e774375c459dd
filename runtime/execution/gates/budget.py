"""The budget gate: budgets in force, of the run and of every swarm in it. All amounts are folds of events.

A hit budget is a question: the step waits, and `extend` lets the run go on. Where it is answered with `abort`, or
nobody can be asked, the run ends in seed 004's state.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from orbiter.types import Usage
from runtime.execution.failures.incident_drafts import draft_incident
from runtime.execution.incidents import IncidentDraft
from runtime.execution.run_session import RunSession
from runtime.execution.step_context import StepContext
from runtime.judgement.recovery.budget import (
    Budget,
    BudgetUsage,
    EndState,
    LimitFinding,
    blocking_limit,
    check_limits,
    checked_limits,
    end_state,
    limit_fault,
)
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.fault_taxonomy import Limit

_COUNT_LIMITS = frozenset({Limit.STEPS, Limit.TOOL_CALLS, Limit.LLM_CALLS})


class ScopedBudget(NamedTuple):
    """A budget and where it holds: a swarm's node, or the empty path for the whole run."""

    scope: str
    name: str
    budget: Budget


async def check_budget(c: StepContext, changes: dict[str, Any]) -> IncidentDraft | None:
    """The gate: None where nothing is used up. Says once when a share of a limit is used that warns."""
    return exhausted_budget(c, changes) if c.step.kind != "value" else None


def exhausted_budget(c: StepContext, changes: dict[str, Any]) -> IncidentDraft | None:
    """What keeps the step from beginning; without waiting for anything, so that nothing can begin meanwhile."""
    if c.step.kind == "value":
        return None
    for scoped in _budgets_in_force(c):
        if not scoped.budget.limited:
            continue
        spent = usage_in_scope(c.session.state, scoped.scope, c.session.clock())
        _warn_near_limit(c.session, scoped, spent)
        found = blocking_limit(scoped.budget, spent, c.step.kind)
        if found is None or (found.limit in _COUNT_LIMITS and c.node is not None and c.node.attempts):
            continue  # what has begun is counted already: another attempt of it is no new step
        return _budget_incident(c, changes, scoped, found)
    return None


def _budget_incident(
    c: StepContext, changes: dict[str, Any], scoped: ScopedBudget, found: LimitFinding
) -> IncidentDraft:
    made = draft_incident(c, limit_fault(found), None, changes)
    action = made.action if made.action is not None else {}
    action["budget"] = {
        "limit": found.name,
        "scope": scoped.scope,
        "of": scoped.name or "the run",
        "used": round(found.used, 6),
        "allowed": found.allowed,
        "ends": end_state(found.limit, _outer_failure_policy(c)),
    }
    return made


def _outer_failure_policy(c: StepContext) -> Literal["fail", "degrade", "continue"]:
    """The failure policy that says how a run ends whose steps are used up: the outermost swarm's, else the agent's."""
    roots = [c.session.state.nodes[root] for root in c.session.state.roots if root in c.session.state.nodes]
    word = next((str(root.info["failure"]) for root in roots if root.info.get("failure")), "")
    word = word or (c.step.traits.failure if c.step.kind == "llm" else "")
    return "degrade" if word in ("degrade", "continue") else "fail"


def ending_at_budget(opened: ev.IncidentOpened) -> EndState | None:
    """How a run ends that is aborted at this incident, where it is a budget's; None where it is another's."""
    about = opened.action.get("budget")
    ends = about.get("ends") if isinstance(about, dict) else None
    return ends if ends in ("failed", "degraded", "interrupted") else None


def end_run_by_budget(
    life: RunSession, ends: EndState, opened: ev.IncidentOpened, answer: ev.IncidentAnswered
) -> ev.RunFinished:
    """The end of a run whose budget is used up, with what it has so far: the last answer that an agent gave."""
    agents = [node for node in life.state.nodes.values() if node.kind == "agent" and node.output]
    said = next((node.output for node in reversed(agents)), "")
    return ev.RunFinished(state=ends, output=said, error=opened.fault.user_message, by=answer.by)


def _budgets_in_force(c: StepContext) -> Iterator[ScopedBudget]:
    state = c.session.state
    yield ScopedBudget("", "", extended_budget(state, "", run_budget(state, c.session.config.budget)))
    for node in state.lineage(c.parent_id):
        if node.info.get("budget"):
            yield ScopedBudget(
                node.id, node.name, extended_budget(state, node.id, Budget.model_validate(node.info["budget"]))
            )


def run_budget(state: DurableRun, configured: Budget) -> Budget:
    """What holds for the whole run: what is configured, with what the run was started with over it."""
    given = state.options.get("budget")
    if not isinstance(given, dict):
        return configured
    return Budget.model_validate({**configured.model_dump(), **given})


def parse_run_budget(given: Any) -> dict[str, Any]:
    """A run's own limits, as its options keep them.

    Raises:
        ValueError: it is no table of limits, naming the first that is wrong.
    """
    if not isinstance(given, dict):
        raise ValueError(  # noqa: TRY004 - what was asked for is wrong, not the program
            f"a budget is a table of limits, such as max_steps, not {given!r}"
        )
    return checked_limits(given).model_dump(exclude_unset=True)


def extended_budget(state: DurableRun, scope: str, budget: Budget) -> Budget:
    """The budget with what operators extended it by."""
    for incident in state.incidents.values():
        answer, about = incident.answer, incident.opened.action.get("budget")
        if answer is None or answer.option != "extend" or not isinstance(about, dict) or about.get("scope") != scope:
            continue
        limit = incident.opened.fault.limit
        allowed = budget.limit_value(limit) if limit is not None else None
        if limit is None or allowed is None:
            continue
        amount = answer.params.get("amount")
        # Without an amount: as much again as there was, or as was used.
        amount = float(amount) if amount is not None else max(allowed, float(about.get("used", 0))) or 1.0
        if amount > 0:
            budget = budget.extended(limit, amount)
    return budget


def usage_in_scope(state: DurableRun, scope: str, now: datetime) -> BudgetUsage:
    """What the run, or a swarm in it, has used up by now."""
    active = state.active_seconds(now)
    if not scope:
        return BudgetUsage(
            steps=state.llm_calls + state.tool_calls,
            tool_calls=state.tool_calls,
            llm_calls=state.llm_calls,
            cost_usd=state.cost_usd or 0.0,
            unpriced_calls=state.unpriced_calls,
            tokens=state.input_tokens + state.output_tokens,
            wall_time_s=active,
        )
    begun = [node for _, node in state.walk(scope) if node.is_step and node.attempts]
    tools, models = _of_kind(begun, "tool"), _of_kind(begun, "llm")
    return BudgetUsage(
        steps=len(tools) + len(models),
        tool_calls=len(tools),
        llm_calls=len(models),
        cost_usd=sum(node.cost_usd or 0.0 for node in begun),
        tokens=sum(node.input_tokens + node.output_tokens for node in begun),
        wall_time_s=active - state.nodes[scope].active_at_open,
    )


def _of_kind(nodes: list[Node], kind: str) -> list[Node]:
    return [node for node in nodes if node.kind == kind]


def _warn_near_limit(life: RunSession, scoped: ScopedBudget, spent: BudgetUsage) -> None:
    """A warning for each limit that is nearly used up, once for each size of the limit."""
    for found in check_limits(scoped.budget, spent):
        root = life.state.nodes.get(scoped.scope or next(iter(life.state.roots), ""))
        if root is None or found.level != "warning":
            continue
        text = f"budget {found.name}: {scoped.budget.warn_at:.0%} of {found.allowed:g} is used"
        if text not in root.warnings:
            life.record_soon(ev.Warned(node_id=root.id, parent_id=root.parent_id, text=text))


def cost_of_usage(c: StepContext, changes: dict[str, Any], usage: Usage | None) -> tuple[float | None, bool]:
    """What an answer cost in US dollars, and whether that is unknown because nobody knows the model's price."""
    if c.step.kind != "llm" or usage is None:
        return None, False
    cost = c.session.config.prices.cost(c.model_name(changes), usage)
    return cost, cost is None


async def release_other_waits(c: StepContext, answer: ev.IncidentAnswered) -> None:
    """A budget was extended: what else waits for it in this run goes on too."""
    about = c.session.state.incidents[answer.incident_id].opened.action.get("budget")
    if not isinstance(about, dict):
        return
    for incident in c.session.state.open_incidents:
        other = incident.opened
        same = other.action.get("budget")
        if isinstance(same, dict) and (same["scope"], same["limit"]) == (about["scope"], about["limit"]):
            await c.session.journal.answer(
                ev.IncidentAnswered(
                    run_id=c.session.state.id,
                    node_id=other.node_id,
                    parent_id=other.parent_id,
                    incident_id=other.incident_id,
                    revision=other.revision,
                    option="extend",
                    params={"amount": 0},
                    reason=f"{about['limit']} was extended at another step",
                    by=ev.Actor(name=answer.by.name, channel="rule"),
                )
            )
