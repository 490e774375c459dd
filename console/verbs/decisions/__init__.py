"""Verbs on incidents, grants and breakers.

Imports `runtime.operations.requests`, `console`, `console.linear`, `console.verbs`, `console.verbs.runs`,
`orbiter.parsing`, `runtime.config`, `runtime.daemon`, `runtime.execution.gates`, `runtime.judgement.*`,
`runtime.link.client`, `runtime.operations`, `runtime.record`, `runtime.record.state`, `screens.render`,
`screens.shell`, `click` and `msgspec`.
"""
