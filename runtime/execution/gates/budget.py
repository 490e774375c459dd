"""The budget gate: budgets in force, of the run and of every swarm in it. All amounts are folds of events.

A hit budget is a question: the step waits, and `extend` lets the run go on. Where it is answered with `abort`, or
no operator can be asked, the run ends in seed 004's state.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from orbiter.steps import Step
from orbiter.types import NO_USAGE, Usage
from runtime.execution.gates.blocked import Blocked
from runtime.execution.run_session import RunSession
from runtime.judgement.recovery.budget import (
    COUNT_LIMITS,
    Budget,
    BudgetUsage,
    EndState,
    blocking_limit,
    check_limits,
    checked_limits,
    end_state,
    limit_fault,
)
from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.reports.prices import PriceTable
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.fault_taxonomy import Limit


class ScopedBudget(NamedTuple):
    """A budget and where it holds: a swarm's node, or the empty path for the whole run."""

    scope: str
    name: str
    budget: Budget


def check_budget(
    session: RunSession, parent_id: str, step: Step[Any, Any], model: str, *, begun: bool
) -> Blocked | None:
    """What keeps a step from beginning; without waiting for anything, so that nothing can begin meanwhile. Says once
    when a share of a limit is used that warns.

    Args:
        session: The run's session.
        parent_id: The node under which the step stands.
        step: The step.
        model: The model that will be asked; empty for other steps.
        begun: Whether an attempt of it has begun: it is counted already, and another attempt is not a new step.
    """
    if step.kind == "value" or not _is_limited(session):
        return None
    for scoped in _budgets_in_force(session, parent_id):
        if not scoped.budget.limited:
            continue
        spent = usage_in_scope(session.state, scoped.scope, session.clock())
        _warn_near_limit(session, scoped, spent)
        _warn_unknown_price(session, scoped, model)
        found = blocking_limit(scoped.budget, spent, step.kind)
        if found is None or (found.limit in COUNT_LIMITS and begun):
            continue
        about = {
            "limit": found.name,
            "scope": scoped.scope,
            "of": scoped.name or "the run",
            "used": round(found.used, 6),
            "allowed": found.allowed,
            "ends": end_state(found.limit, _outer_failure_policy(session.state, step)),
        }
        unpriced = spent.unpriced_calls if found.limit is Limit.COST else 0
        return Blocked(limit_fault(found, unpriced), action={"budget": about})
    return None


def _outer_failure_policy(state: DurableRun, step: Step[Any, Any]) -> Literal["fail", "degrade", "continue"]:
    """The failure policy that says how a run ends whose steps are used up: the outermost swarm's, else the agent's."""
    roots = [state.nodes[root] for root in state.roots if root in state.nodes]
    word = next((str(root.info["failure"]) for root in roots if root.info.get("failure")), "")
    word = word or (step.traits.failure if step.kind == "llm" else "")
    return "degrade" if word in ("degrade", "continue") else "fail"


def ending_at_budget(opened: ev.IncidentOpened) -> EndState | None:
    """How a run ends that is aborted at this incident, where it is a budget's; None where it is another's."""
    about = opened.action.get("budget")
    ends = about.get("ends") if isinstance(about, dict) else None
    return ends if ends in ("failed", "degraded", "interrupted") else None


def end_run_by_budget(
    session: RunSession, ends: EndState, opened: ev.IncidentOpened, answer: ev.IncidentAnswered
) -> ev.RunFinished:
    """The end of a run whose budget is used up, with what it has so far: the last answer that an agent gave."""
    agents = [node for node in session.state.nodes.values() if node.kind == "agent" and node.output]
    said = next((node.output for node in reversed(agents)), "")
    return ev.RunFinished(state=ends, output=said, error=opened.fault.user_message, by=answer.by)


def _is_limited(session: RunSession) -> bool:
    """Whether any limit may hold in the run. Asked several times for every step."""
    state = session.state
    return session.config.budget.limited or bool(state.options.get("budget")) or "budget" in state.declared


