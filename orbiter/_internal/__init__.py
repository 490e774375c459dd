"""The engine of the framework.

Outside `orbiter` only `runtime` imports modules of it: `user_code` and `worker_threads`. Modules that the seeds
document keep their place here: `call_runner`, `state`, `message_builder`, `output_parser`, `graph`, `agent_group`,
`nested`.

Imports `orbiter`, `orbiter._internal.groups`, `orbiter._internal.loop` and `pydantic`.
"""
