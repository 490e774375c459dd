"""The examples of guests: run by the command line, failed, repaired, and gone on with."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.console.example import Example


@dataclass(frozen=True, kw_only=True)
class Payment:
    """A payment that is approved with changed arguments, and fails while the file `service` is there."""

    ref: str
    text: str
    service: str
    tool: str
    shown: str
    wanted: dict[str, object]
    changed: dict[str, object]
    said: str
    file: str
    paid: str


REFUND = Payment(
    ref="refunds.py:support", text="Order 7 arrived broken", service="payment-service-is-down",
    tool="refund", shown="refund", wanted={"number": 7, "amount": 40.0}, changed={"number": 7, "amount": 35.5},
    said="The refund is on its way.", file="refunds.txt", paid="order 7: 35.50\n",
)  # fmt: skip
TAXI = Payment(
    ref="expenses.py:clerk", text="Pay my taxi", service="bank-is-down",
    tool="pay", shown="approve pay", wanted={"what": "taxi", "amount": 30}, changed={"what": "taxi", "amount": 25},
    said="The taxi is paid.", file="payments.txt", paid="taxi: 25.00\n",
)  # fmt: skip


@pytest.mark.parametrize(
    "payment",
    [REFUND, replace(REFUND, ref="support_desk.py:desk"), TAXI],
    ids=["pydantic-ai", "openai-agents", "langchain"],
)
def test_it_is_approved_with_a_change_fails_and_is_made_once_after_the_repair(tmp_path: Path, payment: Payment) -> None:
    example = Example(tmp_path, f"guests/{payment.ref.partition(':')[0]}")
    run = ("run", payment.ref, payment.text)
    outage = tmp_path / payment.service
    outage.touch()
    (asked,) = example.waits(*run)
    assert asked["action"] == {
        "tool": payment.shown, "arguments": payment.wanted, "permission": f"approval.{payment.tool}",
    }  # fmt: skip
    example.say("answer", asked["id"], "edit", "--arguments", json.dumps(payment.changed))
    (failed,) = example.waits(*run, "--resume")
    assert failed["action"] == {"tool": payment.tool, "arguments": payment.changed}
    outage.unlink()
    example.say("answer", failed["id"], "retry")
    assert example.end_of(run)["output"] == payment.said
    assert (tmp_path / payment.file).read_text() == payment.paid


def test_questions_of_a_graph_are_answered_on_the_command_line_each_by_itself(tmp_path: Path) -> None:
    example, month = Example(tmp_path, "guests/expenses.py"), ("run", "expenses.py:month", "November")
    asked = {each["question"].partition("?")[0].rpartition(" ")[2]: each["id"] for each in example.waits(*month)}
    example.say("answer", asked["power"], "input", "--value", "71.5")
    example.say("answer", asked["rent"], "input", "--value", "900")
    paid = ["900.00 were paid for rent", "71.50 were paid for power"]
    assert json.loads(example.end_of(month)["output"]) == {"month": "November", "paid": paid}
    assert sorted((tmp_path / "payments.txt").read_text().splitlines()) == ["power: 71.50", "rent: 900.00"]
