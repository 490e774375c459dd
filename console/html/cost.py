"""What a run cost: calls, tokens and money, by agent and model."""

from __future__ import annotations

from dataclasses import dataclass

from console.html.markup import Html, element, join, text
from runtime.record.state.durable_run import DurableRun
from screens.render.formatting import format_cost


@dataclass(slots=True)
class _Spent:
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


def cost_table(state: DurableRun) -> Html:
    """A row for each agent and model, the dearest first, and the whole run's. What has no known price is not free."""
    spent: dict[tuple[str, str], _Spent] = {}
    for node in state.nodes.values():
        if node.kind != "llm" or not node.attempts:
            continue
        model = node.effective.get("model") or node.requested.get("model") or node.name
        row = spent.setdefault((node.agent, str(model)), _Spent())
        row.calls += 1
        row.input_tokens += node.input_tokens
        row.output_tokens += node.output_tokens
        if node.cost_usd is not None:
            row.cost_usd = (row.cost_usd or 0.0) + node.cost_usd
    if not spent:
        return element("p", "No model was called.", class_="fact")
    dearest = sorted(spent.items(), key=lambda item: (-(item[1].cost_usd or 0.0), -item[1].input_tokens))
    rows = [_row(agent, model, row) for (agent, model), row in dearest]
    total = _Spent(state.llm_calls, state.input_tokens, state.output_tokens, state.cost_usd)
    names = ("agent", "model", "calls", "tokens in", "tokens out", "cost")
    head = element("thead", element("tr", *(element("th", name) for name in names)))
    table = element("table", head, element("tbody", *rows), element("tfoot", _row("the run", "", total)))
    note = f"Calls of unknown price, which are not in the sum: {state.unpriced_calls}." if state.unpriced_calls else ""
    return join((element("div", table, class_="wide"), *((element("p", note, class_="fact"),) if note else ())))


def _row(agent: str, model: str, spent: _Spent) -> Html:
    numbers = (f"{spent.calls:,}", f"{spent.input_tokens:,}", f"{spent.output_tokens:,}", _money(spent.cost_usd))
    cells = [element("td", text(agent, 80)), element("td", text(model, 120))]
    return element("tr", *cells, *(element("td", number, class_="number") for number in numbers))


def _money(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:.4f}" if 0 < usd < 1 else format_cost(usd)
