"""Agents of the OpenAI Agents SDK: clones of them, whose models and tools are our steps.

`agent` is the guest, `clones` makes the agents that are run in place of the user's, `runner` runs them and the agents
that they call, `model` and `model_request` are for model calls, `tool_call` and `handoffs` for tools and handoffs,
`context_changes` for what calls change, `approvals` and `sessions` for what they are named after, `life` counts places,
`messages` translates conversations, and `sdk` holds what is used of the SDK beyond its documented names.

Imports `orbiter`, `orbiter.guests`, `orbiter._internal.concurrency`, `orbiter._internal.keywords`,
`orbiter._internal.output_parser`, `orbiter.parsing`, `pydantic`, `pydantic_core`, `openai` and `agents`.
"""
