"""What an operator may do, and how far an answer reaches: words that every floor uses, known without pydantic."""

from __future__ import annotations

from typing import Literal

Role = Literal["operator", "viewer"]
"""What a console may do; it comes from the socket that it dialled. A viewer only looks."""
Reach = Literal["attempt", "agent", "run"]
"""How far an answer goes: this attempt, all further steps of the agent, all further steps of the run."""