def _budgets_in_force(session: RunSession, parent_id: str) -> Iterator[ScopedBudget]:
    state = session.state
    yield ScopedBudget("", "", extended_budget(state, "", run_budget(state, session.config.budget)))
    for node in state.lineage(parent_id):
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
        ValueError: it is not a table of limits, naming the first that is wrong.
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
        if answer is None or effect_of(answer.option) != "extend":
            continue
        if not isinstance(about, dict) or about.get("scope") != scope:
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


def wall_time_left(session: RunSession, parent_id: str) -> float | None:
    """The seconds until the first limit of time is reached that holds for a step; None where none does."""
    if not _is_limited(session):
        return None
    state, now = session.state, session.clock()
    limits = [(each.scope, each.budget.max_wall_time_s) for each in _budgets_in_force(session, parent_id)]
    left = [allowed - usage_in_scope(state, scope, now).wall_time_s for scope, allowed in limits if allowed is not None]
    return max(0.0, min(left)) if left else None


def is_out_of_time(session: RunSession, node: Node) -> bool:
    """Whether a node has a limit of time of its own, and has reached it."""
    if not node.info.get("budget"):
        return False
    allowed = extended_budget(session.state, node.id, Budget.model_validate(node.info["budget"])).max_wall_time_s
    return allowed is not None and usage_in_scope(session.state, node.id, session.clock()).wall_time_s >= allowed


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
        unpriced_calls=sum(node.cost_usd is None and node.output_tokens > 0 for node in models),
        tokens=sum(node.input_tokens + node.output_tokens for node in begun),
        wall_time_s=active - state.nodes[scope].active_at_open,
    )


def _of_kind(nodes: list[Node], kind: str) -> list[Node]:
    return [node for node in nodes if node.kind == kind]


def _warn_near_limit(session: RunSession, scoped: ScopedBudget, spent: BudgetUsage) -> None:
    """A warning for each limit that is nearly used up, once for each size of the limit."""
    for found in check_limits(scoped.budget, spent):
        if found.level == "warning":
            share = f"{scoped.budget.warn_at:.0%} of {found.allowed:g} is used"
            _warn_once(session, scoped, f"budget {found.name}: {share}")


def _warn_unknown_price(session: RunSession, scoped: ScopedBudget, model: str) -> None:
    """A warning where costs are limited and the model about to be asked has no known price: once for each model."""
    if not model or scoped.budget.max_total_cost_usd is None:
        return
    if session.config.prices.cost(model, NO_USAGE, session.clock()) is None:
        unknown = f"the price of {model} is unknown, so its calls do not count"
        _warn_once(session, scoped, f'budget max_total_cost_usd: {unknown}. Set it under [prices."{model}"]')


def _warn_once(session: RunSession, scoped: ScopedBudget, text: str) -> None:
    root = session.state.nodes.get(scoped.scope or next(iter(session.state.roots), ""))
    if root is not None and text not in root.warnings:
        session.record_soon(ev.Warned(node_id=root.id, parent_id=root.parent_id, text=text))


def usage_fields(prices: PriceTable, model: str, usage: Usage | None, at: datetime) -> dict[str, Any]:
    """The fields of a step's end that say what a model's answer used, and what it cost in US dollars; `unpriced`: that
    is unknown, because the model has no known price. Empty for a step that uses nothing. No count is below 0: it would
    give back what others used of a budget.
    """
    if usage is None:
        return {}
    if negative := {name: 0 for name, count in usage.__dict__.items() if count < 0}:
        usage = usage.model_copy(update=negative)
    cost = prices.cost(model, usage, at) if model else None
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": cost,
        "unpriced": bool(model) and cost is None,
    }


async def release_other_waits(session: RunSession, answer: ev.IncidentAnswered) -> None:
    """A budget was extended: what else waits for it in this run goes on too."""
    about = session.state.incidents[answer.incident_id].opened.action.get("budget")
    if not isinstance(about, dict):
        return
    for incident in session.state.open_incidents:
        other = incident.opened
        same = other.action.get("budget")
        if isinstance(same, dict) and (same["scope"], same["limit"]) == (about["scope"], about["limit"]):
            await session.journal.answer(
                ev.IncidentAnswered.of(
                    other,
                    session.state.id,
                    "extend",
                    params={"amount": 0},
                    reason=f"{about['limit']} was extended at another step",
                    by=ev.Actor(name=answer.by.name, channel="rule"),
                )
            )
