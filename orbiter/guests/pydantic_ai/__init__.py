"""Agents of pydantic-ai: its public surface for durable engines, mapped to our steps.

`capability` is what pydantic-ai calls, `backend` turns each of its operations into a step, `model_request` and
`tool_call` say how such a step is recorded, `life` counts places, and `messages` translates conversations.

Imports `orbiter`, `orbiter.guests`, `orbiter._internal.concurrency`, `orbiter._internal.keywords`,
`orbiter._internal.loop.value_step`, `pydantic`, `pydantic_ai` and `pydantic_core`.
"""
