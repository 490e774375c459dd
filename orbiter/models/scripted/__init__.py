"""`scripted:`, a model whose replies are written in a file or in code: for tests, demos and drills.

Imports `orbiter`, `orbiter._internal`, `orbiter.models`, `orbiter.parsing` and `yaml`.
"""

from __future__ import annotations

from orbiter.models.scripted.provider import Call, Fault, Reply, Script, ScriptedProvider, Turn, script

__all__ = ["Call", "Fault", "Reply", "Script", "ScriptedProvider", "Turn", "script"]
