"""The engine of the framework: `loop` runs one agent, `groups` runs several, `call_runner` is the door to both. What
groups and swarms declare is in `agent_group`, `nested` and `declarations`, which import nothing of the engine.

Outside `orbiter` only `runtime` imports modules of it: `user_code` and `worker_threads`. Modules that the seeds
document keep their place here: `call_runner`, `state`, `message_builder`, `output_parser`, `graph`, `agent_group`,
`nested`.

Imports `orbiter`, `orbiter._internal.declarations`, `orbiter._internal.errors.chain`, `orbiter._internal.loop`,
`orbiter._internal.values.field_check`, `orbiter._internal.values.frozen`, `orbiter.parsing`, `pydantic` and
`pydantic_core`.
"""
