"""Orbiter: agents, tools, swarms, and how they are run."""

from __future__ import annotations

from orbiter.agent import Agent
from orbiter.runner import run
from orbiter.swarm import ParallelGroup, SerialGroup, Swarm, SwarmNode
from orbiter.tool import FunctionTool, Tool, tool

__all__ = ["Agent", "FunctionTool", "ParallelGroup", "SerialGroup", "Swarm", "SwarmNode", "Tool", "run", "tool"]
