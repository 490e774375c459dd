"""The engine of the framework: `loop` runs one agent, `groups` runs several, and `call_runner` is the door to both.
The modules beside them are their tools.

`agent_group`, `nested` and `declarations` are the exception: as `orbiter.agent` and `orbiter.swarm` they only declare,
and import nothing of the engine. Modules that the seeds document keep their place here: `call_runner`, `state`,
`message_builder`, `output_parser`, `graph`, `agent_group`, `nested`.

Imports the public modules of `orbiter` and `orbiter.models`. Outside of `orbiter` only `runtime` imports from here, and
only `user_code` and `worker_threads`.
"""
