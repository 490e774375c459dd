"""Seed 003's helper classes for code of one's own: retry, breaker, fallback, and asking the user.

A run needs none of them: the runtime retries, breaks, falls back and asks by itself, durably. They are for a function
that calls something outside, and behave, log and speak as the seed's page has it.
"""

from __future__ import annotations

from orbiter.compat.circuit_breaker import CircuitBreaker
from orbiter.compat.fallback_handler import FallbackHandler
from orbiter.compat.retry_handler import RetryHandler
from orbiter.compat.user_recovery import Topology, UserRecoveryHandler

__all__ = ["CircuitBreaker", "FallbackHandler", "RetryHandler", "Topology", "UserRecoveryHandler"]
