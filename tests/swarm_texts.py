"""Files that tests in several places put into a workspace."""

from __future__ import annotations

DOWN = """
from orbiter import Agent
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Fault

script("down", lambda messages, tools: Fault(status=503))
agent = Agent(name="down", model="scripted:down")
"""
"""``down.py:agent``: its model is down."""

BREAKER_CONFIG = """
[errors]
max_attempts = 2
base_retry_delay = 0.01
circuit_breaker_threshold = 2
circuit_breaker_timeout = 3000
[analysis]
model = "off"
"""
"""With it the breaker of that model is open after one run."""
